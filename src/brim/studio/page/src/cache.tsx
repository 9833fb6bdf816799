// The cache at a step: how many tokens could have been read from it, how many were, and why not all.
import { useView } from "./api";
import { dollars, n, plural, Problem, share, Waiting } from "./parts";
import { stepLink } from "./route";
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
  sums: { calls: number; known: number; expected: number; actual: number; lost: number; lost_usd: number | null };
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
/** The most steps in the list of the worst. */
const WORST = 8;

export function CacheTab({ session, step }: { session: string; step: number }) {
  const { value, problem } = useView<Loaded>("cache", { session });
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  const one = value.calls.find((call) => call.step === step);
  const worst = value.calls.filter((call) => call.lost).sort((a, b) => b.lost - a.lost).slice(0, WORST);
  const { sums, status } = value;
  return (
    <>
      {one && <One call={one} />}
      <section class="card" aria-label="All steps">
        <h2>All steps</h2>
        <p class="soft">
          {sums.known
            ? `${n(sums.actual)} ${status.unit} read from the cache${sums.expected ? `, of ${n(sums.expected)} available (${share(sums.actual, sums.expected)})` : ""}, in ${plural(sums.known, "step")}`
            : `${plural(sums.calls, "step")}; the provider reported no cached tokens`}
          {sums.lost > 0 && ` · missed: ${n(sums.lost)} ${status.unit}, ${dollars(sums.lost_usd)}`}
        </p>
        {worst.length > 0 && (
          <table class="wide">
            <tbody>
              {worst.map((call) => (
                <tr key={call.step} class={call.step === step ? "on" : ""}>
                  <th scope="row"><a data-row href={stepLink(session, call.step, { tab: "cache" })}>step {n(call.step)}</a></th>
                  <td class="num">{n(call.lost)} missed</td>
                  <td class="num">{dollars(call.lost_usd)}</td>
                  <td class="soft">{call.text}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
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
