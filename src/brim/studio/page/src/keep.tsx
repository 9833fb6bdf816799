// Keep next time: the setting that keeps messages with a text whole.
import { useSignal } from "@preact/signals";
import { get } from "./api";
import { Changed, useChange } from "./change";
import { Problem } from "./parts";
import type { Prompt } from "./types";

interface Proposed {
  key: string;
  text: string;
  /** The setting with this text in it, as JSON. */
  value: string;
  would: string;
}

export function Keep({ loaded, at }: { loaded: Prompt; at: number }) {
  const proposed = useSignal<Proposed | null>(null);
  const problem = useSignal<string | null>(null);
  const text = useSignal("");
  const change = useChange();
  const ask = () =>
    get<Proposed>("keep", { session: loaded.session!, step: String(loaded.step), at: String(at) }).then(
      (found) => ((proposed.value = found), (text.value = found.text)),
      (error: Error) => (problem.value = error.message),
    );
  if (problem.value) return <Problem text={problem.value} />;
  if (!proposed.value)
    return (
      <div class="tools">
        <button onClick={() => void ask()}>Keep next time…</button>
      </div>
    );
  const { key, value, would } = proposed.value;
  const edited = () => JSON.stringify([...(JSON.parse(value) as string[]).slice(0, -1), text.value.trim()]);
  return (
    <form class="keep" onSubmit={(event) => (event.preventDefault(), void change.look(key, edited()))}>
      <label>
        <span>Keep every message that contains</span>
        <input type="text" class="grow" value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
      </label>
      <div class="tools">
        <button type="submit" class="main" disabled={!text.value.trim()}>Show the change</button>
        <button type="button" onClick={() => (proposed.value = null)}>Cancel</button>
      </div>
      <p class="soft">{would}</p>
      <Changed change={change} />
    </form>
  );
}
