// Settings: every key with its origin, for the project, a flow or a step.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { useView } from "./api";
import { type Change, Changed, useChange } from "./change";
import { Head, n, Problem, shown, Waiting } from "./parts";
import { go, link, params } from "./route";
import type { Flows, Setting } from "./types";

const BUDGETS: Record<string, string> = {
  context_budget_chars: "Whole history",
  history_max_recent_chars: "Newest step",
  history_max_older_chars: "Each older step",
};
/** About the characters of a token of English text. */
const CHARS = 4;

interface Loaded {
  values: Setting[];
  preset: string | null;
  warnings: string[];
}

export function Settings() {
  return (
    <>
      <Head title="Settings" />
      <Layers />
    </>
  );
}

/** The project, its flows and their steps, with the number of settings of each. */
function Layers() {
  const { value, problem } = useView<Flows>("flows");
  const [flow, step, profile] = ["flow", "step", "profile"].map((name) => params.value.get(name) ?? "");
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  return (
    <section class="split flows">
      <nav class="card tree" aria-label="Flows and steps">
        <a href={link("settings", { flow: null, step: null })} aria-current={!flow ? "true" : undefined}>
          Project
        </a>
        {value.flows.map((each) => (
          <div key={each.name}>
            <a href={link("settings", { flow: each.name, step: null })} aria-current={flow === each.name && !step ? "true" : undefined}>
              <b>{each.name}</b> {each.own > 0 && <span class="badge over">{each.own} set</span>}
            </a>
            <ol>
              {each.steps.map((one) => (
                <li key={one.id}>
                  <a href={link("settings", { flow: each.name, step: one.id })} aria-current={flow === each.name && step === one.id ? "true" : undefined}>
                    {one.id} <span class="soft">{one.agent}</span> {one.own > 0 && <span class="badge over">{one.own} set</span>}
                  </a>
                </li>
              ))}
            </ol>
          </div>
        ))}
        <p class="soft" title={value.path}>
          {value.path ? `${value.path.split("/").pop()}${value.files.length > 1 ? ` and ${value.files.length - 1} more files` : ""}` : "No brim.yaml here: these are the defaults. The first change creates one."}
          {!value.flows.length && <> A flow is a file <code>flows/NAME.yaml</code> beside it.</>}
        </p>
      </nav>
      <Layer key={`${profile} ${flow} ${step}`} profile={profile!} flow={flow!} step={step!} flows={value} />
    </section>
  );
}

interface LayerProps {
  profile: string;
  flow: string;
  step: string;
  flows: Flows;
}

function Layer({ profile, flow, step, flows }: LayerProps) {
  const change = useChange({ profile: profile || null, flow: flow || null, step: step || null });
  const { value, problem } = useView<Loaded>("settings", { profile, flow, step });
  const here = flows.flows.find((each) => each.name === flow);
  const one = here?.steps.find((each) => each.id === step);
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  const about = one?.task ? `Its task: “${one.task}”` : !step && here?.description;
  return (
    <div>
      <section class="card" aria-labelledby="budget">
        <div class="tools">
          <h2 id="budget">{step ? `${flow} / ${step}` : flow || "The project"}</h2>
          <label class="check">
            profile{" "}
            <select value={profile} onChange={(event) => go("settings", { profile: event.currentTarget.value || null })}>
              <option value="">the active one</option>
              {flows.profiles.map((name) => <option key={name} value={name}>{name}</option>)}
            </select>
          </label>
          <button disabled={flows.saved === 0} onClick={() => void change.undo()}>Undo{flows.saved ? ` (${flows.saved})` : ""}</button>
        </div>
        {about && <p class="soft">{about}</p>}
        {value.warnings.map((warning) => <p class="guard" role="note" key={warning}>{warning}</p>)}
        <Changed change={change} />
        <div class="presets" role="group" aria-label="Budgets of flows by name">
          {Object.entries(flows.presets).map(([name, budgets]) => (
            <button key={name} aria-pressed={value.preset === name} title={Object.values(budgets).map(n).join(" / ")} onClick={() => void change.look("budgets.preset", name)}>
              {name} <small>{n(budgets.context_budget_chars)} characters</small>
            </button>
          ))}
        </div>
      </section>
      <Keys rows={value.values} change={change} flow={flow} />
    </div>
  );
}

