// A change of a setting: its diff, a preview on recorded sessions, saving and undo.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { changed, post } from "./api";
import { dollars, n, Problem, shown } from "./parts";
import type { PackRow, PackSide, Plan, Preview, Side, Sums } from "./types";

/** The layer that a change is written to; the project if all are null. */
export interface Layer {
  profile: string | null;
  flow: string | null;
  step: string | null;
}

export const PROJECT: Layer = { profile: null, flow: null, step: null };

export interface Change {
  layer: Layer;
  plan: Signal<Plan | null>;
  said: Signal<string | null>;
  wrong: Signal<string | null>;
  /** Plans a change of a setting and shows its diff; null removes the setting. */
  look: (key: string, value: string | null) => Promise<void>;
  save: () => Promise<void>;
  undo: () => Promise<void>;
}

export function useChange(layer: Layer = PROJECT): Change {
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
    layer,
    plan,
    said,
    wrong,
    look(key, value) {
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

export function Lines({ diff }: { diff: string }) {
  return (
    <pre tabIndex={0}>
      {diff.trimEnd().split("\n").map((line, i) => (
        <span key={i} class={line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : ""}>{line + "\n"}</span>
      ))}
    </pre>
  );
}

function Diff({ plan, change }: { plan: Plan; change: Change }) {
  const tried = useSignal<Preview | null>(null);
  const wrong = useSignal<string | null>(null);
  const at = useRef<HTMLHeadingElement>(null);
  useEffect(() => at.current?.focus(), []);
  const look = () => post<Preview>("preview", { plan: plan.id, ...change.layer }).then((loaded) => (tried.value = loaded), (error: Error) => (wrong.value = error.message));
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
        <button onClick={() => void look()}>{change.layer.flow ? "Preview on this flow's receipts and recorded sessions" : "Preview on recorded sessions"}</button>
        <button onClick={() => (change.plan.value = null)}>Cancel</button>
      </div>
      {wrong.value && <Problem text={wrong.value} />}
      {tried.value && tried.value.steps.length > 0 && <Packs rows={tried.value.steps} />}
      {tried.value && <Tried loaded={tried.value} />}
    </div>
  );
}
/** The packs of the steps of a flow that ran, made again under the current and the changed settings. */
function Packs({ rows }: { rows: PackRow[] }) {
  const cell = (side: PackSide, all: number) => (
    <td title={side.problem}>
      {side.used === null ? <span class="badge dropped">does not fit</span> : <>{n(side.used)} <small>of {n(side.budget)} chars</small><br /><small class="soft">{n(side.kept)} of {n(all)} steps</small></>}
    </td>
  );
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Preview on this flow's receipts">
      <table>
        <thead><tr><th>step</th><th>pack now</th><th>after the change</th></tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id}>
              <th scope="row">{row.id} <span class="soft">{row.agent}</span></th>
              {cell(row.before, row.steps)}
              {cell(row.after, row.steps)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The recorded sessions under the current and the changed settings. */
function Tried({ loaded }: { loaded: Preview }) {
  if (!loaded.rows.length) return <p class="soft">The store has no session for a preview.</p>;
  const cell = (side: Side, all: number) => (
    <td title={side.problem}>
      {side.fits === true ? <>{n(side.used)} <small>of {n(side.budget)} {side.unit}</small><br /><small class="soft">{n(side.kept)} of {n(all)} messages</small></> : <span class="badge dropped">{side.fits === false ? "does not fit" : "cannot be previewed"}</span>}
    </td>
  );
  const sum = (sums: Sums) => <td>{sums.used === null ? "" : `${n(sums.used)} ${sums.unit}`}<br /><small class="soft">{sums.overflows} overflows · {sums.lost_pins} pins lost · cost {dollars(sums.cost_usd)}</small></td>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Preview on recorded sessions">
      <table>
        <thead><tr><th>session</th><th>now</th><th>after the change</th></tr></thead>
        <tbody>
          {loaded.rows.map((row) => (
            <tr key={row.id}>
              <th scope="row">{row.id}</th>
              {cell(row.before, row.messages)}
              {cell(row.after, row.messages)}
            </tr>
          ))}
          <tr class="sum"><th scope="row">total</th>{sum(loaded.before)}{sum(loaded.after)}</tr>
        </tbody>
      </table>
    </div>
  );
}

