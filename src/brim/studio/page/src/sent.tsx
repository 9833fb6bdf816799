// The parts of a prompt in the order in which they were sent; parts that were left out are dimmed.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { Changed, useChange } from "./change";
import { Keep } from "./keep";
import { Copied, n, plural, Rows, share } from "./parts";
import { go, link, params } from "./route";
import { type Run, Ribbon } from "./ribbon";
import type { Mark, Prompt as Loaded, PromptRow, Timeline } from "./types";
import { Chip, type Key } from "./categories";

/** Characters of a closed part. */
const SHORT = 900;
/** Characters of a line that is searched for elsewhere in the prompt. */
const SENTENCE = 20;
/** Characters of an open part in which the words are marked. */
const MARKED = 200_000;

interface Shown {
  row: PromptRow;
  i: number;
}

/** The category of a row; a section is a category of its own. */
export const partOf = (row: PromptRow): string => (row.category === "section" ? row.role : row.category);

export function Sent({ loaded, colours }: { loaded: Loaded; colours: Map<string, Key> }) {
  return (
    <>
      <Ribbon runs={runsOf(loaded.rows)} used={loaded.used ?? 0} budget={loaded.budget ?? 0} unit={loaded.unit} colours={colours} />
      {!loaded.replayable && <NoTexts />}
      <section class="split prompt">
        <Parts loaded={loaded} colours={colours} />
        <aside>
          <Sums loaded={loaded} colours={colours} />
          {loaded.answer && (
            <section class="card" aria-label="Answer">
              <div class="tools">
                <h2>Answer</h2>
                <Copied text={loaded.answer.text} />
              </div>
              <pre tabIndex={0} class="answer">{loaded.answer.text}</pre>
            </section>
          )}
        </aside>
      </section>
    </>
  );
}

export function Parts({ loaded, colours, changed = false }: { loaded: Loaded; colours: Map<string, Key>; changed?: boolean }) {
  const only = changed ? "changed" : (params.value.get("show") ?? "all");
  const part = params.value.get("part");
  const words = params.value.get("find") ?? "";
  const wanted = words.trim().toLowerCase();
  const lower = useMemo(() => {
    let made: string[] | null = null;
    return () => (made ??= loaded.rows.map((row) => `${row.role} ${row.name}\n${row.text}`.toLowerCase()));
  }, [loaded]);
  const shown = useMemo(
    () =>
      loaded.rows
        .map((row, i) => ({ row, i }))
        .filter(({ row, i }) => (part === null || partOf(row) === part) && (only === "all" || (only === "sent" ? row.sent : !row.sent || row.taken !== null)) && (!wanted || wanted.split(/\s+/).every((word) => lower()[i]!.includes(word)))),
    [loaded, part, only, wanted],
  );
  const elsewhere = useMemo(() => {
    let sent: string | null = null;
    return (row: PromptRow) => echoOf(row.text, (sent ??= loaded.rows.filter((each) => each.sent).map((each) => each.text).join("\n")));
  }, [loaded]);
  const draw = ({ row, i }: Shown) => <Part key={i} row={row} i={i} loaded={loaded} at={colours.get(partOf(row))} words={wanted} elsewhere={elsewhere} />;
  return (
    <section class="card parts" aria-label={changed ? "Left out or shortened" : "The prompt"}>
      <div class="tools">
        <input
          type="search"
          data-search
          placeholder="Search this prompt  ( / )"
          aria-label="Search this prompt"
          value={words}
          onInput={(event) => go("session", { find: event.currentTarget.value }, true)}
        />
        {wanted && <span class="soft" role="status" data-hits={shown.length}>{plural(shown.length, "message")}</span>}
        {!changed && (
          <label class="check">
            <input type="checkbox" checked={only === "all"} onChange={(event) => go("session", { show: event.currentTarget.checked ? null : "sent" }, true)} /> show what was left out
          </label>
        )}
        {part && <button onClick={() => go("session", { part: null }, true)}>all categories</button>}
      </div>
      <div class="text-parts">
        <Rows items={shown} draw={draw} />
      </div>
      {!shown.length && <p class="soft">{changed && !part ? "Nothing was left out or shortened." : "No message matches."}</p>}
    </section>
  );
}

/** Returns the parts of a prompt in their order. */
const runsOf = (rows: readonly PromptRow[]): Run[] => rows.filter((row) => row.sent).map((row) => [partOf(row), row.units]);

/** Returns the warnings and compactions of a step. */
export const marksAt = (timeline: Timeline | null, step: number): Mark[] => (timeline?.marks ?? []).filter((mark) => mark.step === step && (mark.kind === "warning" || mark.kind === "compaction"));

/** The setting that reduces a category, and what it does. */
const LIMITS: Record<string, [string, string]> = {
  memory: ["session.memory_limit", "A lower limit for the memory"],
  summary: ["compaction.summary_share", "A smaller share for the summary"],
  user: ["window.limit", "A smaller budget, which shortens the oldest turns first"],
  assistant: ["window.limit", "A smaller budget, which shortens the oldest turns first"],
  "tool results": ["session.tool_limit", "A lower limit for each new result"],
};

/** Returns the tokens that were sent by category. */
function sumsOf(rows: readonly PromptRow[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const row of rows) if (row.sent) sums.set(partOf(row), (sums.get(partOf(row)) ?? 0) + row.units);
  return sums;
}

/** A step that was recorded without texts, and the setting that records them. */
function NoTexts() {
  const change = useChange();
  return (
    <div class="guard">
      <p>
        Only the sizes of this step were recorded, not its texts.{" "}
        <button onClick={() => void change.look("session.capture", "true")}>Record texts from now on…</button>
      </p>
      <Changed change={change} />
    </div>
  );
}

