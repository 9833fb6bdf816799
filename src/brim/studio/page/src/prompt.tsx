// Prompt: the exact text that was sent at a step, what was left out of it in its place, and why; the tokens add up.
import { useEffect, useMemo } from "preact/hooks";
import { load } from "./api";
import { keys } from "./categories";
import { Copied, dollars, Empty, Failed, Head, n, plural, share, Waiting, when } from "./parts";
import { Difference } from "./prompt_diff";
import { Parts } from "./prompt_parts";
import { Bodies, Share } from "./prompt_share";
import { params, go, link, promptLink } from "./route";
import type { Prompt as Loaded, PromptRow } from "./types";
import { Chip, type Key } from "./vessel";

export function Prompt({ session }: { session: string | null }) {
  const id = params.value.get("id");
  const step = params.value.get("step");
  const fields: Record<string, string> | null = id ? { id } : session ? { session, ...(step ? { step } : {}) } : null;
  const found = useMemo(() => load<Loaded>(() => (fields ? { view: "prompt", fields } : null)), [id, session, step]);
  useEffect(() => found.stop, [found]);
  const { value, problem, loading } = found.state.value;
  if (problem) return <Failed title="Prompt" text={problem} />;
  if (!fields)
    return (
      <Empty>
        <h1>No prompt yet</h1>
        <p>Open a file with a request, or record a session: its prompts are shown here.</p>
      </Empty>
    );
  if (loading || !value) return <Waiting />;
  return <Shown loaded={value} />;
}

/** The name under which a row is summed up: a section by its own name, any other part by its category. */
export const partOf = (row: PromptRow): string => (row.category === "section" ? row.role : row.category);

function Shown({ loaded }: { loaded: Loaded }) {
  const view = params.value.get("view") ?? "";
  const diff = params.value.get("diff");
  const names = useMemo(() => [...new Set(loaded.rows.map(partOf))], [loaded]);
  const colours = useMemo(() => keys(names), [names]);
  const out = useMemo(() => loaded.rows.filter((row) => !row.sent), [loaded]);
  const cut = useMemo(() => loaded.rows.filter((row) => row.sent && row.taken).length, [loaded]);
  useEffect(() => {
    const turn = (event: KeyboardEvent) => {
      if (event.target instanceof HTMLElement && event.target.matches("input, select, textarea")) return;
      if (event.key === "[" && loaded.step && loaded.step > 1) go("prompt", { step: loaded.step - 1 });
      if (event.key === "]" && loaded.step && loaded.step < loaded.steps) go("prompt", { step: loaded.step + 1 });
    };
    addEventListener("keydown", turn);
    return () => removeEventListener("keydown", turn);
  }, [loaded]);
  return (
    <>
      <Head title={loaded.session ?? loaded.id}>
        {loaded.step && <Steps loaded={loaded} />}
        <p class="lead" data-used={loaded.used ?? ""}>
          {loaded.model ?? "no model named"} · <b>{n(loaded.used)}</b>
          {loaded.budget ? (
            <>
              {" "}
              of <b>{n(loaded.budget)}</b> {loaded.unit} ({share(loaded.used ?? 0, loaded.budget)})
            </>
          ) : (
            ` ${loaded.unit}`
          )}{" "}
          <span class={`badge ${loaded.exact ? "good" : "soft"}`}>{loaded.exact ? "exact" : "estimated"}</span>
          {loaded.used !== null && loaded.budget !== null && loaded.used > loaded.budget && <span class="badge dropped">over its budget</span>}
          {loaded.marks.map((mark) => (
            <span key={mark.text} class="badge warn" title={mark.text}>
              {mark.kind === "warning" ? "reached the warning line" : "compacted here"}
            </span>
          ))}
        </p>
      </Head>
      <div class="actions" role="group" aria-label="What to do with this prompt">
        {loaded.session && loaded.steps > 1 && (
          <label class="inline">
            <span>Compare with step</span>
            <input
              type="number"
              min={1}
              max={loaded.steps}
              value={diff ?? ""}
              placeholder={String(Math.max(1, (loaded.step ?? 2) - 1))}
              aria-label="Compare with step"
              onChange={(event) => go("prompt", { diff: event.currentTarget.value || null, view: null })}
            />
          </label>
        )}
        {loaded.session && loaded.step && loaded.step > 1 && !diff && <button onClick={() => go("prompt", { diff: String(loaded.step! - 1), view: null })}>Compare with the step before</button>}
        {diff && <button onClick={() => go("prompt", { diff: null })}>Close the comparison</button>}
        {loaded.replayable && (
          <>
            <button aria-pressed={view === "body"} onClick={() => go("prompt", { view: view === "body" ? null : "body", diff: null })}>Copy as…</button>
            <a class="button" href={link("lab", { source: `prompt:${loaded.session}@${loaded.step}` })}>Try another budget</a>
          </>
        )}
        <button aria-pressed={view === "share"} onClick={() => go("prompt", { view: view === "share" ? null : "share", diff: null })}>Share as a file</button>
      </div>
      {loaded.kind === "refitted" && <p class="guard">Only the receipt of this prompt was kept: it is fitted again here, without memory.</p>}
      {loaded.kind === "sums" && loaded.session && (
        <p class="guard">
          The texts of this prompt were not kept, only its sums. <code>brim.Session(…, capture=True)</code>, or <code>session.capture: true</code> for a gateway, keeps them from now on.
        </p>
      )}
      {view === "share" && <Share loaded={loaded} />}
      {view === "body" && loaded.session && <Bodies loaded={loaded} />}
      {diff && loaded.session ? (
        <Difference key={`${loaded.id} ${diff}`} session={loaded.session} step={loaded.step!} other={diff} colours={colours} />
      ) : (
        <section class="split prompt">
          <div>
            <Ribbon loaded={loaded} colours={colours} />
            <Parts loaded={loaded} colours={colours} />
          </div>
          <aside>
            <Sums loaded={loaded} colours={colours} out={out} cut={cut} />
            {loaded.answer && (
              <section class="card" aria-label="The answer">
                <div class="tools">
                  <h2>The answer</h2>
                  {loaded.usage?.output != null && <span class="num">{n(loaded.usage.output)}</span>}
                  <Copied text={loaded.answer.text} />
                </div>
                <pre tabIndex={0} class="answer">{loaded.answer.text}</pre>
              </section>
            )}
            <Facts loaded={loaded} />
          </aside>
        </section>
      )}
    </>
  );
}

