// Requests to the server. A refused request throws an error with the server's message.
import { effect, signal } from "@preact/signals";
import { workspace } from "./route";

async function answer(response: Response): Promise<string> {
  const text = await response.text();
  if (response.ok) return text;
  let problem = `the server answered ${response.status}`;
  try {
    problem = (JSON.parse(text) as { problem?: string }).problem ?? problem;
  } catch {
    // Not JSON: the status is all that is known.
  }
  throw new Error(problem);
}

async function read(view: string, fields: Record<string, string> = {}): Promise<string> {
  const query = new URLSearchParams({ workspace: workspace.value, ...fields });
  return answer(await fetch(`/api/${view}?${query}`, { credentials: "same-origin" }));
}

export async function get<T>(view: string, fields: Record<string, string> = {}): Promise<T> {
  return JSON.parse(await read(view, fields)) as T;
}

export async function post<T>(view: string, fields: Record<string, unknown> = {}): Promise<T> {
  const sent = { workspace: workspace.value, ...fields };
  const headers = { "content-type": "application/json" };
  return JSON.parse(await answer(await fetch(`/api/${view}`, { method: "POST", credentials: "same-origin", headers, body: JSON.stringify(sent) }))) as T;
}

export interface Loaded<T> {
  value: T | null;
  problem: string | null;
}

// Incremented by every write, so that all open views load again.
export const changed = signal(0);

/**
 * Returns a signal with the values of a view, loaded again when its request changes. A screen is created anew for
 * another workspace, so it does not load from that one.
 */
export function load<T>(request: () => { view: string; fields?: Record<string, string> } | null) {
  const state = signal<Loaded<T>>({ value: null, problem: null });
  let newest = 0;
  let last = "";
  const shown = workspace.peek();
  const stop = effect(() => {
    void changed.value;
    if (shown !== workspace.value) return;
    const wanted = request();
    const mine = ++newest;
    if (wanted === null) {
      state.value = { value: null, problem: null };
      return;
    }
    read(wanted.view, wanted.fields).then(
      (text) => {
        // A screen that looks again and finds the same is not drawn again.
        if (mine !== newest || (text === last && state.peek().value !== null)) return;
        last = text;
        state.value = { value: JSON.parse(text) as T, problem: null };
      },
      (error: Error) => {
        if (mine === newest) state.value = { value: null, problem: error.message };
      },
    );
  });
  return { state, stop };
}
