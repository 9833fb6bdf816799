// The tokens of a step by category, how to reduce each, and problems of the session.
import { Changed, useChange } from "./change";
import { Bar, dollars, n, share } from "./parts";
import { go, link, stepLink } from "./route";
import { sumsOf } from "./sent";
import type { Insight, Prompt } from "./types";
import { Chip, type Key } from "./categories";

/** How to reduce each category, and the setting for it, if there is one. */
const FREES: Record<string, [string, string?]> = {
  system: ["a shorter system prompt"],
  tools: ["fewer tools, or shorter descriptions", "prompt.tools.keep"],
  memory: ["a lower limit for the memory", "session.memory_limit"],
  pinned: ["removing a pin, under Left out"],
  summary: ["a smaller share for the summary", "compaction.summary_share"],
  user: ["a smaller budget, which shortens the oldest turns first", "window.limit"],
  assistant: ["a smaller budget, which shortens the oldest turns first", "window.limit"],
  "tool results": ["a lower limit for each new result", "session.tool_limit"],
  section: ["a lower ceiling or priority of the section"],
  framing: ["fewer messages: each one has this overhead"],
  "not in the log": ["unknown: the provider counted this text, but the log does not have it"],
};

interface Props {
  loaded: Prompt;
  colours: Map<string, Key>;
  insights: Insight[];
}

export function Fills({ loaded, colours, insights }: Props) {
  const sums = sumsOf(loaded.rows);
  const [used, budget] = [loaded.used ?? 0, loaded.budget ?? loaded.used ?? 1];
  const rows = [...sums].sort((a, b) => b[1] - a[1]);
  const cost = (units: number) => (loaded.cost_usd === null || !used ? "" : dollars((loaded.cost_usd * units) / used));
  const open = (name: string) => go("session", { tab: null, part: name });
  return (
    <>
      {insights.map((each) => <Hint key={each.title} insight={each} session={loaded.session} />)}
      <section class="card" aria-label="Tokens by category">
        <table class="wide">
          <thead>
            <tr><th>category</th><th class="num">{loaded.unit}</th><th class="num">of the budget</th><th /><th class="num">cost</th><th>reduced by</th></tr>
          </thead>
          <tbody>
            {rows.map(([name, units]) => {
              const [text, key] = FREES[name] ?? FREES.section!;
              return (
                <tr key={name}>
                  <th scope="row">
                    <button class="plain" onClick={() => open(name)} title="Show these parts">
                      <Chip at={colours.get(name)} /> {name}
                    </button>
                  </th>
                  <td class="num" data-name={loaded.unit}>{n(units)}</td>
                  <td class="num" data-name="of the budget">{share(units, budget)}</td>
                  <td><Bar part={units} whole={budget} colour={colours.get(name)?.colour ?? "var(--water)"} /></td>
                  <td class="num" data-name="cost">{cost(units)}</td>
                  <td class="soft" data-name="reduced by">{key ? <a href={link("settings", { key })} title={key}>{text}</a> : text}</td>
                </tr>
              );
            })}
            <tr class="sum"><th scope="row">sum</th><td class="num">{n(used)}</td><td class="num">{share(used, budget)}</td><td /><td class="num">{cost(used)}</td><td /></tr>
            {budget > used && <tr><th scope="row"><span class="chip free" aria-hidden="true" /> free</th><td class="num">{n(budget - used)}</td><td class="num">{share(budget - used, budget)}</td><td /><td /><td /></tr>}
          </tbody>
        </table>
      </section>
    </>
  );
}

/** A problem of the session: what it costs, and the setting that fixes it. */
function Hint({ insight: each, session }: { insight: Insight; session: string }) {
  const change = useChange();
  return (
    <section class="card hint-card" aria-label={each.title}>
      <div class="tools">
        <h2>{each.title}</h2>
        <span class="num soft">
          {each.tokens !== null && `${n(each.tokens)} tokens`} {each.cost_usd !== null && `· ${dollars(each.cost_usd)}`}
        </span>
        {each.step !== null && <a href={stepLink(session, each.step)}>step {each.step}</a>}
        {each.key && <button onClick={() => void change.look(each.key!, each.value)}>Change it…</button>}
      </div>
      <p>{each.detail} <span class="soft">{each.do}</span></p>
      <Changed change={change} />
    </section>
  );
}