function Steps({ loaded: { step, steps, session } }: { loaded: Loaded }) {
  return (
    <span class="steps" data-step={step}>
      <button aria-label="Previous step" title="Previous step  ( [ )" disabled={step! <= 1} onClick={() => go("prompt", { step: step! - 1, part: null })}>
        ←
      </button>
      <b>
        step {n(step)} <small>of {n(steps)}</small>
      </b>
      <button aria-label="Next step" title="Next step  ( ] )" disabled={step! >= steps} onClick={() => go("prompt", { step: step! + 1, part: null })}>
        →
      </button>
      <a href={link("timeline", { session })}>timeline</a>
    </span>
  );
}

/** Parts of the bar at most; a thousand of them would be narrower than a pixel. */
const MOST_RUNS = 300;

interface Run {
  name: string;
  units: number;
  title: string;
}

/** Returns the parts of a prompt in their order, neighbours of one name joined; many small ones by their largest. */
function runsOf(rows: readonly PromptRow[]): Run[] {
  const sent = rows.filter((row) => row.sent && row.units > 0);
  const joined: Run[] = [];
  for (const row of sent) {
    const [last, name] = [joined.at(-1), partOf(row)];
    if (last?.name === name) last.units += row.units;
    else joined.push({ name, units: row.units, title: "" });
  }
  if (joined.length <= MOST_RUNS) return joined.map((run) => ({ ...run, title: `${run.name}: ${n(run.units)}` }));
  const size = joined.reduce((sum, run) => sum + run.units, 0) / MOST_RUNS;
  const runs: Run[] = [];
  let among: Run[] = [];
  let units = 0;
  joined.forEach((run, i) => {
    among.push(run);
    units += run.units;
    if (units < size && i < joined.length - 1) return;
    const most = among.reduce((best, each) => (each.units > best.units ? each : best));
    runs.push({ name: most.name, units, title: among.length > 1 ? `${plural(among.length, "part")}: ${n(units)}` : `${most.name}: ${n(units)}` });
    [among, units] = [[], 0];
  });
  return runs;
}

