// The current screen: the part of the address after #, so that every screen has a link.
import { computed, signal } from "@preact/signals";

export const SCREENS = [
  ["context", "Context now"],
  ["sent_prompt", "Sent prompt"],
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

export const first = signal("mine");
const parts = computed(() => {
  const [path, query] = hash.value.replace(/^#\/?/, "").split("?");
  return { screen: path || "context", params: new URLSearchParams(query ?? "") };
});

export const screen = computed(() => parts.value.screen);
export const params = computed(() => parts.value.params);
export const workspace = computed(() => params.value.get("workspace") ?? first.value);

/** Returns the link to a screen; it keeps the workspace and the session, and all parameters on the same screen. */
export function link(to: string, change: Record<string, string | null> = {}): string {
  const query = new URLSearchParams();
  for (const name of ["workspace", "session"]) {
    const value = params.value.get(name);
    if (value) query.set(name, value);
  }
  if (to === screen.value) params.value.forEach((value, name) => query.set(name, value));
  for (const [name, value] of Object.entries(change)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  return `#/${to}${text ? `?${text}` : ""}`;
}

/** Opens a screen; `quietly` adds no entry to the history of the browser, for sliders and searches. */
export function go(to: string, change: Record<string, string | null> = {}, quietly = false): void {
  const next = link(to, change);
  if (quietly) {
    // A screen that the user has just left must not bring them back.
    if (to !== screen.peek() || location.hash !== hash.peek()) return;
    history.replaceState(null, "", next);
    hash.value = location.hash;
  } else location.hash = next;
}
