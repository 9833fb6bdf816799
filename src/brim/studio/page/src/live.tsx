// Live: the traffic of the gateways that write to this store, read from the store.
import { useView } from "./api";
import { Bar, Empty, Head, n, plural, Problem, shown, Waiting, when } from "./parts";
import { go, params, stepLink } from "./route";

interface Request {
  gateway: string;
  id: string;
  at: number;
  route: string;
  model: string;
  status: number;
  refused?: boolean;
  stream?: boolean;
  before?: number | null;
  after?: number | null;
  budget?: number | null;
  method?: string | null;
  policy?: string;
  edits?: number;
  session?: string;
  cut?: number;
  reason?: string;
  passed?: string;
  retried?: boolean;
  overhead_ms?: number;
  first_ms?: number;
  /** The step of its conversation, if its prompt was recorded. */
  step?: number | null;
}

interface One {
  running: boolean;
  address: string;
  since: number;
  written: number;
  ends: Record<string, number>;
}

interface Loaded {
  gateways: One[];
  requests: Request[];
}

const ms = (value: number | null | undefined) => (value === null || value === undefined ? "unknown" : `${value.toFixed(value < 10 ? 2 : 0)} ms`);

export function Live() {
  const { value, problem } = useView<Loaded>("gateway");
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  if (!value.gateways.length)
    return (
      <Empty>
        <h1>No gateway traffic yet</h1>
        <p><code>brim gateway --upstream URL --store sqlite:///brim.db</code> records its traffic as numbers and names, without texts.</p>
      </Empty>
    );
  const words = (params.value.get("text") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const only = params.value.get("only") ?? "";
  const rows = value.requests.filter(
    (each) =>
      (only !== "cut" || !!each.edits) &&
      (only !== "wrong" || each.status >= 400) &&
      words.every((word) => `${each.id} ${each.route} ${each.model} ${each.status} ${each.gateway} ${each.session ?? ""}`.toLowerCase().includes(word)),
  );
  const most = Math.max(1, ...value.requests.map((each) => each.before ?? 0));
  const open = params.value.get("request");
  const one = value.requests.find((each) => each.id === open);
  return (
    <>
      <Head title="Live">
        <p class="lead">
          {plural(value.gateways.length, "gateway")}, the newest {plural(value.requests.length, "request")}
        </p>
      </Head>
      {value.gateways.map((each) => <Sums one={each} key={each.address} />)}
      <section class="card" aria-label="Newest requests">
        <div class="tools">
          <input type="search" class="grow" data-search placeholder="Id, conversation, route, model, status  ( / )" aria-label="Search requests" value={params.value.get("text") ?? ""} onInput={(event) => go("live", { text: event.currentTarget.value }, true)} />
          <select aria-label="Which requests" value={only} onChange={(event) => go("live", { only: event.currentTarget.value }, true)}>
            <option value="">all requests</option>
            <option value="cut">shortened requests</option>
            <option value="wrong">failed requests</option>
          </select>
        </div>
        <div class="long" tabIndex={0} role="region" aria-label="Requests">
          {rows.map((each) => (
            <div key={each.id} class={`row${each.id === open ? " on" : ""}`}>
              <span class="num date">{when(each.at)}</span>
              <button data-row class="plain what clip" aria-pressed={each.id === open} onClick={() => go("live", { request: each.id === open ? null : each.id }, true)}>
                <span class={`badge ${each.status < 400 ? "good" : "dropped"}`}>{each.refused ? "refused " : ""}{each.status}</span> <b>{each.model || "unknown model"}</b> {each.route}{" "}
                {!!each.edits && <span class="badge warn">{plural(each.edits, "edit")}</span>} {each.stream && <span class="badge">stream</span>}{" "}
                <span class="soft">{each.overhead_ms !== undefined && `${ms(each.overhead_ms)} added`}</span>
              </button>
              {each.session && <a class="clip" href={stepLink(each.session, each.step ?? null)}>{short(each.session)}{each.step != null && `, step ${each.step}`}</a>}
              <Bar part={each.after ?? each.before ?? 0} whole={most} />
              <span class="num">{each.before === undefined || each.before === null ? "not counted" : n(each.before)}<small>{each.edits ? ` to ${n(each.after)}` : ""}</small></span>
            </div>
          ))}
        </div>
        {rows.length === 0 && <p class="soft">No match in the newest {n(value.requests.length)} requests.</p>}
        {one && <Detail each={one} />}
      </section>
    </>
  );
}

function Sums({ one }: { one: One }) {
  const all = Object.values(one.ends).reduce((sum, each) => sum + each, 0);
  const wrong = Object.entries(one.ends).filter(([name]) => name !== "ok");
  return (
    <section class="card" aria-label={one.address}>
      <dl class="facts">
        <div><dt>{one.running ? "listens on" : "listened on"}</dt><dd>{one.address} <span class={`badge ${one.running ? "good" : "dropped"}`}>{one.running ? "running" : "stopped"}</span></dd></div>
        <div><dt>requests since {when(one.since)}</dt><dd>{n(all)}</dd></div>
        <div><dt>succeeded</dt><dd>{n(one.ends.ok ?? 0)}</dd></div>
        <div><dt>failed</dt><dd>{wrong.length ? wrong.map(([name, count]) => `${n(count)} ${name.replaceAll("_", " ")}`).join(", ") : "none"}</dd></div>
        <div><dt>newest request</dt><dd>{when(one.written)}</dd></div>
      </dl>
    </section>
  );
}

const short = (name: string) => (name.length <= 28 ? name : `…${name.slice(-16)}`);

/** Names of the fields of a request, where they are not words. */
const FIELDS: Record<string, string> = { at: "when", before: "tokens received", after: "tokens sent", method: "counted by", edits: "messages edited", session: "conversation", cut: "number of its cut", passed: "passed through unchanged", overhead_ms: "added latency", first_ms: "time to the first byte" };
const WRITTEN: Record<string, (value: number) => string> = { at: when, overhead_ms: ms, first_ms: ms };

function Detail({ each }: { each: Request }) {
  const fields = Object.entries(each).filter(([name, value]) => value !== null && value !== "" && name !== "step");
  return (
    <section class="card panel" aria-label="One request">
      <div class="tools">
        <h2>Request</h2>
        <button onClick={() => go("live", { request: null }, true)}>Close</button>
        {each.session && each.step != null && <a class="button" href={stepLink(each.session, each.step)}>Open its prompt, step {each.step}</a>}
      </div>
      {each.session && each.step == null && <p class="soft">Its prompt was not recorded. Only shortened requests are recorded, and their texts only with <code>session.capture: true</code>.</p>}
      <dl class="facts many">
        {fields.map(([name, value]) => <div key={name}><dt>{FIELDS[name] ?? name}</dt><dd>{WRITTEN[name]?.(value as number) ?? shown(value)}</dd></div>)}
      </dl>
    </section>
  );
}
