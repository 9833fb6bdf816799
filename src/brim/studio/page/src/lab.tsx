// Budget lab: move the brim and see what stays, what spills, why, and at which budget it comes back.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { load, post } from "./api";
import { Head, Long, n, Problem, share, Waiting } from "./parts";
import { asked, go } from "./route";
import type { Fit, Row, Session } from "./types";
import { Chip, keys, Vessel } from "./vessel";

const PRESETS: [string, number][] = [
  ["8k", 8_000],
  ["32k", 32_000],
  ["128k", 128_000],
  ["200k", 200_000],
  ["1M", 1_000_000],
];
const CHOICES: Record<string, [string, string[]]> = {
  sections: ["policy", ["truncate_then_continue", "truncate_then_stop", "skip", "stop"]],
  messages: ["select", ["recency", "priority"]],
};
const REST = 160;

type Back = Record<string, [number, boolean]>;

/** Asks for one fit after the other, always the newest that was wanted. */
function bench(source: string) {
  const fit = signal<Fit | null>(null);
  const other = signal<Fit | null>(null);
  const back = signal<Back>({});
  const problem = signal<string | null>(null);
  let wanted: { budget: number | null; policy: string } | null = null;
  let busy = false;
  let timer = 0;

  async function pump() {
    if (busy) return;
    busy = true;
    while (wanted) {
      const { budget, policy } = wanted;
      wanted = null;
      try {
        const first = await post<Fit>("fit", { source, budget });
        const name = CHOICES[first.kind]![0];
        const second = policy ? await post<Fit>("fit", { source, budget: first.budget, choices: { [name]: policy } }) : null;
        fit.value = first;
        other.value = second;
        problem.value = null;
      } catch (error) {
        problem.value = (error as Error).message;
      }
    }
    busy = false;
    clearTimeout(timer);
    timer = window.setTimeout(rest, REST);
  }

  async function rest() {
    const now = fit.value;
    if (!now?.fits) return;
    const told = await post<{ budget: number; returns: Back }>("returns", { source, budget: now.budget }).catch(() => null);
    if (told && fit.value?.budget === told.budget) back.value = told.returns;
  }

  return {
    fit,
    other,
    back,
    problem,
    want(budget: number | null, policy: string) {
      wanted = { budget, policy };
      if (Object.keys(back.peek()).length) back.value = {};
      clearTimeout(timer);
      void pump();
    },
    end: () => clearTimeout(timer),
  };
}

export function Lab(_: { sessions: Session[]; session: string | null }) {
  const sources = useMemo(() => load<{ sources: { id: string; title: string; kind: string }[] }>(() => ({ view: "sources" })), []);
  useEffect(() => sources.stop, [sources]);
  const found = sources.state.value;
  const source = asked.value.get("source") ?? found.value?.sources[0]?.id ?? null;
  if (found.problem) return <Problem told={found.problem} />;
  if (!source) return <Waiting />;
  return (
    <>
      <Head title="Budget lab">
        <label class="inline">
          <span>Prompt</span>
          <select value={source} onChange={(event) => go("lab", { source: event.currentTarget.value, budget: null })}>
            {(found.value?.sources ?? []).map((each) => (
              <option key={each.id} value={each.id}>
                {each.title}
              </option>
            ))}
            {!found.value?.sources.some((each) => each.id === source) && <option value={source}>{source}</option>}
          </select>
        </label>
      </Head>
      <Bench key={source} source={source} />
    </>
  );
}

