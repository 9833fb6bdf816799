// The difference between two prompts of a session, part by part and line by line.
import { useEffect, useMemo } from "preact/hooks";
import { load } from "./api";
import { n, plural, Problem, Waiting } from "./parts";
import { stepLink } from "./route";
import { Chip, type Key } from "./vessel";

interface Change {
  kind: "same" | "added" | "removed" | "changed";
  parts?: number;
  units: number;
  was?: number;
  category?: string;
  role?: string;
  name?: string;
  lines?: [string, string][];
}

interface Loaded {
  before: { session: string; step: number; used: number };
  after: { session: string; step: number; used: number };
  unit: string;
  changes: Change[];
  counts: Record<string, number>;
}

interface Props {
  session: string;
  step: number;
  other: string;
  colours: Map<string, Key>;
}

/** Lines of unchanged text that are shown around a change. */
const AROUND = 3;

export function Difference({ session, step, other, colours }: Props) {
  const found = useMemo(() => load<Loaded>(() => ({ view: "prompt_diff", fields: { session, step: String(step), other } })), [session, step, other]);
  useEffect(() => found.stop, [found]);
  const { value, problem } = found.state.value;
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  const { before, after, counts } = value;
  const grew = after.used - before.used;
  return (
    <section class="card difference" aria-label="Comparison">
      <div class="tools">
        <h2>
          From <a href={stepLink(before.session, before.step)}>step {before.step}</a> to step {after.step}
        </h2>
        <span class="soft">
          {plural(counts.added!, "part")} added, {n(counts.removed)} removed, {n(counts.changed)} changed · {n(before.used)} to {n(after.used)} {value.unit} ({grew < 0 ? "-" : "+"}
          {n(Math.abs(grew))})
        </span>
      </div>
      <ol class="text-parts">
        {value.changes.map((each, i) =>
          each.kind === "same" ? (
            <li key={i} class="same soft">
              {plural(each.parts!, "unchanged part")}, {n(each.units)} {value.unit}
            </li>
          ) : (
            <li key={i} class={`part ${each.kind}`} style={{ "--part": colours.get(each.category!)?.colour ?? "var(--glass)" }}>
              <div class="part-head">
                <Chip at={colours.get(each.category!)} />
                <b>{each.category === "summary" || each.category === "memory" ? each.category : each.role}</b> {each.name && <code>{each.name}</code>}
                <span class={`badge ${each.kind === "added" ? "good" : each.kind === "removed" ? "dropped" : "cut"}`}>{each.kind}</span>
                <span class="grow" />
                <span class="num">
                  {each.was !== undefined && <small>{n(each.was)} to </small>}
                  {n(each.units)}
                </span>
              </div>
              <pre tabIndex={0}>
                {(each.lines ?? []).map(([sign, text], at) => (sign === "-" ? <del key={at}>{text}</del> : sign === "+" ? <ins key={at}>{text}</ins> : <span key={at}>{around(text)}</span>))}
              </pre>
            </li>
          ),
        )}
      </ol>
    </section>
  );
}

/** Returns the first and last lines of unchanged text. */
function around(text: string): string {
  const lines = text.split("\n");
  if (lines.length <= 2 * AROUND + 1) return text;
  return [...lines.slice(0, AROUND), `… ${n(lines.length - 2 * AROUND)} unchanged lines …`, ...lines.slice(-AROUND)].join("\n");
}
