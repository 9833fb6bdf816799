// What a session wastes or has lost: what it costs, and the setting that fixes it.
import { Changed, useChange } from "./change";
import { dollars, n } from "./parts";
import { stepLink } from "./route";
import type { Insight } from "./types";

export function Advice({ insights, session }: { insights: Insight[]; session: string }) {
  if (!insights.length) return <section class="card"><p>No waste was found: no repeated result, no unused tools, no broken cache.</p></section>;
  return <>{insights.map((each) => <Hint key={each.title} insight={each} session={session} />)}</>;
}

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
