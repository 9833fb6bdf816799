// Where the page is: the part of the address after #, so that every place has a link.
import { computed, signal } from "@preact/signals";

export const SCREENS = [
  ["context", "Context now"],
  ["wire", "Wire"],
  ["lab", "Budget lab"],
  ["timeline", "Timeline"],
  ["ledger", "Ledger"],
  ["cache", "Cache doctor"],
  ["receipts", "Receipts"],
  ["flows", "Flows"],
  ["models", "Models"],
  ["gateway", "Gateway"],
  ["doctor", "Doctor"],
] as const;

const hash = signal(location.hash);
addEventListener("hashchange", () => (hash.value = location.hash));

export const begins = signal("mine");
const parts = computed(() => {
  const [path, query] = hash.value.replace(/^#\/?/, "").split("?");
  return { screen: path || "context", asked: new URLSearchParams(query ?? "") };
});

export const screen = computed(() => parts.value.screen);
export const asked = computed(() => parts.value.asked);
export const desk = computed(() => asked.value.get("desk") ?? begins.value);

/** Returns the link to a screen; what is not named stays as it is now, but for what belongs to one screen alone. */
export function link(to: string, change: Record<string, string | null> = {}): string {
  const query = new URLSearchParams();
  for (const name of ["desk", "session"]) {
    const value = asked.value.get(name);
    if (value) query.set(name, value);
  }
  if (to === screen.value) asked.value.forEach((value, name) => query.set(name, value));
  for (const [name, value] of Object.entries(change)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, value);
  }
  const told = query.toString();
  return `#/${to}${told ? `?${told}` : ""}`;
}

/** Goes to a place; `quietly` leaves no step in the history of the browser, for sliders and searches. */
export function go(to: string, change: Record<string, string | null> = {}, quietly = false): void {
  const next = link(to, change);
  if (quietly) {
    // Whoever has just gone elsewhere is not called back by a screen that is about to end.
    if (to !== screen.peek() || location.hash !== hash.peek()) return;
    history.replaceState(null, "", next);
    hash.value = location.hash;
  } else location.hash = next;
}
