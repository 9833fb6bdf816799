// A change of a setting: its diff, saving and undo.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { changed, post } from "./api";
import { Problem, shown } from "./parts";
import type { Plan } from "./types";

/** The layer that a change is written to; the project if all are null. */
export interface Layer {
  profile: string | null;
  flow: string | null;
  step: string | null;
}

export type Change = ReturnType<typeof useChange>;

export function useChange(layer: Layer = { profile: null, flow: null, step: null }) {
  const plan = useSignal<Plan | null>(null);
  const said = useSignal<string | null>(null);
  const wrong = useSignal<string | null>(null);
  const tried = (asked: Promise<void>) => asked.catch((error: Error) => void (wrong.value = error.message));
  const written = (text: (done: Plan) => string) => (done: Plan) => {
    said.value = text(done);
    changed.value += 1;
  };
  const clear = () => (plan.value = said.value = wrong.value = null);
  return {
    plan,
    said,
    wrong,
    /** Plans a change of a setting and shows its diff; null removes the setting. */
    look(key: string, value: string | null) {
      clear();
      return tried(post<Plan>("plan", { key, value, ...layer }).then((made) => void (made.changed ? (plan.value = made) : (said.value = "It already has this value."))));
    },
    save() {
      const id = plan.value?.id;
      clear();
      return tried(post<Plan>("save", { plan: id }).then(written((done) => `Saved to ${done.path}.`)));
    },
    undo() {
      clear();
      return tried(post<Plan>("undo").then(written((done) => `Reverted in ${done.path}.`)));
    },
  };
}

export function Changed({ change }: { change: Change }) {
  const { plan, said, wrong } = change;
  return (
    <>
      {wrong.value && <Problem text={wrong.value} />}
      {said.value && (
        <p role="status" class="said">
          {said.value} {said.value.startsWith("Saved") && <button onClick={() => void change.undo()}>Undo</button>}
        </p>
      )}
      {plan.value && <Diff key={plan.value.id} plan={plan.value} change={change} />}
    </>
  );
}

function Lines({ diff }: { diff: string }) {
  return (
    <pre tabIndex={0}>
      {diff.trimEnd().split("\n").map((line, i) => (
        <span key={i} class={line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : ""}>{line + "\n"}</span>
      ))}
    </pre>
  );
}

function Diff({ plan, change }: { plan: Plan; change: Change }) {
  const at = useRef<HTMLHeadingElement>(null);
  useEffect(() => at.current?.focus(), []);
  return (
    <div class="diff" role="group" aria-label="What changes">
      <h3 tabIndex={-1} ref={at}>What changes</h3>
      <Lines diff={plan.diff} />
      {plan.warnings.map((warning) => <p class="guard" role="note" key={warning}>{warning}</p>)}
      <p class="soft" title={plan.path}>Save changes <code>{plan.diff.split("\n", 1)[0]!.replace(/^--- /, "") || plan.path}</code>, the settings of the {plan.layer}.</p>
      {plan.applies && plan.applies.origin !== plan.layer && (
        <p class="guard" role="note">{shown(plan.applies.value)} still applies here: the layer {plan.applies.origin} overrides this setting{plan.applies.where ? ` (${plan.applies.where})` : ""}.</p>
      )}
      <div class="tools">
        <button class="main" onClick={() => void change.save()}>Save</button>
        <button onClick={() => (change.plan.value = null)}>Cancel</button>
      </div>
    </div>
  );
}
