// Requests to the server. A refused request throws an error with the server's message.
import { effect, signal } from "@preact/signals";
import { workspace } from "./route";

export class Refused extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

async function answer(response: Response): Promise<string> {
  const text = await response.text();
  if (response.ok) return text;
  let problem = `the server answered ${response.status}`;
  try {
    problem = (JSON.parse(text) as { problem?: string }).problem ?? problem;
  } catch {
    // Not JSON: the status is all that is known.
  }
  throw new Refused(problem, response.status);
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
  loading: boolean;
}

// Incremented by every write, so that all open views load again.
export const changed = signal(0);

/**
 * Returns a signal with the values of a view, loaded again when its request changes. A screen is created anew for
 * another workspace, so it does not load from that one, unless it `follows` the workspace.
 */
export function load<T>(request: () => { view: string; fields?: Record<string, string> } | null, follows = false) {
  const state = signal<Loaded<T>>({ value: null, problem: null, loading: true });
  let newest = 0;
  let last = "";
  let shown = workspace.peek();
  const stop = effect(() => {
    void changed.value;
    if (shown !== workspace.value) {
      if (!follows) return;
      shown = workspace.value;
      last = "";
      state.value = { value: null, problem: null, loading: true };
    }
    const wanted = request();
    const mine = ++newest;
    if (wanted === null) {
      state.value = { value: null, problem: null, loading: false };
      return;
    }
    read(wanted.view, wanted.fields).then(
      (text) => {
        // A screen that looks again and finds the same is not drawn again.
        if (mine !== newest || (text === last && state.peek().value !== null)) return;
        last = text;
        state.value = { value: JSON.parse(text) as T, problem: null, loading: false };
      },
      (error: Error) => {
        if (mine === newest) state.value = { value: null, problem: error.message, loading: false };
      },
    );
  });
  return { state, stop };
}
