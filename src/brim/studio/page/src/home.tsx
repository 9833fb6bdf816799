// All sessions: the store's, the gateways' and those of opened files, with totals and the tools that take the most.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { load, post } from "./api";
import { Bar, dollars, Head, Long, n, plural, Problem, share, Waiting, when } from "./parts";
import { OpenButton } from "./open";
import { params, go, link, promptLink, workspace } from "./route";
import type { Home as Loaded, HomeRow, ToolUse } from "./types";

type Sparks = Record<string, { shares: number[]; cost_usd: number | null; first: number }>;

export function Home() {
  const found = useMemo(
    () =>
      load<Loaded>(() => {
        const fields: Record<string, string> = {};
        for (const name of ["text", "file", "only", "order", "start"]) if (params.value.get(name)) fields[name] = params.value.get(name)!;
        return { view: "sessions", fields };
      }),
    [],
  );
  useEffect(() => found.stop, [found]);
  const { value, problem } = found.state.value;
  const sparks = useSignal<Sparks>({});
  const ids = value?.sessions.map((row) => row.id).join("\n") ?? "";
  useEffect(() => {
    if (ids) void post<{ sparks: Sparks }>("sparks", { ids }).then((answer) => (sparks.value = answer.sparks), () => undefined);
  }, [value]);
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  if (value.all === 0 && !value.files.length) return <Welcome />;
  const set = (change: Record<string, string | null>) => go("home", { start: null, ...change }, true);
  const file = params.value.get("file");
  return (
    <>
      <Head title={file ?? "All sessions"}>
        <p class="lead">
          {n(value.found)} of {value.complete ? "" : "more than "}{plural(value.all, "session")}
        </p>
        {file && <a href={link("home", { file: null })}>show all</a>}
      </Head>
      {!file && <Totals loaded={value} />}
      <section class="card" aria-label="Sessions">
        <div class="tools">
          <input type="search" class="grow" data-search placeholder="Session, model, file  ( / )" aria-label="Search sessions" value={params.value.get("text") ?? ""} onInput={(event) => set({ text: event.currentTarget.value })} />
          <select aria-label="Which sessions" value={params.value.get("only") ?? ""} onChange={(event) => set({ only: event.currentTarget.value })}>
            <option value="">all</option>
            <option value="problems">with problems</option>
          </select>
          <select aria-label="Order" value={params.value.get("order") ?? ""} onChange={(event) => set({ order: event.currentTarget.value })}>
            <option value="">newest first</option>
            <option value="peak">fullest first</option>
            <option value="warnings">most warnings</option>
            <option value="compactions">most compactions</option>
          </select>
        </div>
        <div class="columns" aria-hidden="true">
          <span class="what">session</span>
          <span class="spark">fill by step</span>
          <span class="num">peak of budget</span>
          <span class="num few">warned</span>
          <span class="num few">compacted</span>
          <span class="num few">cost</span>
        </div>
        <Long items={value.sessions} height={54} label="Sessions" row={(row) => <Row row={row} spark={sparks.value[row.id]} />} />
        {value.found === 0 && <p class="soft">No session matches.</p>}
        {value.found > value.sessions.length && (
          <div class="tools">
            <button disabled={value.start === 0} onClick={() => go("home", { start: String(Math.max(0, value.start - 200)) })}>Newer</button>
            <span class="soft">
              {n(value.start + 1)} to {n(value.start + value.sessions.length)} of {n(value.found)}
            </span>
            <button disabled={value.start + value.sessions.length >= value.found} onClick={() => go("home", { start: String(value.start + 200) })}>Older</button>
          </div>
        )}
      </section>
      <Offenders />
    </>
  );
}

/** A page without sessions: what to do first. */
function Welcome() {
  return (
    <section class="welcome">
      <h1>See what your prompts are made of</h1>
      <p>Drop a file anywhere on this page: a request, a log, a trace, a session of an agent, a receipt. It stays on this machine.</p>
      <div class="tools">
        <OpenButton main />
        <button onClick={() => go("home", { workspace: "demo" })}>Open the demo</button>
      </div>
      <p class="soft">
        Or let a program record its sessions: <code>brim.Session(model=…, store=brim.open_store("sqlite:///brim.db"), capture=True)</code>
      </p>
    </section>
  );
}

