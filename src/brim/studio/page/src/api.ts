// Requests to the server. A refused request throws an error with the server's message.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

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

type Fields = Record<string, string>;

const address = (view: string, fields: Fields): string => `/api/${view}?${new URLSearchParams(fields)}`;

async function read(view: string, fields: Fields = {}): Promise<string> {
  return answer(await fetch(address(view, fields), { credentials: "same-origin" }));
}

async function write<T>(address: string, kind: string, body: BodyInit): Promise<T> {
  const headers = { "content-type": kind };
  return JSON.parse(await answer(await fetch(address, { method: "POST", credentials: "same-origin", headers, body }))) as T;
}

export async function get<T>(view: string, fields: Fields = {}): Promise<T> {
  return JSON.parse(await read(view, fields)) as T;
}

export function post<T>(view: string, fields: Record<string, unknown> = {}): Promise<T> {
  return write(`/api/${view}`, "application/json", JSON.stringify(fields));
}

export function upload<T>(file: Blob, name: string): Promise<T> {
  return write(address("open_file", { name }), "application/octet-stream", file);
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
 * are not shown, unless `kept`.
 */
export function useView<T>(view: string | null, fields: Fields = {}, kept = false): Loaded<T> {
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

/** Returns a value that changes while someone types or drags, at most once in so many milliseconds. */
export function useSlowed<T>(value: T, pause: number): T {
  const slowed = useSignal(value);
  const last = useRef(0);
  useEffect(() => {
    const timer = setTimeout(() => ((last.current = Date.now()), (slowed.value = value)), Math.max(0, last.current + pause - Date.now()));
    return () => clearTimeout(timer);
  }, [value]);
  return slowed.value;
}