function Bench({ source }: { source: string }) {
  const work = useMemo(() => bench(source), [source]);
  const told = asked.value.get("budget");
  const policy = asked.value.get("policy") ?? "";
  const budget = told !== null && /^\d{1,9}$/.test(told) ? Number(told) : null;
  useEffect(() => work.want(budget, policy), [work, budget, policy]);
  useEffect(() => work.end, [work]);
  const fit = work.fit.value;
  const back = work.back.value;
  const other = work.other.value;
  const wanted = Math.max(Math.ceil((fit?.wanted ?? fit?.needed ?? 1) * 1.1), fit?.recorded ?? 1);
  const most = Math.max(wanted, budget ?? 0);
  // The same picture is not drawn again while the slider moves: only once the next fit is there.
  const kept = useMemo(
    () => fit?.fits && <Kept fit={fit} back={back} other={other} policy={policy} source={source} />,
    [fit, back, other, policy, source],
  );
  if (work.problem.value && !fit) return <Problem told={work.problem.value} />;
  if (!fit) return <Waiting />;
  const set = (units: number) => go("lab", { source, budget: String(Math.max(0, Math.round(units))) }, true);
  const now = budget ?? fit.budget;
  return (
    <>
      <section class="card knobs" aria-label="Budget">
        <label class="slider">
          <span class="away">Budget</span>
          <input
            type="range"
            min={0}
            max={most}
            step={1}
            value={now}
            aria-label="Budget"
            aria-valuetext={`${n(now)} ${fit.unit ?? "units"}`}
            onInput={(event) => set(Number(event.currentTarget.value))}
            onKeyDown={(event) => {
              const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
              if (!way || !(event.shiftKey || event.ctrlKey)) return;
              event.preventDefault();
              set(now + way * (event.ctrlKey ? 1024 : 128));
            }}
          />
        </label>
        <label class="inline">
          <span>Budget</span>
          <input type="number" min={0} value={now} onInput={(event) => event.currentTarget.value && set(Number(event.currentTarget.value))} />
        </label>
        <div class="presets" role="group" aria-label="Budgets by name">
          <button onClick={() => set(fit.recorded)}>as recorded</button>
          {PRESETS.map(([name, units]) => (
            <button key={name} aria-pressed={now === units} onClick={() => set(units)}>
              {name}
            </button>
          ))}
        </div>
        <p class="soft hint">Arrow keys move it by 1, with Shift by 128, with Ctrl by 1,024.</p>
      </section>
      {work.problem.value && <Problem told={work.problem.value} />}
      {fit.fits ? kept : <Over fit={fit} set={set} />}
    </>
  );
}

function Over({ fit, set }: { fit: Fit; set: (units: number) => void }) {
  return (
    <section class="card">
      <h2>It does not fit</h2>
      <Problem told={fit.problem ?? ""} />
      <button class="main" onClick={() => set(fit.needed ?? 0)}>
        Raise it to {n(fit.needed)}
      </button>
    </section>
  );
}

interface KeptProps {
  fit: Fit;
  back: Back;
  other: Fit | null;
  policy: string;
  source: string;
}

