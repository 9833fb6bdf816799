// The cache at each step: how many tokens could have been read from it, how many were, and why not all.
import { useView } from "./api";
import { Bar, dollars, Long, n, plural, Problem, share, Waiting } from "./parts";
import { go, params, stepLink } from "./route";
import type { Session } from "./types";

interface Call {
  step: number;
  same: number | null;
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
}

const NAMES: Record<string, string> = {
  first: "first call",
  tools: "tools changed",
  system: "system prompt changed",
  compacted: "compacted",
  moved: "start changed",
  minimum: "too short to cache",
  expired: "expired",
  missed: "not read",
  cached: "cached",
  unknown: "not reported",
};
const FINE = ["cached", "first"];

export function CacheTab({ session, step }: { session: string; step: number }) {
  const { value, problem } = useView<Loaded>("cache", { session });
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  const only = params.value.get("why");
  const rows = value.calls.filter((call) => !only || call.why === only);
  rows.sort((a, b) => (b.lost_usd ?? 0) - (a.lost_usd ?? 0) || b.lost - a.lost || b.step - a.step);
  const one = value.calls.find((call) => call.step === step);
  const { sums } = value;
  return (
    <>
      {one && <One call={one} />}
      <section class="card" aria-label="All steps">
        <div class="tools">
          <h2>All steps</h2>
          <p class="soft">
            {sums.known
              ? `${n(sums.actual)} ${value.status.unit} read from the cache${sums.expected ? `, of ${n(sums.expected)} available (${share(sums.actual, sums.expected)})` : ""}, in ${plural(sums.known, "step")}`
              : `${plural(sums.calls, "step")}; the provider reported no cached tokens`}
            {sums.lost > 0 && ` · missed: ${n(sums.lost)} ${value.status.unit}, ${dollars(sums.lost_usd)}`}
            {sums.ends > 0 && ` · ${n(sums.ends)} at the ends of prompts, too short to be stored`}
          </p>
        </div>
        <ul class="reasons" aria-label="Reasons">
          {sums.why.map((each) => (
            <li key={each.name}>
              <button aria-pressed={only === each.name} onClick={() => go("session", { why: only === each.name ? null : each.name }, true)}>
                {NAMES[each.name] ?? each.name} <small>{plural(each.calls, "step")}{each.lost > 0 ? `, ${n(each.lost)} missed, ${dollars(each.lost_usd)}` : ""}</small>
              </button>
            </li>
          ))}
        </ul>
        <Long
          items={rows}
          height={32}
          label="Steps"
          row={(call) => (
            <a data-row class={`row call${call.step === step ? " on" : ""}`} aria-current={call.step === step ? "true" : undefined} href={stepLink(session, call.step, { tab: "cache", why: only })}>
              <span class="what clip">
                <span class={`badge ${FINE.includes(call.why) ? "good" : "warn"}`}>{NAMES[call.why] ?? call.why}</span> <b>step {call.step}</b> <span class="soft">{call.text}</span>
              </span>
              <Bar part={call.actual ?? 0} whole={call.used} colour="var(--cached)" />
              <span class="num">
                {call.lost > 0 ? dollars(call.lost_usd) : ""} <small>{call.actual === null ? "not reported" : call.expected ? `${n(call.actual)} of ${n(call.expected)} read` : `${n(call.actual)} read`}</small>
              </span>
            </a>
          )}
        />
      </section>
    </>
  );
}

function One({ call }: { call: Call }) {
  return (
    <section class="card" aria-label="This step">
      <div class="tools">
        <h2><span class={`badge ${FINE.includes(call.why) ? "good" : "warn"}`}>{NAMES[call.why] ?? call.why}</span> {call.text}</h2>
      </div>
      <dl class="facts many">
        <div><dt>prompt</dt><dd>{n(call.used)}</dd></div>
        <div><dt>unchanged start</dt><dd>{n(call.same)}</dd></div>
        <div><dt>in the cache</dt><dd>{n(call.expected)}</dd></div>
        <div><dt>read from the cache</dt><dd>{n(call.actual)}</dd></div>
        <div><dt>missed</dt><dd>{n(call.lost)}</dd></div>
        <div><dt>extra cost</dt><dd>{dollars(call.lost_usd)}</dd></div>
      </dl>
      {call.difference ? (
        <>
          <h3>
            The first difference: {call.difference.index === null ? call.difference.role : `message ${call.difference.index + 1} (${call.difference.role})`}, character {n(call.difference.offset)}
          </h3>
          <div class="beside">
            <div><h4>previous prompt</h4><pre tabIndex={0}>{call.difference.before}</pre></div>
            <div><h4>this prompt</h4><pre tabIndex={0}>{call.difference.after}</pre></div>
          </div>
        </>
      ) : (
        <p class="soft">No message differs from the previous prompt, or the texts were not recorded: capture=True records them.</p>
      )}
    </section>
  );
}