/** The tokens by category; they add up to the number in the heading. A category is also a filter. */
function Sums({ loaded, colours }: { loaded: Loaded; colours: Map<string, Key> }) {
  const sums = sumsOf(loaded.rows);
  const total = [...sums.values()].reduce((sum, each) => sum + each, 0);
  const chosen = params.value.get("part");
  return (
    <section class="card" aria-label="Tokens by category">
      <table class="sums">
        <tbody>
          {[...sums].map(([name, units]) => (
            <tr key={name} class={chosen === name ? "on" : ""}>
              <th scope="row">
                <button class="plain" aria-pressed={chosen === name} onClick={() => go("session", { part: chosen === name ? null : name }, true)}>
                  <Chip at={colours.get(name)} /> {name}
                </button>
              </th>
              <td class="num">{n(units)}</td>
              <td class="num soft">{share(units, loaded.used ?? 0)}</td>
              <td>{LIMITS[name] && <a href={link("settings", { key: LIMITS[name][0] })} title={`${LIMITS[name][1]}: ${LIMITS[name][0]}`}>limit</a>}</td>
            </tr>
          ))}
          <tr class="sum">
            <th scope="row">sum</th>
            <td class="num" data-sum={total}>{n(total)}</td>
            <td class="num soft">{loaded.unit}</td>
            <td />
          </tr>
        </tbody>
      </table>
    </section>
  );
}

interface PartProps {
  row: PromptRow;
  i: number;
  loaded: Loaded;
  at: Key | undefined;
  words: string;
  elsewhere: (row: PromptRow) => string;
}

/** Says how many lines of a text that was left out are still in the prompt, in a summary or an excerpt. */
function echoOf(text: string, sent: string): string {
  const lines = text.split(/\n|(?<=[.!?])\s+/).map((line) => line.trim()).filter((line) => line.length >= SENTENCE);
  const kept = lines.filter((line) => sent.includes(line)).length;
  return !lines.length ? "" : kept === lines.length ? "all of its lines are elsewhere in this prompt" : kept ? `${n(kept)} of its ${plural(lines.length, "line")} are elsewhere in this prompt` : "none of its lines is elsewhere in this prompt";
}

function Part({ row, i, loaded, at, words, elsewhere }: PartProps) {
  const open = useSignal(false);
  const { text } = row;
  const isOpen = open.value || words !== "";
  const long = text.length > SHORT || text.split("\n", 13).length > 12;
  const toggle = () => (open.value = !isOpen);
  const closed = !row.sent && !isOpen;
  return (
    <li class={`part${row.sent ? "" : " out"}${row.taken ? " cut" : ""}${isOpen ? " open" : ""}`} data-part={i} style={{ "--part": at?.colour ?? "var(--glass)" }}>
      <button class="part-head" data-row aria-expanded={isOpen} onClick={() => toggle()}>
        <Chip at={at} />
        <b>{titled(row)}</b>
        {row.name && <code class="clip">{row.name}</code>}
        {!["whole", "system prompt", "memory", "summary"].includes(row.state) && <span class={`badge ${row.sent ? "cut" : "dropped"}`}>{row.state}</span>}
        {closed && <span class="clip soft">{row.text.slice(0, 160)}</span>}
        <span class="grow" />
        <span class="num">
          {n(row.units)}
          {row.sent && row.was !== null && row.was > row.units && <small> of {n(row.was)}</small>}
          {!row.sent && <small> not sent</small>}
        </span>
      </button>
      {(isOpen || !row.sent || row.taken) && !closed && (
        <p class="why">
          {row.why} {!row.sent && elsewhere(row) && <b>{capital(elsewhere(row))}.</b>}
        </p>
      )}
      {closed ? null : isOpen && row.taken ? (
        <pre tabIndex={0}>
          {row.taken.map(([sign, piece], at) => (sign === "-" ? <del key={at}>{piece}</del> : sign === "+" ? <ins key={at}>{piece}</ins> : <span key={at}>{piece}</span>))}
        </pre>
      ) : text ? (
        <pre tabIndex={isOpen ? 0 : undefined} class={isOpen ? "" : "short"}>
          {words ? <Marked text={text.slice(0, MARKED)} words={words} /> : isOpen ? text : text.slice(0, SHORT)}
        </pre>
      ) : null}
      {isOpen && (!row.sent || row.taken) && <Keep loaded={loaded} at={i} />}
      {!closed && (long || row.taken) && (
        <button class="more" onClick={() => toggle()} tabIndex={-1}>
          {isOpen ? "Show less" : row.taken ? "Show what was removed" : `Show all ${n(text.length)} characters`}
        </button>
      )}
    </li>
  );
}

const capital = (text: string): string => text[0]!.toUpperCase() + text.slice(1);
const titled = (row: PromptRow): string => (row.category === "summary" || row.category === "memory" ? row.category : row.category === "tool results" || row.role === "tool" ? "tool result" : row.role);

/** A text with the searched phrase marked, or else each of its words. */
function Marked({ text, words }: { text: string; words: string }) {
  const parts: (string | preact.JSX.Element)[] = [];
  const lower = text.toLowerCase();
  const wanted = lower.includes(words) ? [words] : words.split(/\s+/);
  const next = (from: number) => wanted.map((word) => [lower.indexOf(word, from), word.length] as const).filter(([at]) => at >= 0).sort((a, b) => a[0] - b[0])[0];
  let at = 0;
  for (let found = next(0); found && parts.length < 400; found = next(at)) {
    parts.push(text.slice(at, found[0]), <mark key={found[0]}>{text.slice(found[0], found[0] + found[1])}</mark>);
    at = found[0] + found[1];
  }
  return (
    <>
      {parts}
      {text.slice(at)}
    </>
  );
}
