// The strip over a session: the tokens of each step by category, with the budget, the warning line and the events. A
// click selects a step.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { n, plural } from "./parts";
import { params, stepLink } from "./route";
import type { Mark, Point, Timeline } from "./types";
import { Chip, keys } from "./categories";

const ORDER = ["system", "tools", "fields", "memory", "summary", "user", "assistant", "tool results", "framing", "unattributed"];
const SIGNS: Record<string, string> = { compaction: "C", sub_tick: "S", warning: "W", overflow: "!", iteration: "I" };
export const EVENTS: Record<string, string> = { compaction: "compaction", sub_tick: "sub-tick", warning: "warning line", overflow: "refused as too long", iteration: "iteration" };
/** Pixels of the strip. */
const HEIGHT = 150;

interface Layer {
  name: string;
  colour: string;
  of: (point: Point) => number;
}

export function Strip({ loaded, step }: { loaded: Timeline; step: number }) {
  const names = ORDER.filter((name) => loaded.points.some((point) => point.categories[name]));
  const colours = keys(names);
  const layers: Layer[] = names.length
    ? names.map((name) => ({ name, colour: colours.get(name)!.colour, of: (point) => point.categories[name] ?? 0 }))
    : [{ name: "prompt", colour: ink("--water"), of: (point) => point.used }];
  return (
    <section class="card strip" aria-label="Timeline">
      <ul class="legend">
        {layers.map((layer) => (
          <li key={layer.name}>{colours.has(layer.name) ? <Chip at={colours.get(layer.name)} /> : <span class="swatch" style={{ background: layer.colour }} aria-hidden="true" />} {layer.name}</li>
        ))}
        <li><span class="line brim" aria-hidden="true" /> budget {n(loaded.lines.budget)}</li>
        {[...new Set(loaded.marks.map((mark) => mark.kind))].map((kind) => (
          <li key={kind}><span class={`sign ${kind} small`} aria-hidden="true">{SIGNS[kind]}</span> {EVENTS[kind]}</li>
        ))}
      </ul>
      <Plot loaded={loaded} layers={layers} step={step} />
    </section>
  );
}

