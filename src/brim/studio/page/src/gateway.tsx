// Gateway: the requests that were too long, as they came and as they went.
import { useEffect, useMemo } from "preact/hooks";
import { load } from "./api";
import { Bar, Empty, Head, n, Problem, shown, Waiting, when } from "./parts";
import type { Session } from "./types";

interface Request {
  talk: string;
  at: number;
  model: string;
  before: number | null;
  used: number;
  budget: number;
  unit: string;
  exact: boolean;
  messages: number;
  truncated: boolean;
}

interface Told {
  talks: (Request & { id: string; updated: number; requests: number })[];
  requests: Request[];
  settings: Record<string, unknown>;
}

export function Gateway(_: { sessions: Session[]; session: string | null }) {
  const found = useMemo(() => load<Told>(() => ({ view: "gateway" })), []);
  useEffect(() => found.stop, [found]);
  const { value, problem } = found.state.value;
  if (problem) return <Problem told={problem} />;
  if (!value) return <Waiting />;
  if (!value.talks.length)
    return (
      <Empty>
        <h1>No gateway traffic yet</h1>
        <p><code>brim gateway --upstream URL --store sqlite:///brim.db</code> writes down what it had to cut.</p>
      </Empty>
    );
  const most = Math.max(1, ...value.requests.map((each) => each.before ?? each.used));
  return (
    <>
      <Head title="Gateway">
        <p class="lead">
          {value.talks.length} conversations that were cut · policy {shown(value.settings.policy)} · upstream {shown(value.settings.upstream)}
        </p>
      </Head>
      <section class="card">
        <h2>Newest requests</h2>
        <div class="scroll tall" tabIndex={0} role="region" aria-label="Requests">
          <table class="wide">
            <thead><tr><th>conversation</th><th>model</th><th class="num">came</th><th class="num">went</th><th class="num">brim</th><th>before and after</th><th>when</th></tr></thead>
            <tbody>
              {value.requests.map((each, i) => (
                <tr key={i}>
                  <th scope="row">{each.talk}</th>
                  <td data-name="model">{each.model} <span class={`badge ${each.exact ? "good" : "soft"}`}>{each.exact ? "exact" : "estimated"}</span></td>
                  <td class="num" data-name="came">{n(each.before)}</td>
                  <td class="num" data-name="went">{n(each.used)}</td>
                  <td class="num" data-name="brim">{n(each.budget)}</td>
                  <td class="bars"><Bar part={each.before ?? each.used} whole={most} colour="var(--spill)" /><Bar part={each.used} whole={most} /></td>
                  <td class="soft" data-name="when">{when(each.at)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </section>
    </>
  );
}
