// Timeline: the tokens of each prompt by category, with the budget, the warning line and the events.
import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import { load } from "./api";
import { dollars, Empty, Head, n, plural, Problem, share, Waiting, when } from "./parts";
import { params, go, promptLink } from "./route";
import type { Mark, Point, Timeline as Loaded } from "./types";
import { Chip, keys } from "./vessel";

const ORDER = ["system", "tools", "fields", "memory", "summary", "user", "assistant", "tool results", "framing"];
const SIGNS: Record<string, string> = { compaction: "C", sub_tick: "S", warning: "W", overflow: "!", iteration: "I" };
const NAMES: Record<string, string> = { compaction: "compaction", sub_tick: "sub-tick", warning: "warning line", overflow: "overflow", iteration: "iteration" };

export function Timeline({ session }: { session: string | null }) {
  const found = useMemo(() => load<Loaded>(() => (session ? { view: "timeline", fields: { session } } : null)), [session]);
  useEffect(() => found.stop, [found]);
  const { value, problem, loading } = found.state.value;
  if (problem) return <Problem text={problem} />;
  if (!session || (!loading && !value?.points.length))
    return (
      <Empty>
        <h1>No prompts yet</h1>
        <p>Each call of <code>session.prompt()</code> adds a point, each compaction and sub-tick a mark.</p>
      </Empty>
    );
  return value ? <Shown loaded={value} /> : <Waiting />;
}

const VIEWS = [
  ["context", "Context size"],
  ["call", "Each call"],
  ["sum", "Total so far"],
] as const;

