// Timeline: units of each prompt by category, with the brim and the warning line, and what happened when.
import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import { load } from "./api";
import { Empty, Head, n, Problem, share, Waiting, when } from "./parts";
import type { Mark, Session, Timeline as Told } from "./types";
import { Chip, keys } from "./vessel";

const ORDER = ["system", "tools", "memory", "summary", "user", "assistant", "tool results", "framing"];
const SIGNS: Record<string, string> = { compaction: "C", sub_tick: "S", warning: "W", overflow: "!", iteration: "I" };
const NAMES: Record<string, string> = { compaction: "compaction", sub_tick: "sub-tick", warning: "warning line", overflow: "overflow", iteration: "iteration" };

export function Timeline({ session }: { sessions: Session[]; session: string | null }) {
  const found = useMemo(() => load<Told>(() => (session ? { view: "timeline", asked: { session } } : null)), [session]);
  useEffect(() => found.stop, [found]);
  const { value, problem, loading } = found.state.value;
  if (problem) return <Problem told={problem} />;
  if (!session || (!loading && !value?.points.length))
    return (
      <Empty>
        <h1>No prompts yet</h1>
        <p>Each call of <code>session.prompt()</code> adds a point, each compaction and sub-tick a mark.</p>
      </Empty>
    );
  return value ? <Shown told={value} /> : <Waiting />;
}