function ink(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

interface PlotProps {
  loaded: Timeline;
  layers: Layer[];
  step: number;
}

function chart({ loaded, layers }: PlotProps, width: number, selected: () => number): [uPlot.Options, uPlot.AlignedData] {
  const { points, marks, lines } = loaded;
  const steps = points.map((_, i) => i + 1);
  const stack = layers.map(() => [] as number[]);
  for (const point of points) {
    let height = 0;
    layers.forEach((layer, i) => {
      stack[i]!.push((height += layer.of(point)));
    });
  }
  const bars = uPlot.paths.bars!({ size: [1, Infinity], gap: 0 });
  const series: uPlot.Series[] = [{}, ...[...layers].reverse().map((layer) => ({ label: layer.name, fill: layer.colour, stroke: ink("--paper"), width: 0.6, points: { show: false }, paths: bars }))];
  const data: (number | null)[][] = [steps, ...stack.reverse()];
  const most = Math.max(1, ...stack[0]!);
  const budgets = points.map((point) => point.budget);
  series.push({ stroke: ink("--brim"), width: 2, points: { show: false }, paths: uPlot.paths.stepped!({ align: -1 }) });
  series.push({ stroke: ink("--warn"), width: 1.5, dash: [6, 5], points: { show: false } });
  data.push(budgets, steps.map(() => lines.warning));
  // Prompts far below their budget fill the strip; the budget is written above it then.
  const top = most < 0.25 * Math.max(...budgets) ? most * 1.3 : Math.max(most, ...budgets) * 1.08;
  const base = { stroke: ink("--soft"), ticks: { stroke: ink("--line") }, font: "11px system-ui" };
  const whole = [1, 2, 5].flatMap((each) => [0, 1, 2, 3, 4, 5].map((power) => each * 10 ** power)).sort((a, b) => a - b);
  const axes: uPlot.Axis[] = [
    { ...base, grid: { show: false }, size: 26, incrs: whole },
    { ...base, grid: { stroke: ink("--line"), width: 1 }, size: 62, space: 30, values: (_, at) => at.map((each) => (each === null ? "" : each.toLocaleString("en"))) },
  ];
  const options: uPlot.Options = {
    width,
    height: HEIGHT,
    padding: [14, 12, 0, 0],
    scales: { x: { time: false, range: [0.5, points.length + 0.5] }, y: { range: [0, top] } },
    axes,
    series,
    legend: { show: false },
    cursor: { y: false },
    hooks: { draw: [(plot) => (drawSelected(plot, selected()), drawMarks(plot, marks))] },
  };
  return [options, data as uPlot.AlignedData];
}

function drawSelected(plot: uPlot, step: number): void {
  const { ctx, bbox } = plot;
  const [left, right] = [plot.valToPos(step - 0.5, "x", true), plot.valToPos(step + 0.5, "x", true)];
  ctx.save();
  ctx.strokeStyle = ink("--ink");
  ctx.setLineDash([]);
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.strokeRect(left, bbox.top, Math.max(3, right - left), bbox.height);
  ctx.restore();
}

function drawMarks(plot: uPlot, marks: readonly Mark[]): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.font = `${10 * devicePixelRatio}px system-ui`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  for (const mark of marks) {
    // A compaction comes before its step, a refusal after it; a warning stands at its step.
    const x = Math.round(plot.valToPos(mark.step + (mark.kind === "compaction" ? -0.5 : mark.kind === "warning" ? 0 : 0.5), "x", true));
    ctx.strokeStyle = ink("--ink");
    ctx.setLineDash([2, 3]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const y = bbox.top + 8 * devicePixelRatio;
    ctx.setLineDash([]);
    ctx.fillStyle = ink("--paper");
    ctx.strokeStyle = ink({ sub_tick: "--spill", overflow: "--bad", warning: "--warn" }[mark.kind] ?? "--water");
    ctx.lineWidth = 1.6 * devicePixelRatio;
    ctx.beginPath();
    ctx.arc(x, y, 7 * devicePixelRatio, 0, 2 * Math.PI);
    ctx.fill();
    ctx.stroke();
    ctx.lineWidth = 1;
    ctx.fillStyle = ink("--ink");
    ctx.fillText(SIGNS[mark.kind] ?? "·", x, y);
  }
  ctx.restore();
}

function Plot(props: PlotProps) {
  const { loaded, layers, step } = props;
  const box = useRef<HTMLDivElement>(null);
  const note = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const selected = useRef(step);
  selected.current = step;
  const select = (to: number) => (location.hash = stepLink(loaded.id, to, { tab: params.peek().get("tab"), find: params.peek().get("find") }));
  useEffect(() => {
    const at = box.current;
    if (!at) return;
    let width = 0;
    const tell = (drawn: uPlot) => {
      const point = drawn.cursor.idx == null ? undefined : loaded.points[drawn.cursor.idx];
      if (!note.current) return;
      note.current.hidden = !point;
      if (!point) return;
      const events = loaded.marks.filter((mark) => mark.step === point.step).map((mark) => `${EVENTS[mark.kind] ?? mark.kind}: ${mark.text}`);
      note.current.textContent = [`step ${point.step}: ${n(point.used)} of ${n(point.budget)}`, ...layers.filter((layer) => layer.of(point)).map((layer) => `${layer.name} ${n(layer.of(point))}`), ...events].join("\n");
      const left = drawn.over.offsetLeft + (drawn.cursor.left ?? 0);
      note.current.style.left = `${left > width / 2 ? left - note.current.offsetWidth - 14 : left + 14}px`;
    };
    const again = () => {
      plot.current?.destroy();
      width = at.clientWidth;
      const [options, data] = chart(props, width, () => selected.current);
      options.hooks = { ...options.hooks, setCursor: [tell] };
      plot.current = new uPlot(options, data, at);
      plot.current.over.addEventListener("click", () => {
        const point = plot.current?.cursor.idx == null ? undefined : loaded.points[plot.current.cursor.idx];
        if (point) select(point.step);
      });
    };
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", again);
    const seen = new ResizeObserver(() => at.clientWidth !== width && again());
    seen.observe(at);
    return () => (seen.disconnect(), scheme.removeEventListener("change", again), plot.current?.destroy());
  }, [loaded]);
  useEffect(() => plot.current?.redraw(false), [step]);
  return (
    <div class="plot">
      <div ref={box} role="img" aria-label={`The size of ${plural(loaded.points.length, "step")} by category; step ${step} is selected`} />
      <div class="tip" ref={note} hidden />
    </div>
  );
}

/** The events as a list: the same as in the strip, for reading and for the keyboard. */
export function Events({ loaded }: { loaded: Timeline }) {
  return (
    <details class="card">
      <summary>
        {plural(loaded.marks.length, "event")} as a list
      </summary>
      <ol class="marks">
        {loaded.marks.map((mark) => (
          <li key={`${mark.kind}${mark.number}`}>
            <a data-row class="mark" href={stepLink(loaded.id, mark.step)}>
              <span class={`sign ${mark.kind} small`} aria-hidden="true">{SIGNS[mark.kind] ?? "·"}</span> <b>{EVENTS[mark.kind] ?? mark.kind}</b> <span class="soft">step {mark.step}</span> {mark.text}
            </a>
          </li>
        ))}
      </ol>
    </details>
  );
}

