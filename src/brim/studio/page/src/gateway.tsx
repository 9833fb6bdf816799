// Gateway: the traffic of the gateways that write to this store, read from the store.
import { useEffect, useMemo } from "preact/hooks";
import { load } from "./api";
import { Bar, Empty, Head, Long, n, plural, Problem, shown, Waiting, when } from "./parts";
import { params, go, promptLink } from "./route";

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
  newest: number;
  overhead_ms: { p50: number | null; p99: number | null };
}

interface Talk {
  id: string;
  key: string;
  model: string;
  updated: number;
  before: number | null;
  used: number;
  budget: number | null;
  window: number | null;
  cuts: number;
}

interface Loaded {
  gateways: One[];
  requests: Request[];
  sessions: Talk[];
  settings: Record<string, unknown>;
}

const ms = (value: number | null | undefined) => (value === null || value === undefined ? "unknown" : `${value.toFixed(value < 10 ? 2 : 0)} ms`);

export function Gateway() {
  const found = useMemo(() => load<Loaded>(() => ({ view: "gateway" })), []);
  useEffect(() => found.stop, [found]);
  const { value, problem } = found.state.value;
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  if (!value.gateways.length && !value.sessions.length)
    return (
      <Empty>
        <h1>No gateway traffic yet</h1>
        <p><code>brim gateway --upstream URL --store sqlite:///brim.db</code> records its traffic: numbers and names, never texts.</p>
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
      <Head title="Gateway">
        <p class="lead">
          {value.gateways.map((each) => `${each.address} (${each.running ? "running" : "stopped"})`).join(", ") || "a gateway"} · policy {shown(value.settings.policy)}
        </p>
      </Head>
      {value.gateways.map((each) => <Sums one={each} key={each.address} />)}
      {value.sessions.length > 0 && <Talks talks={value.sessions} />}
      <section class="card" aria-label="Newest requests">
        <div class="tools">
          <input type="search" class="grow" data-search placeholder="Id, conversation, route, model, status  ( / )" aria-label="Search requests" value={params.value.get("text") ?? ""} onInput={(event) => go("gateway", { text: event.currentTarget.value }, true)} />
          <select aria-label="Which requests" value={only} onChange={(event) => go("gateway", { only: event.currentTarget.value }, true)}>
            <option value="">all requests</option>
            <option value="cut">shortened requests</option>
            <option value="wrong">failed requests</option>
          </select>
        </div>
        <Long
          items={rows}
          height={52}
          label="Requests"
          row={(each) => (
            <button data-row class={`row${each.id === open ? " on" : ""}`} aria-pressed={each.id === open} onClick={() => go("gateway", { request: each.id === open ? null : each.id }, true)}>
              <span class="what">
                <div>
                  <span class={`badge ${each.status < 400 ? "good" : "dropped"}`}>{each.refused ? "refused " : ""}{each.status}</span>{" "}
                  <b>{each.route}</b> {each.model}{" "}
                  {!!each.edits && <span class="badge warn">{plural(each.edits, "edit")}</span>}{" "}
                  {!!each.cut && <span class="badge warn">cut {each.cut}</span>}{" "}
                  {each.stream && <span class="badge">stream</span>}
                </div>
                <span class="clip soft">{when(each.at)} · {each.id}{each.overhead_ms !== undefined ? ` · ${ms(each.overhead_ms)} added` : ""}</span>
              </span>
              <span class="bars" aria-hidden="true"><Bar part={each.before ?? 0} whole={most} colour="var(--spill)" /><Bar part={each.after ?? 0} whole={most} /></span>
              <span class="num">{each.before === undefined || each.before === null ? "not counted" : n(each.before)}<small>{each.edits ? ` to ${n(each.after)}` : ""}</small></span>
            </button>
          )}
        />
        {rows.length === 0 && <p class="soft">None of the newest {n(value.requests.length)}.</p>}
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
        <div><dt>time added, p50</dt><dd>{ms(one.overhead_ms.p50)}</dd></div>
        <div><dt>time added, p99</dt><dd>{ms(one.overhead_ms.p99)}</dd></div>
        <div><dt>newest request</dt><dd>{when(one.written)}</dd></div>
      </dl>
      <p class="soft">p50 and p99 of the newest {n(one.newest)} requests.</p>
    </section>
  );
}

function Talks({ talks }: { talks: Talk[] }) {
  return (
    <section class="card" aria-label="Conversations">
      <h2>Conversations that were cut</h2>
      <div class="scroll">
        <table class="wide">
          <thead>
            <tr><th>conversation</th><th>model</th><th class="num">received</th><th class="num">sent</th><th class="num">budget</th><th class="num">window</th><th class="num">cuts</th><th>last request</th></tr>
          </thead>
          <tbody>
            {talks.map((each) => (
              <tr key={each.id}>
                <th scope="row">
                  <a href={promptLink(each.id, null)} title={`The last prompt of ${each.id}`}>{short(each.id)}</a>
                  {each.key && <span class="soft"> {each.key}</span>}
                </th>
                <td data-name="model">{each.model || "unknown"}</td>
                <td class="num" data-name="received">{n(each.before)}</td>
                <td class="num" data-name="sent">{n(each.used)}</td>
                <td class="num" data-name="budget">{n(each.budget)}</td>
                <td class="num" data-name="window">{n(each.window)}</td>
                <td class="num" data-name="cuts">{n(each.cuts)}</td>
                <td data-name="last request">{when(each.updated)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

const short = (name: string) => (name.length <= 24 ? name : `…${name.slice(-12)}`);

function Detail({ each }: { each: Request }) {
  const facts: [string, string][] = [
    ["id", each.id],
    ["when", when(each.at)],
    ["gateway", each.gateway],
    ["route", each.route],
    ["model", each.model || "unknown"],
    ["status", `${each.status}${each.refused ? `, refused by the gateway: ${(each.reason ?? "unknown").replaceAll("_", " ")}` : ""}`],
    ["conversation", each.session || "none"],
    ["cut of its conversation", each.cut ? `number ${n(each.cut)}, made by this request` : each.edits ? "the one before, held" : "none"],
    ["policy", each.policy ?? "unknown"],
    ["tokens received", n(each.before)],
    ["tokens sent", n(each.after)],
    ["budget", n(each.budget)],
    ["counted by", each.method ?? "not counted"],
    ["messages edited", n(each.edits)],
    ["retried with fewer tokens", each.retried ? "yes" : "no"],
    ["passed through unchanged", each.passed || "no"],
    ["time added", ms(each.overhead_ms)],
    ["time to the first byte", ms(each.first_ms)],
  ];
  return (
    <section class="card panel" aria-label="One request">
      <div class="tools">
        <h2>Request</h2>
        <button onClick={() => go("gateway", { request: null }, true)}>Close</button>
        {each.session && each.step != null && <a class="button" href={promptLink(each.session, each.step)}>See its prompt, step {each.step}</a>}
      </div>
      {each.session && each.step == null && <p class="soft">Its prompt was not recorded: only requests that are cut are, and their texts only with <code>session.capture: true</code>.</p>}
      <dl class="facts many">{facts.map(([name, loaded]) => <div key={name}><dt>{name}</dt><dd>{loaded}</dd></div>)}</dl>
    </section>
  );
}