function Shown({ told }: { told: Told }) {
  const names = ORDER.filter((name) => told.points.some((point) => point.categories[name]));
  const letters = keys(names);
  const cached = told.points.some((point) => point.cached !== null);
  return (
    <>
      <Head title={told.id}>
        <p class="lead">
          {told.points.length} prompts · {told.status.compactions} compactions · {told.status.sub_ticks} sub-ticks · peak {n(told.status.peak)} of {n(told.lines.budget)} {told.status.unit}
        </p>
      </Head>
      <section class="card" aria-label="Units of each prompt">
        <h2>Context size at each prompt</h2>
        <ul class="legend">
          {names.map((name) => (
            <li key={name}>
              <Chip at={letters.get(name)} /> {name}
            </li>
          ))}
          <li><span class="line brim" aria-hidden="true" /> brim</li>
          <li><span class="line warn" aria-hidden="true" /> warning</li>
        </ul>
        <Area told={told} names={names} letters={letters} />
        {cached && (
          <>
            <h2>Share of each prompt that came from the cache</h2>
            <Cached told={told} />
          </>
        )}
      </section>
      <section class="card" aria-label="What happened">
        <h2>What happened</h2>
        {told.kind === "loop" && <Lane told={told} />}
        <ol class="marks">
          {told.marks.map((mark) => (
            <li key={`${mark.kind}${mark.number}`}>
              <span class={`sign ${mark.kind}`} aria-hidden="true">{SIGNS[mark.kind] ?? "·"}</span>
              <span>
                <b>{NAMES[mark.kind] ?? mark.kind}</b> <span class="soft">at prompt {mark.prompt}, {when(mark.at)}</span>
                <br />
                {mark.told}
              </span>
            </li>
          ))}
        </ol>
        {!told.marks.length && <p class="soft">Nothing but prompts so far.</p>}
      </section>
      <details class="card">
        <summary>The prompts as a table</summary>
        <div class="scroll" tabIndex={0} role="region" aria-label="Prompts">
          <table>
            <thead>
              <tr><th class="num">prompt</th><th>when</th><th class="num">used</th><th class="num">of the brim</th><th class="num">cached</th></tr>
            </thead>
            <tbody>
              {told.points.map((point, i) => (
                <tr key={point.number}>
                  <td class="num">{i + 1}</td>
                  <td>{when(point.at)}</td>
                  <td class="num">{n(point.used)}</td>
                  <td class="num">{share(point.used, point.budget)}</td>
                  <td class="num">{n(point.cached)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </>
  );
}

/** A loop as one lane: iterations side by side, a notch wherever it went on in a fresh context. */
function Lane({ told }: { told: Told }) {
  const total = Math.max(1, told.points.length);
  const ends = told.marks.filter((mark) => mark.kind === "iteration");
  const starts = [0, ...ends.map((mark) => mark.prompt)];
  return (
    <svg class="lane" viewBox="0 0 600 40" preserveAspectRatio="none" role="img" aria-label={`${ends.length} iterations with ${told.status.sub_ticks} sub-ticks`}>
      {ends.map((mark, i) => {
        const x = (600 * starts[i]!) / total;
        return <rect key={mark.number} x={x + 1} y="8" width={Math.max(2, (600 * mark.prompt) / total - x - 2)} height="24" rx="5" class="iteration" />;
      })}
      {told.marks.filter((mark) => mark.kind === "sub_tick").map((mark) => (
        <line key={mark.number} x1={(600 * mark.prompt) / total} x2={(600 * mark.prompt) / total} y1="3" y2="37" class="sub_tick" />
      ))}
    </svg>
  );
}

function ink(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function axes(): uPlot.Axis[] {
  const base = { stroke: ink("--soft"), grid: { stroke: ink("--line"), width: 1 }, ticks: { stroke: ink("--line") } };
  return [{ ...base, grid: { show: false }, size: 34 }, { ...base, size: 62 }];
}

function draw(marks: Mark[]): (plot: uPlot) => void {
  return (plot) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.font = `${11 * devicePixelRatio}px system-ui`;
    ctx.textAlign = "center";
    for (const mark of marks) {
      if (mark.kind === "warning" || mark.kind === "iteration") continue;
      const x = Math.round(plot.valToPos(mark.prompt + 0.5, "x", true));
      ctx.strokeStyle = ctx.fillStyle = ink("--ink");
      ctx.setLineDash([2, 3]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.fillText(SIGNS[mark.kind] ?? "·", x, bbox.top + 11 * devicePixelRatio);
    }
    ctx.restore();
  };
}

function Area({ told, names, letters }: { told: Told; names: string[]; letters: ReturnType<typeof keys> }) {
  const make = (width: number): [uPlot.Options, uPlot.AlignedData] => {
    const x = told.points.map((_, i) => i + 1);
    const stack = names.map(() => [] as number[]);
    for (const point of told.points) {
      let sum = 0;
      names.forEach((name, i) => stack[i]!.push((sum += point.categories[name] ?? 0)));
    }
    const budgets = told.points.map((point) => point.budget);
    const series: uPlot.Series[] = [
      {},
      ...[...names].reverse().map((name) => ({ label: name, fill: letters.get(name)!.colour, stroke: ink("--paper"), width: 0.6, points: { show: false } })),
      { label: "brim", stroke: ink("--brim"), width: 2, points: { show: false } },
      { label: "warning", stroke: ink("--warn"), width: 1.5, dash: [6, 5], points: { show: false } },
    ];
    const top = Math.max(...budgets) * 1.08;
    return [
      {
        width,
        height: 280,
        scales: { x: { time: false }, y: { range: [0, top] } },
        axes: axes(),
        series,
        legend: { show: false },
        cursor: { y: false },
        hooks: { draw: [draw(told.marks)] },
      },
      [x, ...stack.reverse(), budgets, x.map(() => told.lines.warning)],
    ];
  };
  return <Plot make={make} told={told} label={`The context size of ${told.points.length} prompts by category`} />;
}

function Cached({ told }: { told: Told }) {
  const make = (width: number): [uPlot.Options, uPlot.AlignedData] => [
    {
      width,
      height: 110,
      scales: { x: { time: false }, y: { range: [0, 100] } },
      axes: axes(),
      series: [{}, { stroke: ink("--water"), fill: ink("--wash"), width: 1.5, points: { show: false } }],
      legend: { show: false },
      cursor: { y: false },
    },
    [told.points.map((_, i) => i + 1), told.points.map((point) => (point.cached === null ? null : (100 * point.cached) / Math.max(1, point.input ?? point.used)))],
  ];
  return <Plot make={make} told={told} label="The share of each prompt that was found in the cache, in percent" />;
}

function Plot({ make, told, label }: { make: (width: number) => [uPlot.Options, uPlot.AlignedData]; told: Told; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const at = box.current;
    if (!at) return;
    let plot: uPlot | null = null;
    let width = 0;
    const again = () => {
      plot?.destroy();
      width = at.clientWidth;
      plot = new uPlot(...make(width), at);
    };
    const seen = new ResizeObserver(() => at.clientWidth !== width && again());
    seen.observe(at);
    const theme = new MutationObserver(again);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => (seen.disconnect(), theme.disconnect(), plot?.destroy());
  }, [told]);
  return <div class="plot" ref={box} role="img" aria-label={label} />;
}
