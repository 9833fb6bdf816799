// Cache doctor: for each call, the tokens that could have been cached, those that were, and why fewer.
import { useEffect, useMemo } from "preact/hooks";
import { load } from "./api";
import { Bar, dollars, Empty, Head, Long, n, Problem, share, Waiting, when } from "./parts";
import { params, go } from "./route";
import type { Session } from "./types";

interface Call {
  number: number;
  at: number;
  used: number;
  expected: number | null;
  actual: number | null;
  lost: number;
  lost_usd: number | null;
  why: string;
  text: string;
  difference: { index: number | null; role: string; offset: number; before: string; after: string } | null;
}

interface Loaded extends Session {
  calls: Call[];
  sums: { calls: number; known: number; expected: number; actual: number; used: number; lost: number; lost_usd: number | null; why: { name: string; calls: number; lost: number }[] };
  reasons: Record<string, string>;
}

const NAMES: Record<string, string> = {
  first: "first call",
  tools: "tools changed",
  system: "system prompt changed",
  compacted: "compacted",
  moved: "start changed",
  minimum: "too short to cache",
  expired: "expired",
  missed: "not found",
  cached: "cached",
  unknown: "not reported",
};
const FINE = ["cached", "first"];

export function CacheDoctor({ session }: { sessions: Session[]; session: string | null }) {
  const found = useMemo(() => load<Loaded>(() => (session ? { view: "cache", fields: { session } } : null)), [session]);
  useEffect(() => found.stop, [found]);
  const { value, problem, loading } = found.state.value;
  if (problem) return <Problem text={problem} />;
  if (!session || (!loading && !value?.calls.length))
    return (
      <Empty>
        <h1>No calls yet</h1>
        <p>
          A session knows how much of each prompt repeats the one before; <code>session.record_usage(answer)</code> records what the provider found.
        </p>
      </Empty>
    );
  if (!value) return <Waiting />;
  const only = params.value.get("why");
  const rows = value.calls.filter((call) => !only || call.why === only);
  const number = Number(params.value.get("call") ?? NaN);
  const one = value.calls.find((call) => call.number === number);
  const { sums } = value;
  return (
    <>
      <Head title={value.id}>
        <p class="lead">
          {sums.known
            ? `${n(sums.actual)} of ${n(sums.expected)} ${value.status.unit} that could be cached were found (${share(sums.actual, sums.expected)}), in ${n(sums.known)} calls`
            : `${n(sums.calls)} calls; no cached tokens were reported`}
          {sums.lost > 0 && ` · not cached: ${n(sums.lost)} ${value.status.unit}, ${dollars(sums.lost_usd)}`}
        </p>
      </Head>
      <section class="card" aria-label="Reasons">
        <h2>Why</h2>
        <ul class="reasons">
          {sums.why.map((each) => (
            <li key={each.name}>
              <button aria-pressed={only === each.name} onClick={() => go("cache", { why: only === each.name ? null : each.name, call: null }, true)}>
                {NAMES[each.name] ?? each.name} <small>{n(each.calls)} {each.calls === 1 ? "call" : "calls"}{each.lost > 0 ? `, ${n(each.lost)} not cached` : ""}</small>
              </button>
            </li>
          ))}
        </ul>
      </section>
      {one && <One call={one} />}
      <section class="card" aria-label="Calls">
        <Long
          items={rows}
          height={52}
          label="Calls"
          row={(call) => (
            <button class={`row${call.number === number ? " on" : ""}`} aria-pressed={call.number === number} onClick={() => go("cache", { call: call.number === number ? null : String(call.number) }, true)}>
              <span class="what">
                <div>
                  <span class={`badge ${FINE.includes(call.why) ? "good" : "warn"}`}>{NAMES[call.why] ?? call.why}</span> <b>prompt {call.number}</b>
                </div>
                <span class="clip soft">{when(call.at)} · {call.text}</span>
              </span>
              <Bar part={call.actual ?? 0} whole={call.used} colour="var(--cached)" />
              <span class="num">
                {n(call.actual)}<small> of {n(call.expected)} expected</small>
              </span>
            </button>
          )}
        />
      </section>
    </>
  );
}

function One({ call }: { call: Call }) {
  return (
    <section class="card" aria-label="One call">
      <h2>Prompt {call.number}</h2>
      <p>{call.text}</p>
      <dl class="facts many">
        <div><dt>prompt</dt><dd>{n(call.used)}</dd></div>
        <div><dt>same as the one before</dt><dd>{n(call.expected)}</dd></div>
        <div><dt>cached</dt><dd>{n(call.actual)}</dd></div>
        <div><dt>not cached</dt><dd>{n(call.lost)}</dd></div>
        <div><dt>extra cost</dt><dd>{dollars(call.lost_usd)}</dd></div>
      </dl>
      {call.difference ? (
        <>
          <h3>
            The first difference: {call.difference.index === null ? call.difference.role : `message ${call.difference.index + 1} (${call.difference.role})`}, character {n(call.difference.offset)}
          </h3>
          <div class="beside">
            <div><h4>the prompt before</h4><pre tabIndex={0}>{call.difference.before}</pre></div>
            <div><h4>this prompt</h4><pre tabIndex={0}>{call.difference.after}</pre></div>
          </div>
        </>
      ) : (
        <p class="soft">No message differs from the prompt before, or the texts were not captured: a session with capture=True keeps them.</p>
      )}
    </section>
  );
}
