// Flows: the context budget of a flow or a step, where it comes from, and how to change it.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { changed, load, post } from "./api";
import { dollars, Empty, Head, n, Problem, shown, Waiting } from "./parts";
import { params, link } from "./route";
import type { Flows as Loaded, PackRow, PackSide, Plan, Preview, Setting, Side, Sums } from "./types";

const BUDGETS = ["context_budget_chars", "history_max_recent_chars", "history_max_older_chars"];
const TITLES: Record<string, string> = {
  context_budget_chars: "Whole history",
  history_max_recent_chars: "Newest step",
  history_max_older_chars: "Each older step",
};

interface Settings {
  values: Setting[];
  preset: string | null;
  warnings: string[];
}

export function Flows() {
  const found = useMemo(() => load<Loaded>(() => ({ view: "flows" })), []);
  useEffect(() => found.stop, [found]);
  const { value, problem } = found.state.value;
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  const flow = params.value.get("flow") ?? "";
  const step = params.value.get("step") ?? "";
  const profile = params.value.get("profile") ?? "";
  return (
    <>
      <Head title="Flows">
        <p class="lead" title={value.path}>{value.path ? `Settings of ${value.path.split("/").pop()} and ${value.files.length - 1} more files` : "No brim.yaml here: these are the defaults."}</p>
      </Head>
      {value.flows.length === 0 && (
        <Empty>
          <h2>No flows yet</h2>
          <p>Add <code>flows/NAME.yaml</code> next to <code>brim.yaml</code>: its steps, and their budgets.</p>
        </Empty>
      )}
      <section class="split flows">
        <nav class="card tree" aria-label="Flows and steps">
          <a href={link("flows", { flow: null, step: null })} aria-current={!flow ? "true" : undefined}>
            Project
          </a>
          {value.flows.map((each) => (
            <div key={each.name}>
              <a href={link("flows", { flow: each.name, step: null })} aria-current={flow === each.name && !step ? "true" : undefined}>
                <b>{each.name}</b> {each.own > 0 && <span class="badge over">{each.own} set</span>}
              </a>
              <ol>
                {each.steps.map((one) => (
                  <li key={one.id}>
                    <a href={link("flows", { flow: each.name, step: one.id })} aria-current={flow === each.name && step === one.id ? "true" : undefined}>
                      {one.id} <span class="soft">{one.agent}</span> {one.own > 0 && <span class="badge over">{one.own} set</span>}
                    </a>
                  </li>
                ))}
              </ol>
            </div>
          ))}
        </nav>
        <Inspector key={`${profile} ${flow} ${step}`} profile={profile} flow={flow} step={step} loaded={value} />
      </section>
    </>
  );
}

function Inspector({ profile, flow, step, loaded }: { profile: string; flow: string; step: string; loaded: Loaded }) {
  const found = useMemo(() => load<Settings>(() => ({ view: "settings", fields: { profile, flow, step } })), [profile, flow, step]);
  useEffect(() => found.stop, [found]);
  const plan = useSignal<Plan | null>(null);
  const said = useSignal<string | null>(null);
  const wrong = useSignal<string | null>(null);
  const only = useSignal(true);
  const { value, problem } = found.state.value;
  const here = loaded.flows.find((each) => each.name === flow);
  const one = here?.steps.find((each) => each.id === step);
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  const place = { profile: profile || null, flow: flow || null, step: step || null };
  const look = async (key: string, text: string | null) => {
    said.value = wrong.value = null;
    plan.value = await post<Plan>("plan", { key, value: text, ...place }).catch((error: Error) => ((wrong.value = error.message), null));
    if (plan.value && !plan.value.changed) {
      said.value = "It already has this value.";
      plan.value = null;
    }
  };
  const save = async () => {
    const id = plan.value?.id;
    plan.value = null;
    await post<Plan>("save", { plan: id }).then(
      (done) => ((said.value = `Saved to ${done.path}.`), (changed.value += 1)),
      (error: Error) => (wrong.value = error.message),
    );
  };
  const undo = async () => {
    await post<Plan>("undo").then(
      (done) => ((said.value = `Reverted in ${done.path}.`), (wrong.value = null), (changed.value += 1)),
      (error: Error) => (wrong.value = error.message),
    );
  };
  const rows = value.values.filter((row) => !BUDGETS.includes(row.key) && (!only.value || row.origin !== "defaults"));
  return (
    <div>
      <section class="card" aria-labelledby="budget">
        <div class="tools">
          <h2 id="budget">Context Budget</h2>
          <span class="soft">{step ? `${flow} / ${step}` : flow || "the project"}</span>
          <label class="check">
            profile{" "}
            <select value={profile} onChange={(event) => (location.hash = link("flows", { profile: event.currentTarget.value || null }))}>
              <option value="">the active one</option>
              {loaded.profiles.map((name) => <option key={name} value={name}>{name}</option>)}
            </select>
          </label>
          {value.preset && <span class="badge good">preset {value.preset}</span>}
          <button disabled={loaded.saved === 0} onClick={() => void undo()}>Undo{loaded.saved ? ` (${loaded.saved})` : ""}</button>
        </div>
        {one?.task && <p class="soft">{one.task}</p>}
        {here && !step && here.description && <p class="soft">{here.description}</p>}
        {value.warnings.map((warning) => <p class="guard" role="note" key={warning}>{warning}</p>)}
        {BUDGETS.map((key) => {
          const row = value.values.find((each) => each.key === key);
          return row && <Budget key={`${key} ${shown(row.value)} ${row.own}`} row={row} look={look} />;
        })}
        <div class="presets" role="group" aria-label="Presets">
          {Object.entries(loaded.presets).map(([name, budgets]) => (
            <button key={name} aria-pressed={value.preset === name} title={Object.values(budgets).map(n).join(" / ")} onClick={() => void look("budgets.preset", name)}>
              {name} <small>{n(budgets.context_budget_chars)}</small>
            </button>
          ))}
        </div>
        {wrong.value && <Problem text={wrong.value} />}
        {said.value && <p role="status" class="said">{said.value}</p>}
        {plan.value && <Diff key={plan.value.id} plan={plan.value} place={place} save={() => void save()} leave={() => (plan.value = null)} />}
      </section>
      <section class="card" aria-label="Other settings">
        <div class="tools">
          <h2>Other settings</h2>
          <label class="check"><input type="checkbox" checked={only.value} onChange={(event) => (only.value = event.currentTarget.checked)} /> only those that are set</label>
        </div>
        <div class="scroll" tabIndex={0} role="region" aria-label="Other settings">
          <table>
            <thead><tr><th>setting</th><th>value</th><th>origin</th><th>stands above</th></tr></thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.key} class={row.override ? "on" : ""}>
                  <th scope="row" title={row.about}>{row.key}</th>
                  <td>{shown(row.value)}</td>
                  <td><Origin row={row} /></td>
                  <td class="soft">{row.over && row.over.origin !== "defaults" ? `${shown(row.over.value)} (${row.over.origin})` : ""}</td>
                </tr>
              ))}
              {rows.length === 0 && <tr><td colSpan={4} class="soft">Only defaults.</td></tr>}
            </tbody>
          </table>
        </div>
      </section>
    </div>
  );
}