/** The whole prompt as one bar, part by part in their order. */
function Ribbon({ loaded, colours }: { loaded: Loaded; colours: Map<string, Key> }) {
  const whole = Math.max(1, loaded.budget ?? 0, loaded.used ?? 0);
  const free = Math.max(0, whole - (loaded.used ?? 0));
  return useMemo(
    () => (
      <div class="ribbon" role="img" aria-label={`${n(loaded.used)} of ${n(loaded.budget)} ${loaded.unit}, in the order of the prompt`}>
        {runsOf(loaded.rows).map((run, i) => (
          <span key={i} class={`p${colours.get(run.name)?.pattern ?? 0}`} style={{ flexGrow: run.units, backgroundColor: colours.get(run.name)?.colour ?? "#ffffff" }} title={run.title} />
        ))}
        {free > 0 && <span class="free" style={{ flexGrow: free }} title={`free: ${n(free)}`} />}
      </div>
    ),
    [loaded, colours],
  );
}

interface SumsProps {
  loaded: Loaded;
  colours: Map<string, Key>;
  out: PromptRow[];
  cut: number;
}

/** The tokens by part; they add up to the number in the heading. */
function Sums({ loaded, colours, out, cut }: SumsProps) {
  const sums = new Map<string, number>();
  for (const row of loaded.rows) if (row.sent) sums.set(partOf(row), (sums.get(partOf(row)) ?? 0) + row.units);
  const total = [...sums.values()].reduce((sum, each) => sum + each, 0);
  const chosen = params.value.get("part");
  const left = out.reduce((sum, row) => sum + row.units, 0);
  return (
    <section class="card" aria-label="Tokens by part">
      <h2>What it is made of</h2>
      <table class="sums">
        <tbody>
          {[...sums].map(([name, units]) => (
            <tr key={name} class={chosen === name ? "on" : ""}>
              <th scope="row">
                <button class="plain" aria-pressed={chosen === name} onClick={() => go("prompt", { part: chosen === name ? null : name }, true)}>
                  <Chip at={colours.get(name)} /> {name}
                </button>
              </th>
              <td class="num">{n(units)}</td>
              <td class="num soft">{share(units, loaded.used ?? 0)}</td>
            </tr>
          ))}
          <tr class="sum">
            <th scope="row">sum</th>
            <td class="num" data-sum={total}>{n(total)}</td>
            <td class="num soft">{loaded.unit}</td>
          </tr>
        </tbody>
      </table>
      {(out.length > 0 || cut > 0) && (
        <p class="soft">
          {out.length > 0 && `${plural(out.length, "part")} left out (${n(left)} ${loaded.unit})`}
          {out.length > 0 && cut > 0 && ", "}
          {cut > 0 && `${n(cut)} shortened`}.
        </p>
      )}
      {loaded.usage?.input != null && loaded.used !== null && loaded.usage.input !== loaded.used && (
        <p class="soft">
          The provider counted {n(loaded.usage.input)}: {n(Math.abs(loaded.usage.input - loaded.used))} {loaded.usage.input > loaded.used ? "more" : "fewer"} than brim ({share(loaded.usage.input - loaded.used, loaded.used)}).
        </p>
      )}
    </section>
  );
}

function Facts({ loaded }: { loaded: Loaded }) {
  const facts: [string, string][] = [];
  if (loaded.at !== null) facts.push(["when", loaded.session_kind === "file" ? "not recorded" : when(loaded.at)]);
  if (loaded.window && loaded.window > (loaded.budget ?? 0)) facts.push(["window of the model", n(loaded.window)]);
  if (loaded.usage?.input != null) facts.push(["counted by the provider", n(loaded.usage.input)]);
  if (loaded.usage?.cached != null) facts.push(["read from the cache", `${n(loaded.usage.cached)} (${share(loaded.usage.cached, loaded.usage.input ?? loaded.used ?? 0)})`]);
  if (loaded.cost_usd !== null) facts.push(["cost", dollars(loaded.cost_usd)]);
  for (const [name, each] of Object.entries(loaded.facts ?? {})) facts.push([name.replaceAll("_", " "), String(each)]);
  return (
    <section class="card" aria-label="About this prompt">
      <dl class="facts list small">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {loaded.marks.map((mark) => <p key={mark.text} class="soft">{mark.text}.</p>)}
      {loaded.session && (
        <p class="soft">
          <a href={link("cache", { call: loaded.step })}>Its cache</a> · <a href={link("ledger")}>all that was left out</a> · <a href={promptLink(loaded.session, loaded.step)}>link to this prompt</a>
        </p>
      )}
    </section>
  );
}
