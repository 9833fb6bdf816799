// The one place that talks to the server. What it refuses comes back as an error with the server's own sentence.
import { effect, signal } from "@preact/signals";
import { desk } from "./route";

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

export async function get<T>(view: string, asked: Record<string, string> = {}): Promise<T> {
  const query = new URLSearchParams({ desk: desk.value, ...asked });
  return answer<T>(await fetch(`/api/${view}?${query}`, { credentials: "same-origin" }));
}

export async function post<T>(view: string, asked: Record<string, unknown> = {}): Promise<T> {
  return answer<T>(
    await fetch(`/api/${view}`, {
      method: "POST",
      credentials: "same-origin",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ desk: desk.value, ...asked }),
    }),
  );
}

export interface Loaded<T> {
  value: T | null;
  problem: string | null;
  loading: boolean;
}

// Whatever was saved or poured back makes every view that is open read again.
export const changed = signal(0);

/**
 * Returns a signal with what a view shows, read again when what is asked changes. A screen is made anew for another
 * desk, so what it has loaded asks nothing more of that one; only what `follows` does.
 */
export function load<T>(ask: () => { view: string; asked?: Record<string, string> } | null, follows = false) {
  const state = signal<Loaded<T>>({ value: null, problem: null, loading: true });
  let newest = 0;
  let shown = desk.peek();
  const stop = effect(() => {
    void changed.value;
    if (shown !== desk.value) {
      if (!follows) return;
      // What was read from the other desk says nothing of this one.
      shown = desk.value;
      state.value = { value: null, problem: null, loading: true };
    }
    const asked = ask();
    const mine = ++newest;
    if (asked === null) {
      state.value = { value: null, problem: null, loading: false };
      return;
    }
    get<T>(asked.view, asked.asked).then(
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
