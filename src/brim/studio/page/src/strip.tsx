// The strip over a session: the tokens of each step by category, with the budget, the warning line and the events. A
// click selects a step.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { Chip, type Key, keys } from "./categories";
import { n, plural } from "./parts";
import { params, stepLink } from "./route";
import type { Mark, Point, Timeline } from "./types";

const ORDER = ["system", "tools", "fields", "memory", "summary", "pinned", "user", "assistant", "tool results", "framing", "unattributed", "not in the log", "messages"];
const SIGNS: Record<string, string> = { compaction: "C", sub_tick: "S", warning: "W", overflow: "!", iteration: "I" };
const EVENTS: Record<string, string> = { compaction: "compaction", sub_tick: "sub-tick", warning: "warning", overflow: "refused as too long", iteration: "iteration" };
/** Where an event stands: a compaction comes before its step, a warning at it, any other event after it. */
const PLACES: Record<string, number> = { compaction: -1, warning: -0.5 };

export function Strip({ loaded, step }: { loaded: Timeline; step: number }) {
  const names = useMemo(() => [...new Set(loaded.points.flatMap((point) => Object.keys(point.categories)))].sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b)), [loaded]);
  const colours = keys(names);
  return (
    <section class="card strip" aria-label="Timeline">
      <ul class="legend">
        {names.map((name) => (
          <li key={name}><Chip at={colours.get(name)} /> {name}</li>
        ))}
        <li><span class="line brim" aria-hidden="true" /> budget {n(loaded.lines.budget)}</li>
        {loaded.lines.warning > 0 && <li><span class="line warn" aria-hidden="true" /> warning line</li>}
        {[...new Set(loaded.marks.map((mark) => mark.kind))].map((kind) => (
          <li key={kind}><span class={`sign ${kind} small`} aria-hidden="true">{SIGNS[kind]}</span> {EVENTS[kind]}</li>
        ))}
      </ul>
      <Plot loaded={loaded} names={names} colours={colours} step={step} />
    </section>
  );
}

interface PlotProps {
  loaded: Timeline;
  names: string[];
  colours: Map<string, Key>;
  step: number;
}

function Plot({ loaded, names, colours, step }: PlotProps) {
  const { points, marks, lines } = loaded;
  const over = useSignal<number | null>(null);
  const most = Math.max(1, ...points.map((point) => point.used));
  const budgets = points.map((point) => point.budget);
  // Prompts far below their budget fill the strip; the budget is only in the legend then.
  const top = most < 0.25 * Math.max(...budgets) ? most * 1.1 : Math.max(most, ...budgets) * 1.08;
  const y = (units: number) => (100 * (1 - units / top)).toFixed(2);
  const drawn = useMemo(() => {
    const paths = new Map<string, string>();
    points.forEach((point, i) => {
      let below = 0;
      for (const name of names) {
        const units = point.categories[name] ?? 0;
        if (units) paths.set(name, `${paths.get(name) ?? ""}M${i} ${y(below)}V${y(below + units)}h1V${y(below)}z`);
        below += units;
      }
    });
    return paths;
  }, [loaded]);
  const at = (event: MouseEvent & { currentTarget: Element }) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return Math.min(points.length - 1, Math.max(0, Math.floor((points.length * (event.clientX - left)) / width)));
  };
  const to = (number: number) => stepLink(loaded.id, number, { tab: params.peek().get("tab"), find: params.peek().get("find") });
  const line = (units: number[]) => units.map((each, i) => `${i ? "L" : "M"}${i} ${y(each)}H${i + 1}`).join("");
  const point = over.value === null ? undefined : points[over.value];
  return (
    <div class="plot">
      <svg
        viewBox={`0 0 ${points.length} 100`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`The size of ${plural(points.length, "step")} by category; step ${step} is selected`}
        onMouseMove={(event) => (over.value = at(event))}
        onMouseLeave={() => (over.value = null)}
        onClick={(event) => (location.hash = to(at(event) + 1))}
      >
        {[...drawn].map(([name, path]) => <path key={name} d={path} style={{ fill: colours.get(name)!.colour }} class="layer" />)}
        <path d={line(budgets)} class="brim" />
        {lines.warning > 0 && <path d={`M0 ${y(lines.warning)}H${points.length}`} class="warn" />}
        <rect x={step - 1} y="0" width="1" height="100" class="selected" />
      </svg>
      {marks.map((mark) => (
        <a key={`${mark.kind}${mark.number}`} class={`sign ${mark.kind}`} style={{ left: `${(100 * (mark.step + (PLACES[mark.kind] ?? 0))) / points.length}%` }} href={to(mark.step)} title={`step ${mark.step}: ${mark.text}`} aria-label={`${EVENTS[mark.kind] ?? mark.kind} at step ${mark.step}: ${mark.text}`}>
          {SIGNS[mark.kind] ?? "·"}
        </a>
      ))}
      <span class="axis top">{n(Math.round(top))}</span>
      <span class="axis">step 1</span>
      <span class="axis last">{n(points.length)}</span>
      {point && <Tip point={point} names={names} marks={marks} share={over.value! / points.length} />}
    </div>
  );
}

function Tip({ point, names, marks, share }: { point: Point; names: string[]; marks: Mark[]; share: number }) {
  const sizes = [...names].reverse().filter((name) => point.categories[name]).map((name) => `${name} ${n(point.categories[name])}`);
  const events = marks.filter((mark) => mark.step === point.step).map((mark) => `${EVENTS[mark.kind] ?? mark.kind}: ${mark.text}`);
  return (
    <div class="tip" style={share > 0.5 ? { right: `${102 - 100 * share}%` } : { left: `${100 * share + 3}%` }}>
      {[`step ${point.step}: ${n(point.used)} of ${n(point.budget)}`, ...sizes, ...events].join("\n")}
    </div>
  );
}
