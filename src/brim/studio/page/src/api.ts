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

async function answer<T>(response: Response): Promise<T> {
  const body = (await response.json().catch(() => ({ problem: `the server answered ${response.status}` }))) as {
    problem?: string;
  };
  if (!response.ok) throw new Refused(body.problem ?? `the server answered ${response.status}`, response.status);
  return body as T;
}

export async function get<T>(view: string, fields: Record<string, string> = {}): Promise<T> {
  const query = new URLSearchParams({ workspace: workspace.value, ...fields });
  return answer<T>(await fetch(`/api/${view}?${query}`, { credentials: "same-origin" }));
}

export async function post<T>(view: string, fields: Record<string, unknown> = {}): Promise<T> {
  return answer<T>(
    await fetch(`/api/${view}`, {
      method: "POST",
      credentials: "same-origin",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ workspace: workspace.value, ...fields }),
    }),
  );
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
  let shown = workspace.peek();
  const stop = effect(() => {
    void changed.value;
    if (shown !== workspace.value) {
      if (!follows) return;
      shown = workspace.value;
      state.value = { value: null, problem: null, loading: true };
    }
    const wanted = request();
    const mine = ++newest;
    if (wanted === null) {
      state.value = { value: null, problem: null, loading: false };
      return;
    }
    get<T>(wanted.view, wanted.fields).then(
      (value) => {
        if (mine === newest) state.value = { value, problem: null, loading: false };
      },
      (error: Error) => {
        if (mine === newest) state.value = { value: null, problem: error.message, loading: false };
      },
    );
  });
  return { state, stop };
}