interface DiffProps {
  plan: Plan;
  place: { profile: string | null; flow: string | null; step: string | null };
  save: () => void;
  leave: () => void;
}

/** A change as a diff, and its effect on recorded sessions, before it is made. */
function Diff({ plan, place, save, leave }: DiffProps) {
  const tried = useSignal<Preview | null>(null);
  const wrong = useSignal<string | null>(null);
  const at = useRef<HTMLHeadingElement>(null);
  useEffect(() => at.current?.focus(), []);
  const look = () => post<Preview>("preview", { plan: plan.id, ...place }).then((loaded) => (tried.value = loaded), (error: Error) => (wrong.value = error.message));
  return (
    <div class="diff" role="group" aria-label="What changes">
      <h3 tabIndex={-1} ref={at}>What changes</h3>
      <pre tabIndex={0}>
        {plan.diff.trimEnd().split("\n").map((line, i) => (
          <span key={i} class={line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : ""}>{line + "\n"}</span>
        ))}
      </pre>
      {plan.warnings.map((warning) => <p class="guard" role="note" key={warning}>{warning}</p>)}
      <p class="soft" title={plan.path}>Save writes it to <code>{plan.diff.split("\n", 1)[0]!.replace(/^--- /, "") || plan.path}</code>, as a setting of the {plan.layer}.</p>
      {plan.applies && plan.applies.origin !== plan.layer && (
        <p class="guard" role="note">Here {shown(plan.applies.value)} still applies: the layer {plan.applies.origin} overrides it{plan.applies.where ? ` (${plan.applies.where})` : ""}.</p>
      )}
      <div class="tools">
        <button class="main" onClick={save}>Save</button>
        <button onClick={() => void look()}>{place.flow ? "Preview on this flow's receipts and recorded sessions" : "Preview on recorded sessions"}</button>
        <button onClick={leave}>Cancel</button>
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

function Origin({ row }: { row: Setting }) {
  return <span class={`badge ${row.override ? "over" : "soft"}`} title={row.where}>{row.override ? "override: " : ""}{row.origin}</span>;
}

function Budget({ row, look }: { row: Setting; look: (key: string, text: string | null) => Promise<void> }) {
  const text = useSignal(String(row.value));
  return (
    <form noValidate class={`budget${row.override ? " override" : ""}`} onSubmit={(event) => (event.preventDefault(), void look(row.key, text.value))}>
      <label>
        <span><b>{TITLES[row.key]}</b> <code>{row.key}</code></span>
        <input type="number" min={row.bounds?.[0] ?? 0} max={row.bounds?.[1]} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
      </label>
      <div class="tools">
        <button type="submit" disabled={text.value === String(row.value) || !text.value}>Show the change</button>
        {row.own && <button type="button" onClick={() => void look(row.own, null)}>{row.own === row.key || row.own.endsWith(`.${row.key}`) ? "Remove" : "Remove the preset"}</button>}
      </div>
      {row.bounds && <p class="soft">From {n(row.bounds[0])} to {n(row.bounds[1])} characters; what is beyond is moved to the bound, with a warning.</p>}
      <p class="soft">
        <Origin row={row} /> {row.where && <span class="clip">{row.where}</span>}{" "}
        {row.over && <>overrides {shown(row.over.value)} ({row.over.origin})</>}
      </p>
      {row.warnings.map((warning) => <p class="guard" role="note" key={warning}>{warning}</p>)}
    </form>
  );
}
