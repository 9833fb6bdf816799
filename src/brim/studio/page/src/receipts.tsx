// Receipts: every prompt and step, with filters, details and a comparison of two.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { load } from "./api";
import { Bar, Empty, Head, Long, n, Problem, share, Waiting, when } from "./parts";
import { params, go, link, promptLink } from "./route";
import type { Part, Receipt } from "./types";

interface Listed {
  receipts: Receipt[];
  found: number;
  all: number;
  start: number;
  models: string[];
}

export function Receipts() {
  const query = () => {
    const loaded: Record<string, string> = {};
    for (const name of ["text", "kind", "lost", "model", "status", "start"]) if (params.value.get(name)) loaded[name] = params.value.get(name)!;
    return loaded;
  };
  const found = useMemo(() => load<Listed>(() => ({ view: "receipts", fields: query() })), []);
  useEffect(() => found.stop, [found]);
  const picked = useSignal<string[]>([]);
  const { value, problem } = found.state.value;
  const id = params.value.get("id");
  const beside = params.value.get("beside");
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  if (value.all === 0)
    return (
      <Empty>
        <h1>No prompts yet</h1>
        <p>Sessions write one for each prompt, <code>brim flow run</code> one for each step.</p>
      </Empty>
    );
  const set = (change: Record<string, string | null>) => go("receipts", { start: null, ...change }, true);
  const at = (each: string) => value.receipts.find((row) => row.id === each)?.at ?? 0;
  const pick = (each: string) => (picked.value = picked.value.includes(each) ? picked.value.filter((one) => one !== each) : [...picked.value, each].slice(-2));
  return (
    <>
      <Head title="All prompts">
        <p class="lead">
          {n(value.found)} of {n(value.all)}
        </p>
      </Head>
      <section class="card">
        <div class="tools">
          <input type="search" class="grow" data-search placeholder="Session, flow, agent, model  ( / )" aria-label="Search prompts" value={params.value.get("text") ?? ""} onInput={(event) => set({ text: event.currentTarget.value })} />
          <select aria-label="Kind" value={params.value.get("kind") ?? ""} onChange={(event) => set({ kind: event.currentTarget.value })}>
            <option value="">prompts and steps</option>
            <option value="prompt">prompts</option>
            <option value="step">steps of flows</option>
          </select>
          <select aria-label="Model" value={params.value.get("model") ?? ""} onChange={(event) => set({ model: event.currentTarget.value })}>
            <option value="">any model</option>
            {value.models.map((name) => <option key={name} value={name}>{name}</option>)}
          </select>
          <select aria-label="Status" value={params.value.get("status") ?? ""} onChange={(event) => set({ status: event.currentTarget.value })}>
            <option value="">any status</option>
            <option value="ok">successful steps</option>
            <option value="failed">failed steps</option>
          </select>
          <label class="check">
            <input type="checkbox" checked={params.value.get("lost") === "1"} onChange={(event) => set({ lost: event.currentTarget.checked ? "1" : null })} /> shortened or left out
          </label>
          <button disabled={picked.value.length !== 2} onClick={() => {
              const [older, newer] = [...picked.value].sort((a, b) => at(a) - at(b));
              go("receipts", { id: older!, beside: newer! });
            }}>
            Compare {picked.value.length} of 2
          </button>
        </div>
        <Long
          items={value.receipts}
          height={50}
          label="Prompts"
          row={(row) => (
            <div class="row receipt">
              <input type="checkbox" aria-label={`Pick ${row.title}`} checked={picked.value.includes(row.id)} onChange={() => pick(row.id)} />
              <a class="what" data-row href={row.session ? promptLink(row.session, row.step) : link("prompt", { id: row.id, session: null, step: null })}>
                <div>
                  <b>{row.title}</b>{" "}
                  {row.truncated && <span class="badge warn">shortened</span>}
                  {row.status === "failed" && <span class="badge dropped">failed</span>}
                </div>
                <span class="clip soft">{when(row.at)} · {row.model ?? "no model named"}</span>
              </a>
              <Bar part={row.used ?? 0} whole={row.budget ?? 1} />
              <span class="num">{n(row.used)}<small> of {n(row.budget)} {row.unit}</small></span>
            </div>
          )}
        />
        {value.found === 0 && <p class="soft">None of the {n(value.all)} prompts matches.</p>}
        {value.found > value.receipts.length && (
          <div class="tools">
            <button disabled={value.start === 0} onClick={() => go("receipts", { start: String(Math.max(0, value.start - 500)) })}>Newer</button>
            <span class="soft">{n(value.start + 1)} to {n(value.start + value.receipts.length)}</span>
            <button disabled={value.start + value.receipts.length >= value.found} onClick={() => go("receipts", { start: String(value.start + 500) })}>Older</button>
          </div>
        )}
      </section>
      {id && beside && <Compare before={id} after={beside} key={id + beside} />}
    </>
  );
}

function Compare({ before, after }: { before: string; after: string }) {
  const found = useMemo(() => load<{ rows: { name: string; before: Part | null; after: Part | null; same: boolean }[] }>(() => ({ view: "compare", fields: { before, after } })), [before, after]);
  useEffect(() => found.stop, [found]);
  const { value, problem } = found.state.value;
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  const rows = value.rows.filter((row) => !row.same);
  const cell = (part: Part | null) => (part ? <><span class={`badge ${part.state}`}>{part.state}</span> {n(part.used)} {part.size !== null && <small>({share(part.used ?? 0, part.size)})</small>}</> : <span class="soft">absent</span>);
  return (
    <section class="card" aria-label="Comparison">
      <div class="tools">
        <h2>{rows.length} of {value.rows.length} parts differ</h2>
        <a class="button" href={link("receipts", { id: null, beside: null })}>Close</a>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Parts that differ">
        <table>
          <thead><tr><th>part</th><th>before: {before}</th><th>after: {after}</th></tr></thead>
          <tbody>
            {rows.slice(0, 400).map((row) => (
              <tr key={row.name}><th scope="row">{row.name}</th><td>{cell(row.before)}</td><td>{cell(row.after)}</td></tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
