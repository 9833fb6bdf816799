// All sessions, from the store, gateways and opened files, each with its worst problem.
import { useSlowed, useView } from "./api";
import { Empty, Head, n, plural, Problem, share, Waiting, when } from "./parts";
import { params, go, link, stepLink } from "./route";
import type { Home as Loaded, HomeRow } from "./types";

/** Characters of the shortest query that searches texts. */
const LEAST = 3;

interface Hit {
  session: string;
  /** The first step that sent it; null if it was left out. */
  step: number | null;
  out: boolean;
  excerpt: string;
}

export function Sessions() {
  const fields: Record<string, string> = {};
  for (const name of ["text", "file", "only", "order", "start"]) if (params.value.get(name)) fields[name] = params.value.get(name)!;
  const { value, problem } = useView<Loaded>("sessions", fields, true);
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  if (value.all === 0 && !value.files.length)
    return (
      <Empty>
        <h1>See what your prompts are made of</h1>
        <p>A program records its sessions with <code>brim.Session(model=…, store=brim.open_store("sqlite:///brim.db"), capture=True)</code></p>
      </Empty>
    );
  const set = (change: Record<string, string | null>) => go("sessions", { start: null, ...change }, true);
  const file = params.value.get("file");
  return (
    <>
      <Head title={file ?? "Sessions"}>
        <p class="lead">
          {n(value.found)} of {plural(value.all, "session")}
        </p>
        {file && <a href={link("sessions", { file: null })}>show all</a>}
      </Head>
      <section class="card" aria-label="Sessions">
        <div class="tools">
          <input type="search" class="grow" data-search placeholder="Title, id, model or file, or words in any text  ( / )" aria-label="Search sessions" value={params.value.get("text") ?? ""} onInput={(event) => set({ text: event.currentTarget.value })} />
          <select aria-label="Which sessions" value={params.value.get("only") ?? ""} onChange={(event) => set({ only: event.currentTarget.value })}>
            <option value="">all</option>
            <option value="problems">with problems</option>
          </select>
          <select aria-label="Order" value={params.value.get("order") ?? ""} onChange={(event) => set({ order: event.currentTarget.value })}>
            <option value="">newest first</option>
            <option value="peak">fullest first</option>
          </select>
        </div>
        <div class="columns" aria-hidden="true">
          <span class="what">session</span>
          <span class="num">fullest step</span>
          <span class="num few">steps</span>
          <span class="num few">compactions</span>
          <span class="num few date">last step</span>
        </div>
        <div class="long" tabIndex={0} role="region" aria-label="Sessions list">
          {value.sessions.map((row) => <Row key={row.id} row={row} />)}
        </div>
        {value.found === 0 && <p class="soft">No session has these words in its title, id, model or file.</p>}
        {value.found > value.sessions.length && (
          <div class="tools">
            <button disabled={value.start === 0} onClick={() => go("sessions", { start: String(Math.max(0, value.start - 200)) })}>Newer</button>
            <span class="soft">
              {n(value.start + 1)} to {n(value.start + value.sessions.length)} of {n(value.found)}
            </span>
            <button disabled={value.start + value.sessions.length >= value.found} onClick={() => go("sessions", { start: String(value.start + 200) })}>Older</button>
          </div>
        )}
      </section>
      <Texts words={params.value.get("text")?.trim() ?? ""} />
    </>
  );
}

/** The texts with all words of a query, sent or left out, each with its step. */
function Texts({ words }: { words: string }) {
  const query = useSlowed(words, 200);
  const { value, problem } = useView<{ found: Hit[] }>(query.length < LEAST ? null : "search", { query }, true);
  if (problem) return <Problem text={problem} />;
  if (query.length < LEAST || !value) return <></>;
  return (
    <section class="card" aria-label="Texts">
      <p role="status">{plural(value.found.length, "text")} with these words</p>
      <ul class="texts">
        {value.found.map((hit, i) => (
          <li key={i}>
            <a data-row class="clip" href={stepLink(hit.session, hit.step, { find: query, tab: hit.out ? "out" : null })}>{hit.excerpt}</a>
            <span class="soft">{hit.out ? "left out of" : "sent in"} {hit.session}{hit.step !== null && `, step ${hit.step}`}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Row({ row }: { row: HomeRow }) {
  return (
    <a class="row session" data-row href={stepLink(row.id, null)}>
      <span class="what clip">
        <b>{row.title || row.id}</b> {row.problem && <span class="badge dropped">{row.problem}</span>}{" "}
        <span class="soft">
          {row.model || "unknown model"} · {row.kind === "file" ? row.source : row.title && row.title !== row.id ? row.id : row.kind}
        </span>
      </span>
      <span class="num">
        {row.budget ? share(row.peak, row.budget) : n(row.peak)}
        <small> {row.budget ? `${n(row.peak)} of ${n(row.budget)}${row.assumed ? "?" : ""}` : row.unit}</small>
      </span>
      <span class="num few">{row.prompts === null ? "" : n(row.prompts)}</span>
      <span class="num few">{n(row.compactions)}</span>
      <span class="num few date">{when(row.updated)}</span>
    </a>
  );
}