function Totals({ loaded: { totals } }: { loaded: Loaded }) {
  const peak = totals.peak;
  return (
    <section class="card" aria-label="Totals">
      <dl class="facts">
        <div>
          <dt>Warned</dt>
          <dd>
            {n(totals.warned)} <small>of {plural(totals.recent, "recent session")}</small>
          </dd>
        </div>
        <div>
          <dt>Fullest</dt>
          <dd>{peak ? <a href={link("timeline", { session: peak.id })}>{share(peak.peak, peak.budget)} <small>{n(peak.peak)} of {n(peak.budget)}</small></a> : "none"}</dd>
        </div>
        <div>
          <dt>Refused as too long</dt>
          <dd>{plural(totals.refused, "session")}</dd>
        </div>
        <div>
          <dt>Compactions</dt>
          <dd>{n(totals.compactions)}</dd>
        </div>
      </dl>
    </section>
  );
}

function Row({ row, spark }: { row: HomeRow; spark: Sparks[string] | undefined }) {
  const to = row.kind === "gateway" || row.prompts === 1 ? promptLink(row.id, null) : link("timeline", { session: row.id });
  const title = row.kind === "file" && row.source && row.id.startsWith(`${row.source}:`) ? `${row.source} · ${row.id.slice(row.source.length + 1)}` : row.id;
  return (
    <a class="row session" data-row href={to}>
      <span class="what">
        <span class="clip">
          <b>{title}</b> {row.problems.map((each) => <span key={each} class={`badge ${each === "warned" ? "warn" : "dropped"}`}>{each}</span>)}
        </span>
        <span class="clip soft">
          {row.model || "no model named"} · {row.kind === "file" ? "opened file" : row.kind} · {row.prompts === null ? "" : `${plural(row.prompts, "prompt")} · `}
          {when(row.updated)}
        </span>
      </span>
      <Spark shares={spark?.shares} />
      <span class="num">
        {row.budget ? share(row.peak, row.budget) : n(row.peak)}
        <small> {row.budget ? `${n(row.peak)} of ${n(row.budget)}${row.assumed ? "?" : ""}` : row.unit}</small>
      </span>
      <span class="num few">{n(row.warnings)}</span>
      <span class="num few">{n(row.compactions)}</span>
      <span class="num few">{spark ? dollars(spark.cost_usd) : ""}</span>
    </a>
  );
}

/** The fill of the last prompts, as steps; the line at the top is the budget. */
function Spark({ shares }: { shares: number[] | undefined }) {
  if (!shares?.length) return <span class="spark" />;
  const width = 96 / shares.length;
  const path = shares.map((each, i) => `${i ? "L" : "M"}${(i * width).toFixed(1)} ${(26 - 0.22 * Math.min(112, each)).toFixed(1)}h${width.toFixed(1)}`).join("");
  return (
    <span class="spark">
      <svg viewBox="0 0 96 28" role="img" aria-label={`from ${shares[0]} % to ${shares.at(-1)} % of the budget`}>
        <title>{`${shares[0]} % at first, ${Math.max(...shares)} % at most, ${shares.at(-1)} % at last`}</title>
        <path class="limit" d="M0 4H96" />
        <path class="area" d={`${path}V28H0z`} />
        <path class="line" d={path} />
      </svg>
    </span>
  );
}

/** The tools whose results take the most tokens over the recent sessions. */
function Offenders() {
  const found = useMemo(() => load<ToolUse>(() => ({ view: "tool_use" })), []);
  useEffect(() => found.stop, [found]);
  const value = found.state.value.value;
  if (!value?.tools.length) return <></>;
  return (
    <section class="card" aria-label="Tools that take the most">
      <h2>Results that take the most tokens, by tool</h2>
      <table class="wide">
        <thead>
          <tr><th>tool</th><th class="num">tokens</th><th class="num">of all results</th><th /><th class="num">results</th><th class="num">sessions</th><th>largest</th></tr>
        </thead>
        <tbody>
          {value.tools.map((each) => (
            <tr key={each.tool}>
              <th scope="row">{each.tool}</th>
              <td class="num" data-name="tokens">{n(each.tokens)}</td>
              <td class="num" data-name="of all results">{share(each.share, 1)}</td>
              <td><Bar part={each.share} whole={1} colour="#d55e00" /></td>
              <td class="num" data-name="results">{n(each.results)}</td>
              <td class="num" data-name="sessions">{n(each.sessions)}</td>
              <td data-name="largest">
                <a href={promptLink(each.largest.session, each.largest.step)}>
                  {n(each.largest.tokens)} tokens, step {each.largest.step ?? "?"}
                </a>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="soft">
        Counted over {n(value.read)} of {plural(value.of, "recent session")}. A lower <code>tool_limit</code> shortens what is new.{workspace.value === "demo" ? " This is the demo." : ""}
      </p>
    </section>
  );
}
