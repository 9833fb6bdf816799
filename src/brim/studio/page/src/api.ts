// Requests to the server. A refused request throws an error with the server's message.
import { signal, useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
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

const NOTHING = { value: null, problem: null };

// Incremented by every write, so that all open views load again.
export const changed = signal(0);

/**
 * Returns the values of a view, loaded again when the request changes, and after every write. Values of another request
 * are not shown, unless `kept`. A screen is created anew for another workspace.
 */
export function useView<T>(view: string | null, fields: Record<string, string> = {}, kept = false): Loaded<T> {
  const request = `${view} ${JSON.stringify(fields)}`;
  const state = useSignal({ request: "", text: "", ...NOTHING } as Loaded<T> & { request: string; text: string });
  const writes = changed.value;
  useLayoutEffect(() => {
    if (view === null) return;
    let newest = true;
    read(view, fields).then(
      (text) => {
        // A screen that looks again and finds the same is not drawn again.
        if (!newest || (state.peek().request === request && state.peek().text === text)) return;
        state.value = { request, text, value: JSON.parse(text) as T, problem: null };
      },
      (error: Error) => newest && (state.value = { request, text: "", value: null, problem: error.message }),
    );
    return () => void (newest = false);
  }, [request, writes]);
  return kept || state.value.request === request ? state.value : NOTHING;
}