function Shown({ loaded }: { loaded: Loaded }) {
  const view = params.value.get("view") ?? "context";
  const names = ORDER.filter((name) => loaded.points.some((point) => point.categories[name]));
  const letters = keys(names);
  const reported = loaded.points.filter((point) => point.input !== null).length;
  const costs = loaded.points.map((point) => point.cost_usd);
  const spent = costs.length && costs.every((each) => each !== null) ? costs.reduce((sum, each) => sum! + each!, 0) : null;
  return (
    <>
      <Head title={loaded.id}>
        <p class="lead">
          {plural(loaded.points.length, "step")} · {plural(loaded.status.compactions, "compaction")}
          {loaded.status.sub_ticks > 0 && ` · ${plural(loaded.status.sub_ticks, "sub-tick")}`} · peak {n(loaded.status.peak)} of {n(loaded.lines.budget)} {loaded.status.unit} · cost {dollars(spent)}
        </p>
      </Head>
      <section class="card" aria-label="Over time">
        <div class="tools">
          <h2>{view === "call" ? "Tokens of each call, as the provider reported them" : view === "sum" ? "Tokens of all calls so far" : "Context size at each step"}</h2>
          <div class="switch" role="group" aria-label="Chart">
            {VIEWS.map(([name, title]) => (
              <button key={name} aria-pressed={view === name} onClick={() => go("timeline", { view: name === "context" ? null : name }, true)}>
                {title}
              </button>
            ))}
          </div>
        </div>
        {view === "context" ? (
          <>
            <ul class="legend">
              {names.map((name) => (
                <li key={name}>
                  <Chip at={letters.get(name)} /> {name}
                </li>
              ))}
              <li><span class="line brim" aria-hidden="true" /> budget {n(loaded.lines.budget)}</li>
              <li><span class="line warn" aria-hidden="true" /> warning {n(loaded.lines.warning)}</li>
              {loaded.marks.some((mark) => mark.kind === "compaction") && <li><span class="sign compaction small" aria-hidden="true">C</span> compaction</li>}
              {loaded.marks.some((mark) => mark.kind === "sub_tick") && <li><span class="sign sub_tick small" aria-hidden="true">S</span> sub-tick</li>}
            </ul>
            <Area loaded={loaded} names={names} letters={letters} />
            {loaded.kind === "loop" && <Lane loaded={loaded} />}
            {reported > 0 && (
              <>
                <h2>Share of each step that was cached</h2>
                <Cached loaded={loaded} />
              </>
            )}
          </>
        ) : reported === 0 ? (
          <p class="soft">Unknown: no usage was recorded. <code>session.record_usage(answer)</code> records it.</p>
        ) : (
          <>
            <ul class="legend">
              {PARTS.map((part) => <li key={part.name}><span class="swatch" style={{ background: `var(${part.ink})` }} aria-hidden="true" /> {part.name}</li>)}
            </ul>
            <Tokens loaded={loaded} summed={view === "sum"} key={view} />
          </>
        )}
      </section>
      <section class="card" aria-label="Events">
        <h2>Events</h2>
        <ol class="marks">
          {loaded.marks.map((mark) => (
            <li key={`${mark.kind}${mark.number}`}>
              <a data-row class="mark" href={promptLink(loaded.id, mark.step)}>
                <span class={`sign ${mark.kind}`} aria-hidden="true">{SIGNS[mark.kind] ?? "·"}</span>
                <span>
                  <b>{NAMES[mark.kind] ?? mark.kind}</b> <span class="soft">at step {mark.step}{loaded.kind === "file" ? "" : `, ${when(mark.at)}`}</span>
                  <br />
                  {mark.text}
                </span>
              </a>
            </li>
          ))}
        </ol>
        {!loaded.marks.length && <p class="soft">No events so far.</p>}
      </section>
      <details class="card">
        <summary>The steps as a table</summary>
        <div class="scroll" tabIndex={0} role="region" aria-label="Prompts">
          <table>
            <thead>
              <tr><th class="num">step</th><th>when</th><th class="num">used</th><th class="num">of the budget</th><th class="num">reported</th><th class="num">cached</th><th class="num">answer</th><th class="num">cost</th></tr>
            </thead>
            <tbody>
              {loaded.points.map((point) => (
                <tr key={point.number}>
                  <td class="num"><a href={promptLink(loaded.id, point.step)}>{point.step}</a></td>
                  <td>{loaded.kind === "file" ? "" : when(point.at)}</td>
                  <td class="num">{n(point.used)}</td>
                  <td class="num">{share(point.used, point.budget)}</td>
                  <td class="num">{n(point.input)}</td>
                  <td class="num">{n(point.cached)}</td>
                  <td class="num">{n(point.output)}</td>
                  <td class="num">{dollars(point.cost_usd)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </>
  );
}

/** A loop as one lane: its iterations, with a notch at each sub-tick. */
function Lane({ loaded }: { loaded: Loaded }) {
  const total = Math.max(1, loaded.points.length);
  const ends = loaded.marks.filter((mark) => mark.kind === "iteration").map((mark) => mark.step);
  const open = (ends.at(-1) ?? 0) < total;
  const bounds = [0, ...ends, ...(open ? [total] : [])];
  const at = (prompt: number) => `${(100 * prompt) / total}%`;
  return (
    <div class="lane" role="img" aria-label={`One lane: ${ends.length} iterations with ${loaded.status.sub_ticks} sub-ticks`}>
      {bounds.slice(1).map((end, i) => (
        <span key={i} class={`iteration${open && i === bounds.length - 2 ? " open" : ""}`} style={{ left: at(bounds[i]!), width: at(end - bounds[i]!) }}>
          {i + 1}
        </span>
      ))}
      {loaded.marks.filter((mark) => mark.kind === "sub_tick").map((mark) => (
        <span key={mark.number} class="notch" style={{ left: at(mark.step) }} title={mark.text}>S</span>
      ))}
    </div>
  );
}

function ink(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function axes(unit = ""): uPlot.Axis[] {
  const base = { stroke: ink("--soft"), grid: { stroke: ink("--line"), width: 1 }, ticks: { stroke: ink("--line") } };
  const steps = [1, 2, 5].flatMap((each) => [0, 1, 2, 3, 4, 5].map((power) => each * 10 ** power)).sort((a, b) => a - b);
  return [{ ...base, grid: { show: false }, size: 34, incrs: steps }, { ...base, size: 62, space: unit ? 24 : 30, values: (_, marks) => marks.map((each) => (each === null ? "" : each.toLocaleString("en") + unit)) }];
}

/** Prompts are in the middle of their column, so that the lane below has the same columns. */
function frame(loaded: Loaded, width: number, height: number): Pick<uPlot.Options, "width" | "height" | "padding"> & { x: uPlot.Scale } {
  return { width, height, padding: [14, 12, 0, 0], x: { time: false, range: [0.5, loaded.points.length + 0.5] } };
}

function draw(marks: Mark[]): (plot: uPlot) => void {
  return (plot) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.font = `${11 * devicePixelRatio}px system-ui`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    for (const mark of marks) {
      if (mark.kind === "iteration") continue;
      // A compaction comes before its step, a refusal after it; a warning stands at its step.
      const x = Math.round(plot.valToPos(mark.step + (mark.kind === "compaction" ? -0.5 : mark.kind === "warning" ? 0 : 0.5), "x", true));
      ctx.strokeStyle = ctx.fillStyle = ink("--ink");
      ctx.setLineDash([2, 3]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      const y = bbox.top + 9 * devicePixelRatio;
      ctx.setLineDash([]);
      ctx.fillStyle = ink("--paper");
      ctx.strokeStyle = ink(mark.kind === "sub_tick" ? "--spill" : mark.kind === "overflow" ? "--bad" : mark.kind === "warning" ? "--warn" : "--water");
      ctx.lineWidth = 1.6 * devicePixelRatio;
      ctx.beginPath();
      ctx.arc(x, y, 8 * devicePixelRatio, 0, 2 * Math.PI);
      ctx.fill();
      ctx.stroke();
      ctx.lineWidth = 1;
      ctx.fillStyle = ink("--ink");
      ctx.fillText(SIGNS[mark.kind] ?? "·", x, y);
    }
    ctx.restore();
  };
}

function Area({ loaded, names, letters }: { loaded: Loaded; names: string[]; letters: ReturnType<typeof keys> }) {
  const make = (width: number): [uPlot.Options, uPlot.AlignedData] => {
    const { height, padding, x } = frame(loaded, width, 280);
    const prompts = loaded.points.map((_, i) => i + 1);
    const stack = names.map(() => [] as number[]);
    for (const point of loaded.points) {
      let sum = 0;
      names.forEach((name, i) => stack[i]!.push((sum += point.categories[name] ?? 0)));
    }
    const budgets = loaded.points.map((point) => point.budget);
    const columns = uPlot.paths.bars!({ size: [1, Infinity], gap: 0 });
    const series: uPlot.Series[] = [
      {},
      ...[...names].reverse().map((name) => ({ label: name, fill: letters.get(name)!.colour, stroke: ink("--paper"), width: 0.6, points: { show: false }, paths: columns })),
      { label: "budget", stroke: ink("--brim"), width: 2, points: { show: false }, paths: uPlot.paths.stepped!({ align: -1 }) },
      { label: "warning", stroke: ink("--warn"), width: 1.5, dash: [6, 5], points: { show: false } },
    ];
    const most = Math.max(...loaded.points.map((point) => point.used));
    // A prompt far below its budget fills the chart; the budget is written beside it then.
    const top = most < 0.25 * Math.max(...budgets) ? most * 1.3 : Math.max(most, ...budgets) * 1.08;
    return [
      {
        width,
        height,
        padding,
        scales: { x, y: { range: [0, top] } },
        axes: axes(),
        series,
        legend: { show: false },
        cursor: { y: false },
        hooks: { draw: [draw(loaded.marks)] },
      },
      [prompts, ...stack.reverse(), budgets, prompts.map(() => loaded.lines.warning)],
    ];
  };
  const tip = (point: Point) => [`${n(point.used)} of ${n(point.budget)}`, ...names.filter((name) => point.categories[name]).map((name) => `${name} ${n(point.categories[name])}`)];
  return <Plot make={make} loaded={loaded} tip={tip} label={`The context size of ${plural(loaded.points.length, "step")} by category`} />;
}

const PARTS = [
  { name: "prompt, cached", ink: "--cached", of: (point: Point) => point.cached ?? 0 },
  { name: "prompt, not cached", ink: "--water", of: (point: Point) => (point.input ?? 0) - (point.cached ?? 0) },
  { name: "answer", ink: "--spill", of: (point: Point) => point.output ?? 0 },
];

/** The reported tokens, call by call or summed up; a chart of its own, since they are not the context size. */
function Tokens({ loaded, summed }: { loaded: Loaded; summed: boolean }) {
  const make = (width: number): [uPlot.Options, uPlot.AlignedData] => {
    const sums = PARTS.map(() => 0);
    const stack = PARTS.map(() => [] as number[]);
    for (const point of loaded.points) {
      let height = 0;
      PARTS.forEach((part, i) => {
        sums[i] = summed ? sums[i]! + part.of(point) : part.of(point);
        stack[i]!.push((height += sums[i]!));
      });
    }
    const { height, padding, x } = frame(loaded, width, 300);
    const bars = uPlot.paths.bars!({ size: [0.8, 24] });
    const series: uPlot.Series[] = [
      {},
      ...[...PARTS].reverse().map((part) => ({ label: part.name, fill: ink(part.ink), stroke: ink("--paper"), width: 0.6, points: { show: false }, ...(summed ? {} : { paths: bars }) })),
    ];
    const top = Math.max(1, ...stack.at(-1)!) * 1.08;
    return [
      { width, height, padding, scales: { x, y: { range: [0, top] } }, axes: axes(), series, legend: { show: false }, cursor: { y: false } },
      [loaded.points.map((_, i) => i + 1), ...stack.reverse()],
    ];
  };
  const tip = (point: Point) => PARTS.map((part) => `${part.name} ${n(part.of(point))}`);
  return <Plot make={make} loaded={loaded} tip={tip} label={summed ? "Tokens of all calls so far" : "Tokens of each call"} />;
}

function Cached({ loaded }: { loaded: Loaded }) {
  const make = (width: number): [uPlot.Options, uPlot.AlignedData] => [
    {
      width,
      height: 120,
      padding: [14, 12, 0, 0],
      scales: { x: frame(loaded, width, 120).x, y: { range: [0, 100] } },
      axes: axes(" %"),
      series: [{}, { stroke: ink("--water"), fill: ink("--wash"), width: 1.5, points: { show: false }, paths: uPlot.paths.bars!({ size: [1, Infinity], gap: 0 }) }],
      legend: { show: false },
      cursor: { y: false },
    },
    [loaded.points.map((_, i) => i + 1), loaded.points.map((point) => (point.cached === null ? null : (100 * point.cached) / Math.max(1, point.input ?? point.used)))],
  ];
  const tip = (point: Point) => [point.cached === null ? "not reported" : `${n(point.cached)} cached, ${share(point.cached, point.input ?? point.used)}`];
  return <Plot make={make} loaded={loaded} tip={tip} label="The share of each prompt that was cached, in percent" />;
}

interface PlotProps {
  make: (width: number) => [uPlot.Options, uPlot.AlignedData];
  loaded: Loaded;
  /** The lines about a step that are shown beside the pointer. */
  tip: (point: Point) => string[];
  label: string;
}

function Plot({ make, loaded, tip, label }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const note = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const at = box.current;
    if (!at) return;
    let plot: uPlot | null = null;
    let width = 0;
    const again = () => {
      plot?.destroy();
      width = at.clientWidth;
      const [options, data] = make(width);
      options.hooks = { ...options.hooks, setCursor: [(made) => tell(made)] };
      plot = new uPlot(options, data, at);
      plot.over.addEventListener("click", () => {
        const point = plot?.cursor.idx == null ? undefined : loaded.points[plot.cursor.idx];
        if (point) location.hash = promptLink(loaded.id, point.step);
      });
    };
    const tell = (made: uPlot) => {
      const point = made.cursor.idx == null ? undefined : loaded.points[made.cursor.idx];
      if (!note.current) return;
      note.current.hidden = !point;
      if (!point) return;
      note.current.textContent = [`step ${point.step}`, ...tip(point)].join("\n");
      const left = made.over.offsetLeft + (made.cursor.left ?? 0);
      note.current.style.left = `${left > width / 2 ? left - note.current.offsetWidth - 14 : left + 14}px`;
    };
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", again);
    const seen = new ResizeObserver(() => at.clientWidth !== width && again());
    seen.observe(at);
    const theme = new MutationObserver(again);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => (seen.disconnect(), theme.disconnect(), scheme.removeEventListener("change", again), plot?.destroy());
  }, [loaded]);
  return (
    <div class="plot">
      <div ref={box} role="img" aria-label={label} />
      <div class="tip" ref={note} hidden />
    </div>
  );
}