function Kept({ fit, back, other, policy, source }: KeptProps) {
  const only = useSignal("all");
  const chosen = useSignal<string | null>(null);
  const names = useMemo(() => fit.rows.map((row) => row[0]), [fit.rows.length, source]);
  const letters = useMemo(() => keys(names), [names]);
  const unit = fit.unit ?? "units";
  const shares = fit.rows.filter((row) => row[5] > 0).map((row) => ({ name: row[0], units: row[5] }));
  if (fit.joins && fit.joins > 0) shares.push({ name: "between the parts", units: fit.joins });
  const spilled = fit.rows.filter((row) => row[4] > row[5]).map((row) => ({ name: row[0], units: row[4] - row[5] }));
  const others = new Map((other?.rows ?? []).map((row) => [row[0], row]));
  const differs = (row: Row) => other !== null && (others.get(row[0])?.[1] !== row[1] || others.get(row[0])?.[5] !== row[5]);
  const rows = fit.rows.filter((row) =>
    only.value === "all" ? true : only.value === "differ" ? differs(row) : only.value === "lost" ? row[4] > row[5] : row[1] === "dropped",
  );
  const at = chosen.value ? rows.findIndex((row) => row[0] === chosen.value) : -1;
  if (at > 0) rows.unshift(...rows.splice(at, 1));
  const dropped = fit.rows.filter((row) => row[1] === "dropped").length;
  const [name, options] = CHOICES[fit.kind]!;
  return (
    <>
      <section class="split lab">
        <div class="card">
          <Vessel
            shares={shares}
            spilled={spilled}
            letters={letters}
            brim={fit.budget}
            scale={Math.max(fit.budget, fit.wanted ?? 0) * 1.06}
            unit={unit}
            columns={18}
            rows={18}
            chosen={chosen.value}
            onChoose={(each) => (chosen.value = chosen.value === each ? null : each)}
          />
          <dl class="facts" aria-live="polite">
            <div>
              <dt>Used</dt>
              <dd data-used={fit.used}>
                {n(fit.used)} <small>{share(fit.used ?? 0, fit.budget)}</small>
              </dd>
            </div>
            <div>
              <dt>Wanted</dt>
              <dd>{n(fit.wanted)}</dd>
            </div>
            <div>
              <dt>Pieces dropped</dt>
              <dd>
                {n(dropped)} <small>of {n(fit.rows.length)}</small>
              </dd>
            </div>
            <div>
              <dt>Counted</dt>
              <dd>{fit.exact ? "exactly" : "by estimate"}</dd>
            </div>
          </dl>
        </div>
        <div class="card pieces">
          <div class="tools">
            <h2>Pieces</h2>
            <select aria-label="Which pieces" value={only.value} onChange={(event) => (only.value = event.currentTarget.value)}>
              <option value="all">all</option>
              <option value="lost">that lost something</option>
              <option value="dropped">dropped</option>
              {other && <option value="differ">that differ</option>}
            </select>
            <select aria-label={`Another ${name} beside it`} value={policy} onChange={(event) => go("lab", { source, policy: event.currentTarget.value }, true)}>
              <option value="">compare with…</option>
              {options.map((each) => (
                <option key={each} value={each}>
                  {name} {each.replaceAll("_", " ")}
                </option>
              ))}
            </select>
            <button onClick={() => void save(source, fit.budget)}>Save as a test</button>
          </div>
          {other && (
            <p class="soft">
              {other.fits ? `Beside it: ${name} ${policy.replaceAll("_", " ")} uses ${n(other.used)}; ${fit.rows.filter(differs).length} pieces differ.` : other.problem}
            </p>
          )}
          <Long items={rows} height={62} label="Pieces" row={(row) => <Line row={row} at={letters.get(row[0])} back={back[row[0]]} other={differs(row) ? others.get(row[0]) : undefined} />} />
        </div>
      </section>
    </>
  );
}

function Line({ row, at, back, other }: { row: Row; at: ReturnType<typeof keys> extends Map<string, infer K> ? K | undefined : never; back: [number, boolean] | undefined; other: Row | undefined }) {
  const [name, state, , required, size, used, reason] = row;
  return (
    <div class={`piece ${state}`}>
      <Chip at={at} />
      <div class="what">
        <div>
          <b>{name}</b> <span class={`badge ${state}`}>{state}</span>
          {required && <span class="badge soft">required</span>}
          {back && (
            <span class="badge back">
              returns at {back[1] ? "" : "or below "}
              {n(back[0])}
            </span>
          )}
          {other && (
            <span class="badge warn">
              beside it: {other[1]} {n(other[5])}
            </span>
          )}
        </div>
        <div class="clip soft" title={reason}>
          {reason}
        </div>
      </div>
      <span class="num">
        {n(used)}
        <small> of {n(size)}</small>
      </span>
    </div>
  );
}

async function save(source: string, budget: number) {
  const values = await post<object>("fixture", { source, budget });
  const address = URL.createObjectURL(new Blob([JSON.stringify(values, null, 2)], { type: "application/json" }));
  const made = document.createElement("a");
  made.href = address;
  made.download = `brim-case-${budget}.json`;
  made.click();
  URL.revokeObjectURL(address);
}
