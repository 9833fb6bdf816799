// The lab: move the budget, and see what is kept, what is dropped, why, and at which budget it returns.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { get, useSlowed, useView } from "./api";
import { Head, n, Problem, Waiting } from "./parts";
import { type Back, Kept } from "./pieces";
import { go, params } from "./route";
import type { Fit } from "./types";

const SIZES = { "8k": 8_000, "32k": 32_000, "128k": 128_000, "200k": 200_000, "1M": 1_000_000 };
/** Milliseconds between two fits while the slider moves. */
const PAUSE = 60;
/** Milliseconds after which the slider rests. */
const REST = 250;

/** What the lab opens on. */
const SAMPLE = "sample:agent";

export function Lab() {
  const source = params.value.get("source") ?? SAMPLE;
  return (
    <>
      <Head title="Lab">
        <p class="lead">{source === SAMPLE ? "A sample prompt. A step of a session opens here with “Try another budget”." : source.replace(/^\w+:/, "")}</p>
      </Head>
      <Work key={source} source={source} />
    </>
  );
}

/** The budget in the address, or null. */
function named(): number | null {
  const budget = params.value.get("budget");
  return budget !== null && /^\d{1,9}$/.test(budget) ? Number(budget) : null;
}

function Work({ source }: { source: string }) {
  const address = named();
  const budget = useSignal(address);
  const rested = useSignal<number | null>(null);
  const told = useRef(address);
  const slowed = useSlowed(budget.value, PAUSE);
  const { value: fit, problem } = useView<Fit>("fit", { source, ...(slowed !== null && { budget: String(slowed) }) }, true);
  const returns = useView<{ budget: number; returns: Back }>(rested.value === null ? null : "returns", { source, budget: String(rested.value) }).value;
  // An address that the user changed moves the slider; the slider changes the address once it rests.
  useEffect(() => {
    if (address !== told.current) budget.value = told.current = address;
  }, [address]);
  useEffect(() => {
    if (!fit) return;
    const timer = setTimeout(() => {
      rested.value = fit.fits ? fit.budget : null;
      told.current = fit.budget;
      go("lab", { budget: String(fit.budget) }, true);
    }, REST);
    return () => clearTimeout(timer);
  }, [fit?.budget]);
  if (problem) return <Problem text={problem} />;
  if (!fit) return <Waiting />;
  const set = (units: number) => (budget.value = Math.min(100_000_000, Math.max(0, Math.round(units))));
  return (
    <>
      <Knobs now={budget.value ?? fit.budget} fit={fit} set={set} />
      {fit.fits ? <Kept fit={fit} source={source} back={returns?.budget === fit.budget ? returns.returns : {}} set={set} /> : <Over fit={fit} set={set} />}
      {fit.fits && <Result key={fit.budget} source={source} budget={fit.budget} />}
    </>
  );
}

interface KnobsProps {
  now: number;
  fit: Fit;
  set: (units: number) => void;
}

function Knobs({ now, fit, set }: KnobsProps) {
  const most = Math.max(Math.ceil((fit.wanted ?? fit.needed ?? 1) * 1.1), fit.recorded, now);
  return (
    <section class="card knobs" aria-label="Budget">
      <input
        class="slider"
        type="range"
        min={0}
        max={most}
        step={1}
        value={now}
        aria-label="Budget"
        aria-valuetext={`${n(now)} ${fit.unit ?? "tokens"}`}
        onInput={(event) => set(Number(event.currentTarget.value))}
        onKeyDown={(event) => {
          const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
          if (!way || event.altKey || event.metaKey) return;
          event.preventDefault();
          set(now + way * (event.ctrlKey ? 1024 : event.shiftKey ? 128 : 1));
        }}
      />
      <label class="inline">
        <span>Budget</span>
        <input type="number" min={0} value={now} onInput={(event) => event.currentTarget.value && set(Number(event.currentTarget.value))} />
      </label>
      <div class="presets" role="group" aria-label="Named budgets">
        {Object.entries({ "recorded budget": fit.recorded, ...SIZES }).map(([name, budget]) => (
          <button key={name} aria-pressed={now === budget} title={n(budget)} onClick={() => set(budget)}>
            {name}
          </button>
        ))}
      </div>
      <p class="soft hint">Arrow keys move the budget by 1, with Shift by 128, with Ctrl by 1,024.</p>
    </section>
  );
}

function Over({ fit, set }: { fit: Fit; set: (units: number) => void }) {
  return (
    <section class="card">
      <h2>It does not fit</h2>
      <Problem text={fit.problem ?? ""} />
      <button class="main" onClick={() => set(fit.needed ?? 0)}>
        Raise the budget to {n(fit.needed)}
      </button>
    </section>
  );
}

/** The prompt of a fit and its receipt: loaded when it is opened, for the budget that is shown. */
function Result({ source, budget }: { source: string; budget: number }) {
  const made = useSignal<{ text: string; receipt: string } | null>(null);
  const problem = useSignal("");
  const show = () => get<{ text: string; receipt: string }>("result", { source, budget: String(budget) }).then((loaded) => (made.value = loaded), (error: Error) => (problem.value = error.message));
  return (
    <section class="card result" aria-label="Result">
      <button aria-expanded={made.value !== null} onClick={() => (made.value ? (made.value = null) : void show())}>
        {made.value ? "Hide the prompt" : "Show the prompt"}
      </button>
      {problem.value && <Problem text={problem.value} />}
      {made.value && (
        <>
          <h2>Prompt at {n(budget)}</h2>
          <pre class="sent" tabIndex={0}>{made.value.text}</pre>
          <h2>Receipt</h2>
          <pre class="receipt" tabIndex={0}>{made.value.receipt}</pre>
        </>
      )}
    </section>
  );
}
