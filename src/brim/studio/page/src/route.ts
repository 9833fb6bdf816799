// The current screen: the part of the address after #, so that every screen has a link.
import { computed, signal } from "@preact/signals";

export interface Screen {
  name: string;
  title: string;
  /** What it is for, in one line. */
  about: string;
}

export const GROUPS: readonly (readonly [string, readonly Screen[]])[] = [
  [
    "Sessions",
    [
      { name: "home", title: "All sessions", about: "Every session of your store, your gateways and the files you open. Open one to see its prompts." },
      { name: "context", title: "What fills it", about: "What the context of this session holds now, and what makes each part smaller." },
      { name: "timeline", title: "Timeline", about: "How the context grew, step by step. Click a column or an event to read its prompt." },
      { name: "ledger", title: "Left out", about: "What compactions and limits took out of the prompts. Open a text to restore or pin it." },
      { name: "cache", title: "Cache", about: "Where the provider's cache was missed, and what that cost. Open a row to see what changed." },
    ],
  ],
  [
    "Prompts",
    [
      { name: "prompt", title: "Prompt", about: "The exact text that was sent at this step, what was left out of it, and why." },
      { name: "receipts", title: "All prompts", about: "Every prompt of every session, and every step of your flows. Open one, or pick two to compare." },
      { name: "search", title: "Search", about: "Words in anything that was sent or left out, in all sessions." },
    ],
  ],
  [
    "Tune",
    [
      { name: "lab", title: "Budget lab", about: "Move the budget and see what stays, what is left out, and at which budget it returns." },
      { name: "flows", title: "Flows", about: "The budget of each flow and step, what sets it, and what a change would do before you save it." },
    ],
  ],
  [
    "Setup",
    [
      { name: "gateway", title: "Gateway", about: "The requests that went through brim gateway. Open one to see what was cut from it." },
      { name: "models", title: "Models", about: "What brim knows of each model: window, tokenizer, prices, and how well it counts." },
      { name: "doctor", title: "Doctor", about: "What is wrong with your settings and runs, with the command that fixes it." },
    ],
  ],
];
export const SCREENS: readonly Screen[] = GROUPS.flatMap(([, screens]) => screens);
const OLD: Record<string, string> = { sent_prompt: "prompt" };

const hash = signal(location.hash);
addEventListener("hashchange", () => (hash.value = location.hash));

export const first = signal("mine");
const parts = computed(() => {
  const [path, query] = hash.value.replace(/^#\/?/, "").split("?");
  return { screen: OLD[path!] ?? (path || "home"), params: new URLSearchParams(query ?? "") };
});

export const screen = computed(() => parts.value.screen);
export const params = computed(() => parts.value.params);
export const workspace = computed(() => params.value.get("workspace") ?? first.value);

/** Returns the link to a screen; it keeps the workspace and the session, and all parameters on the same screen. */
export function link(to: string, change: Record<string, string | number | null> = {}): string {
  const query = new URLSearchParams();
  for (const name of ["workspace", "session"]) {
    const value = params.value.get(name);
    if (value) query.set(name, value);
  }
  if (to === screen.value) params.value.forEach((value, name) => query.set(name, value));
  for (const [name, value] of Object.entries(change)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, String(value));
  }
  const text = query.toString();
  return `#/${to}${text ? `?${text}` : ""}`;
}

/** Returns the link to a prompt: the same from every screen. */
export function promptLink(session: string, step: number | null, change: Record<string, string | number | null> = {}): string {
  return link("prompt", { session, step, id: null, diff: null, find: null, view: null, part: null, ...change });
}

/** Opens a screen; `quietly` adds no entry to the history of the browser, for sliders and searches. */
export function go(to: string, change: Record<string, string | number | null> = {}, quietly = false): void {
  const next = link(to, change);
  if (quietly) {
    // A screen that the user has just left must not bring them back.
    if (to !== screen.peek() || location.hash !== hash.peek()) return;
    history.replaceState(null, "", next);
    hash.value = location.hash;
  } else location.hash = next;
}
