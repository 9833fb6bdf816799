// Cache doctor: for each call, the tokens that could have been cached, those that were, and why fewer.
import { useEffect, useMemo } from "preact/hooks";
import { load } from "./api";
import { Bar, dollars, Empty, Head, Long, n, plural, Problem, share, Waiting, when } from "./parts";
import { params, go, promptLink } from "./route";
import type { Session } from "./types";

interface Call {
  step: number;
  same: number | null;
  at: number;
  used: number;
  expected: number;
  actual: number | null;
  lost: number;
  lost_usd: number | null;
  why: string;
  text: string;
  difference: { index: number | null; role: string; offset: number; before: string; after: string } | null;
}

interface Loaded extends Session {
  calls: Call[];
  sums: { calls: number; known: number; expected: number; actual: number; used: number; lost: number; ends: number; lost_usd: number | null; why: { name: string; calls: number; lost: number; lost_usd: number }[] };
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

export function CacheDoctor({ session }: { session: string | null }) {
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
  const inOrder = params.value.get("order") === "steps";
  const rows = value.calls.filter((call) => !only || call.why === only);
  if (!inOrder) rows.sort((a, b) => (b.lost_usd ?? 0) - (a.lost_usd ?? 0) || b.lost - a.lost || b.step - a.step);
  const step = Number(params.value.get("call") ?? NaN);
  const one = value.calls.find((call) => call.step === step);
  const { sums } = value;
  return (
    <>
      <Head title={value.id}>
        <p class="lead">
          {sums.known
            ? `${n(sums.actual)} ${value.status.unit} were read from the cache${sums.expected ? `, of ${n(sums.expected)} that it had (${share(sums.actual, sums.expected)})` : ""}, in ${plural(sums.known, "step")}`
            : `${plural(sums.calls, "step")}; the provider reported no cached tokens`}
          {sums.lost > 0 && ` · missed: ${n(sums.lost)} ${value.status.unit}, ${dollars(sums.lost_usd)}`}
          {sums.ends > 0 && ` · ${n(sums.ends)} at the ends of prompts, shorter than the cache stores`}
        </p>
      </Head>
      <section class="card" aria-label="Reasons">
        <h2>Why</h2>
        <ul class="reasons">
          {sums.why.map((each) => (
            <li key={each.name}>
              <button aria-pressed={only === each.name} onClick={() => go("cache", { why: only === each.name ? null : each.name, call: null }, true)}>
                {NAMES[each.name] ?? each.name} <small>{plural(each.calls, "step")}{each.lost > 0 ? `, ${n(each.lost)} missed, ${dollars(each.lost_usd)}` : ""}</small>
              </button>
            </li>
          ))}
        </ul>
      </section>
      {one && <One call={one} session={value.id} />}
      <section class="card" aria-label="Steps">
        <div class="tools">
          <h2>Each step</h2>
          <select aria-label="Order" value={inOrder ? "steps" : ""} onChange={(event) => go("cache", { order: event.currentTarget.value }, true)}>
            <option value="">most money lost first</option>
            <option value="steps">newest first</option>
          </select>
        </div>
        <Long
          items={rows}
          height={52}
          label="Steps"
          row={(call) => (
            <button data-row class={`row call${call.step === step ? " on" : ""}`} aria-pressed={call.step === step} onClick={() => go("cache", { call: call.step === step ? null : String(call.step) }, true)}>
              <span class="what">
                <div>
                  <span class={`badge ${FINE.includes(call.why) ? "good" : "warn"}`}>{NAMES[call.why] ?? call.why}</span> <b>step {call.step}</b>
                </div>
                <span class="clip soft">{value.kind === "file" ? "" : `${when(call.at)} · `}{call.text}</span>
              </span>
              <Bar part={call.actual ?? 0} whole={call.used} colour="var(--cached)" />
              <span class="num">
                {call.lost > 0 ? dollars(call.lost_usd) : ""} <small>{call.actual === null ? "not reported" : call.expected ? `${n(call.actual)} of ${n(call.expected)} read` : `${n(call.actual)} read`}</small>
              </span>
            </button>
          )}
        />
      </section>
    </>
  );
}

function One({ call, session }: { call: Call; session: string }) {
  return (
    <section class="card" aria-label="One step">
      <div class="tools">
        <h2>Step {call.step}</h2>
        <a class="button" href={promptLink(session, call.step)}>See its prompt</a>
        {call.step > 1 && <a class="button" href={promptLink(session, call.step, { diff: call.step - 1 })}>What changed since step {call.step - 1}</a>}
      </div>
      <p>{call.text}</p>
      <dl class="facts many">
        <div><dt>prompt</dt><dd>{n(call.used)}</dd></div>
        <div><dt>same as the step before</dt><dd>{n(call.same)}</dd></div>
        <div><dt>the cache had</dt><dd>{n(call.expected)}</dd></div>
        <div><dt>read from it</dt><dd>{n(call.actual)}</dd></div>
        <div><dt>missed</dt><dd>{n(call.lost)}</dd></div>
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