/** Every setting: its value, what sets it, and a form to change it. */
function Keys({ rows, change, flow }: { rows: Setting[]; change: Change; flow: string }) {
  const only = useSignal(false);
  const text = params.value.get("text") ?? "";
  const open = params.value.get("key");
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = rows.filter((row) => row.key === open || ((!only.value || row.origin !== "defaults") && words.every((word) => `${row.key} ${BUDGETS[row.key] ?? ""} ${row.about}`.toLowerCase().includes(word))));
  // The budgets of a flow come first.
  const ordered = flow ? [...found].sort((a, b) => Number(b.key in BUDGETS) - Number(a.key in BUDGETS)) : found;
  return (
    <section class="card" aria-label="Every setting">
      <div class="tools">
        <input type="search" class="grow" data-search placeholder="Setting, or what it does  ( / )" aria-label="Search settings" value={text} onInput={(event) => go("settings", { text: event.currentTarget.value }, true)} />
        <label class="check"><input type="checkbox" checked={only.value} onChange={(event) => (only.value = event.currentTarget.checked)} /> only changed settings</label>
      </div>
      <table class="wide keys">
        <thead><tr><th>setting</th><th>value</th><th>set by</th><th>what it does</th></tr></thead>
        <tbody>
          {ordered.map((row) => (
            <Key key={`${row.key} ${shown(row.value)} ${row.own}`} row={row} open={row.key === open} change={change} />
          ))}
          {!ordered.length && <tr><td colSpan={4} class="soft">{only.value ? "Only defaults apply." : "No setting matches."}</td></tr>}
        </tbody>
      </table>
    </section>
  );
}

function Key({ row, open, change }: { row: Setting; open: boolean; change: Change }) {
  const text = useSignal(written(row.value));
  const box = useRef<HTMLInputElement>(null);
  const chars = row.key.endsWith("_chars") && typeof row.value === "number";
  useEffect(() => {
    if (open) box.current?.focus();
  }, [open]);
  return (
    <>
      <tr class={open ? "on" : row.override ? "over" : ""}>
        <th scope="row">
          <button class="plain" data-row aria-expanded={open} onClick={() => go("settings", { key: open ? null : row.key }, true)}>
            <code>{row.key}</code> {BUDGETS[row.key] && <small>{BUDGETS[row.key]}</small>}
          </button>
        </th>
        <td>{shown(row.value)} {chars && <small>about {n(Math.round((row.value as number) / CHARS))} tokens</small>}</td>
        <td><span class={`badge ${row.override ? "over" : "soft"}`} title={row.where}>{row.origin}</span> {row.over && row.over.origin !== "defaults" && <small>overrides {shown(row.over.value)} ({row.over.origin})</small>}</td>
        <td class="soft">{row.about}</td>
      </tr>
      {open && (
        <tr class="on">
          <td colSpan={4}>
            <form noValidate class="tools" onSubmit={(event) => (event.preventDefault(), void change.look(row.key, text.value))}>
              <label class="inline">
                <span>{row.expected || "value"}</span>
                <input ref={box} type="text" aria-label={row.key} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
              </label>
              <button type="submit" class="main" disabled={text.value === written(row.value)}>Show the change</button>
              {row.own && <button type="button" onClick={() => void change.look(row.own, null)}>{row.own === row.key || row.own.endsWith(`.${row.key}`) ? "Remove" : "Remove the preset"}</button>}
              {row.where && <span class="soft">{row.where}</span>}
            </form>
            {row.bounds && <p class="soft">From {n(row.bounds[0])} to {n(row.bounds[1])} characters. Other values are moved to the nearest bound, with a warning.</p>}
            {row.warnings.map((warning) => <p class="guard" role="note" key={warning}>{warning}</p>)}
          </td>
        </tr>
      )}
    </>
  );
}

/** A value as it is written into the form. */
const written = (value: unknown): string => (value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));
