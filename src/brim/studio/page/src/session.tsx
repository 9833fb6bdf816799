// One session: the strip of its steps, and below it the selected step: what was sent and left out, and the cache.
import { useLayoutEffect, useMemo } from "preact/hooks";
import { useView } from "./api";
import { CacheTab } from "./cache";
import { keys } from "./categories";
import { CopyAs } from "./copy_as";
import { LeftOut } from "./left_out";
import { dollars, Empty, Head, n, plural, Problem, share, Waiting, when } from "./parts";
import { go, link, params } from "./route";
import { marksAt, partOf, Sent } from "./sent";
import { Strip } from "./strip";
import type { Prompt, Timeline } from "./types";

const TABS = ["sent", "out", "cache"] as const;

export function Session() {
  const [session, step] = ["session", "step"].map((name) => params.value.get(name));
  const prompt = useView<Prompt>(session ? "prompt" : null, { session: session!, ...(step ? { step } : {}) });
  const timeline = useView<Timeline>(session ? "timeline" : null, { session: session! }).value;
  if (!session)
    return (
      <Empty>
        <h1>No session is selected</h1>
        <p><a href={link("sessions")}>All sessions</a></p>
      </Empty>
    );
  const at = prompt.value?.step ?? (step ? Number(step) : (timeline?.points.length ?? 1));
  return (
    <>
      <Title session={session} timeline={timeline} prompt={prompt.value} />
      {timeline && timeline.points.length > 0 && <Strip loaded={timeline} step={at} />}
      {prompt.problem ? <Problem text={prompt.problem} /> : prompt.value ? <Selected loaded={prompt.value} timeline={timeline} /> : <Waiting />}
    </>
  );
}

function Title({ session, timeline, prompt }: { session: string; timeline: Timeline | null; prompt: Prompt | null }) {
  const status = timeline?.status;
  return (
    <Head title={timeline?.title || session}>
      <p class="lead">
        {timeline?.title && timeline.title !== session && <code>{session}</code>} {prompt?.model ?? status?.model ?? "unknown model"}
        {timeline && ` · ${plural(timeline.points.length, "step")} · ${plural(status!.compactions, "compaction")}`}
        {status && status.sub_ticks > 0 && ` · ${plural(status.sub_ticks, "sub-tick")}`}
        {timeline?.goal && ` · goal: ${timeline.goal}`}
        {timeline && timeline.kind === "loop" && (timeline.ended ? ` · ended: ${timeline.ended}` : " · not ended")}
      </p>
    </Head>
  );
}

function Selected({ loaded, timeline }: { loaded: Prompt; timeline: Timeline | null }) {
  const tab = params.value.get("tab") ?? "sent";
  const view = params.value.get("view") ?? "";
  const colours = useMemo(() => keys([...new Set(loaded.rows.map(partOf))]), [loaded]);
  const out = useMemo(() => loaded.rows.filter((row) => !row.sent || row.taken), [loaded]);
  const open = (name: string) => go("session", { tab: name === "sent" ? null : name, view: null });
  useLayoutEffect(() => {
    const turn = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || (event.target instanceof HTMLElement && event.target.matches("input, select, textarea"))) return;
      const [way, pick] = [event.key === "[" ? -1 : event.key === "]" ? 1 : 0, TABS[Number(event.key) - 1]];
      const to = loaded.step + way;
      if (way && to >= 1 && to <= loaded.steps) go("session", { step: to, part: null });
      if (pick) open(pick);
    };
    addEventListener("keydown", turn);
    return () => removeEventListener("keydown", turn);
  }, [loaded]);
  const titles: Record<string, string> = { sent: "Sent", out: out.length ? `Left out (${n(out.length)})` : "Left out", cache: "Cache" };
  return (
    <>
      <div class="step-head">
        <StepButtons loaded={loaded} />
        <Size loaded={loaded} timeline={timeline} />
        <span class="grow" />
        {loaded.replayable && <button aria-pressed={view === "body"} onClick={() => go("session", { view: view === "body" ? null : "body" })}>Copy as…</button>}
        {loaded.replayable && <a class="button main" href={link("lab", { source: `prompt:${loaded.session}@${loaded.step}` })}>Try another budget</a>}
      </div>
      {view === "body" && <CopyAs loaded={loaded} />}
      <div class="tabs" role="tablist" aria-label="The selected step">
        {TABS.map((name, i) => (
          <button key={name} role="tab" id={`tab-${name}`} aria-selected={tab === name} aria-controls="panel" title={`Key ${i + 1}`} onClick={() => open(name)}>
            {titles[name]}
          </button>
        ))}
      </div>
      <div id="panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        {tab === "out" ? (
          <LeftOut loaded={loaded} colours={colours} rows={out} />
        ) : tab === "cache" ? (
          <CacheTab session={loaded.session} step={loaded.step} />
        ) : (
          <Sent loaded={loaded} colours={colours} />
        )}
      </div>
    </>
  );
}

function StepButtons({ loaded: { step, steps } }: { loaded: Prompt }) {
  return (
    <span class="steps" data-step={step}>
      <button aria-label="Previous step" title="Previous step  ( [ )" disabled={step <= 1} onClick={() => go("session", { step: step - 1, part: null })}>
        ←
      </button>
      <h2>
        Step {n(step)} <small>of {n(steps)}</small>
      </h2>
      <button aria-label="Next step" title="Next step  ( ] )" disabled={step >= steps} onClick={() => go("session", { step: step + 1, part: null })}>
        →
      </button>
    </span>
  );
}

/** The size of the selected prompt, to which the numbers of all tabs add up, and how it was counted. */
function Size({ loaded, timeline }: { loaded: Prompt; timeline: Timeline | null }) {
  const { used, budget, unit, size } = loaded;
  return (
    <p class="lead" data-used={used ?? ""}>
      <b>{n(used)}</b>
      {budget ? (
        <>
          {" "}
          of <b>{n(budget)}</b> {unit} ({share(used ?? 0, budget)})
        </>
      ) : (
        ` ${unit}`
      )}{" "}
      <span class={`badge ${loaded.exact ? "good" : "soft"}`}>{size.method}</span>
      {loaded.usage?.input != null && loaded.usage.input !== used && <span class="soft"> the provider counted {n(loaded.usage.input)}</span>}
      {used !== null && budget !== null && used > budget && <span class="badge dropped">over its budget</span>}
      {marksAt(timeline, loaded.step).map((mark) => (
        <span key={mark.text} class="badge warn" title={mark.text}>
          {mark.kind === "warning" ? "reached the warning line" : "compacted here"}
        </span>
      ))}
      {loaded.cost_usd !== null && <span class="soft"> · {dollars(loaded.cost_usd)}</span>}
      {loaded.at !== null && <span class="soft"> · {when(loaded.at)}</span>}
    </p>
  );
}

