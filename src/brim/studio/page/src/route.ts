// The current screen: the part of the address after #, so that every screen and every selection has a link.
import { computed, signal } from "@preact/signals";

export interface Screen {
  name: string;
  title: string;
  /** What it is for, in one line. */
  about: string;
}

/** The screens of the navigation. A session opens from any of them. */
export const SCREENS: readonly Screen[] = [
  { name: "sessions", title: "Sessions", about: "Sessions from your store, gateways and opened files." },
  { name: "lab", title: "Lab", about: "Change the budget, and see what is kept, what is left out, and at which budget it returns." },
  { name: "settings", title: "Settings", about: "All settings with their origin, for the project, a flow or a step." },
];

const hash = signal(location.hash);
addEventListener("hashchange", () => (hash.value = location.hash));

const parts = computed(() => {
  const [path, query] = hash.value.replace(/^#\/?/, "").split("?");
  return { screen: path || "sessions", params: new URLSearchParams(query ?? "") };
});

export const screen = computed(() => parts.value.screen);
export const params = computed(() => parts.value.params);

type Change = Record<string, string | number | null>;

/** Returns the link to a screen; on the same screen it keeps all parameters. */
export function link(to: string, change: Change = {}): string {
  const query = new URLSearchParams();
  if (to === screen.value) params.value.forEach((value, name) => query.set(name, value));
  for (const [name, value] of Object.entries(change)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, String(value));
  }
  const text = query.toString();
  return `#/${to}${text ? `?${text}` : ""}`;
}

/** Returns the link to a step of a session: the same from every screen. Without a step it is the last one. */
export function stepLink(session: string, step: number | null, change: Change = {}): string {
  return link("session", { session, step, find: null, view: null, part: null, at: null, tab: null, ...change });
}

/** Opens a screen; `quietly` adds no entry to the history of the browser, for sliders and searches. */
export function go(to: string, change: Change = {}, quietly = false): void {
  const next = link(to, change);
  if (quietly) {
    // A screen that the user has just left must not bring them back.
    if (to !== screen.peek() || location.hash !== hash.peek()) return;
    history.replaceState(null, "", next);
    hash.value = location.hash;
  } else location.hash = next;
}
