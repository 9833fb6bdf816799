// The parts of a prompt in their order: the text that was sent, and what was left out, in its place.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { get } from "./api";
import { Block, FEW, useBlocks } from "./blocks";
import { n, plural } from "./parts";
import { partOf } from "./prompt";
import { params, go } from "./route";
import type { Prompt as Loaded, PromptRow } from "./types";
import { Chip, type Key } from "./vessel";

/** Characters of a closed part. */
const SHORT = 900;
/** Characters of an open part in which the words are marked. */
const MARKED = 200_000;

interface Shown {
  row: PromptRow;
  i: number;
}

/** The height of a part that is not drawn yet, in pixels: its head, and the lines of its text. */
const guess = ({ row }: Shown): number => (row.sent ? 56 + 21 * Math.min(8, row.text.length / 110) : 44);

export function Parts({ loaded, colours }: { loaded: Loaded; colours: Map<string, Key> }) {
  const only = params.value.get("show") ?? "all";
  const part = params.value.get("part");
  const words = params.value.get("find") ?? "";
  const hit = useSignal(0);
  const box = useRef<HTMLDivElement>(null);
  const lower = useMemo(() => {
    let made: string[] | null = null;
    return () => (made ??= loaded.rows.map((row) => `${row.role} ${row.name}\n${row.text}`.toLowerCase()));
  }, [loaded]);
  useEffect(() => {
    const idle = requestIdleCallback(lower);
    return () => cancelIdleCallback(idle);
  }, [lower]);
  const shown = useMemo(
    () =>
      loaded.rows
        .map((row, i) => ({ row, i }))
        .filter(({ row }) => (part === null || partOf(row) === part) && (only === "all" || (only === "sent" ? row.sent : !row.sent || row.taken !== null))),
    [loaded, part, only],
  );
  const wanted = words.trim().toLowerCase();
  const hits = useMemo(() => (wanted ? shown.filter(({ i }) => lower()[i]!.includes(wanted)).map(({ i }) => i) : []), [shown, wanted]);
  const found = useMemo(() => new Set(hits), [hits]);
  const blocks = useBlocks(shown);
  useEffect(() => {
    hit.value = 0;
  }, [wanted]);
  const current = hits[hit.value % Math.max(1, hits.length)];
  useEffect(() => {
    if (current === undefined) return;
    requestAnimationFrame(() => box.current?.querySelector(`[data-part="${current}"]`)?.scrollIntoView({ block: "center" }));
  }, [current, hits]);
  const turn = (way: number) => (hit.value = (hit.value + way + hits.length) % Math.max(1, hits.length));
  const draw = ({ row, i }: Shown) => (
    <Part key={i} row={row} i={i} loaded={loaded} at={colours.get(partOf(row))} found={i === current ? wanted : ""} hit={found.has(i)} whole={only === "all" && !part} />
  );
  return (
    <section class="card parts" aria-label="The prompt">
      <div class="tools">
        <input
          type="search"
          data-search
          placeholder="Search this prompt  ( / )"
          aria-label="Search this prompt"
          value={words}
          onInput={(event) => go("prompt", { find: event.currentTarget.value }, true)}
          onKeyDown={(event) => event.key === "Enter" && hits.length && (event.preventDefault(), turn(event.shiftKey ? -1 : 1))}
        />
        {wanted && (
          <span class="soft" role="status" data-hits={hits.length}>
            {hits.length ? `${hit.value + 1} of ${plural(hits.length, "part")}` : "not found"}
          </span>
        )}
        <select aria-label="Which parts" value={only} onChange={(event) => go("prompt", { show: event.currentTarget.value === "all" ? null : event.currentTarget.value }, true)}>
          <option value="all">sent and left out</option>
          <option value="sent">sent</option>
          <option value="changed">left out or shortened</option>
        </select>
        {part && <button onClick={() => go("prompt", { part: null }, true)}>all parts</button>}
      </div>
      <div class="text-parts" ref={box}>
        <ol>
          <Ruler loaded={loaded} after={-1} />
        </ol>
        {blocks.map((items, at) => {
          const marks = items.filter(({ i }) => found.has(i)).map(({ i }) => (i === current ? `${i} ${wanted}` : i));
          return <Block key={at} items={items} draw={draw} guess={guess} needed={at === 0 || shown.length <= FEW || items.some(({ i }) => i === current)} state={marks.join()} />;
        })}
      </div>
      {!shown.length && <p class="soft">{only === "changed" ? "It was sent as it came: nothing was left out or shortened." : "No part matches."}</p>}
    </section>
  );
}

function Ruler({ loaded, after }: { loaded: Loaded; after: number }) {
  return (
    <>
      {loaded.rulers
        .filter((each) => each.after === after)
        .map((each) => (
          <li key={each.text} class="ruler">
            <span>{each.text}</span> <b class="num">{n(each.units)}</b>
          </li>
        ))}
    </>
  );
}

interface PartProps {
  row: PromptRow;
  i: number;
  loaded: Loaded;
  at: Key | undefined;
  found: string;
  hit: boolean;
  whole: boolean;
}

function Part({ row, i, loaded, at, found, hit, whole }: PartProps) {
  const open = useSignal(false);
  const rest = useSignal<string | null>(null);
  const text = rest.value ?? row.text;
  const isOpen = open.value || found !== "";
  const long = text.length > SHORT || text.split("\n", 13).length > 12;
  const toggle = async () => {
    open.value = !isOpen;
    if (open.value && rest.value === null && row.chars > row.text.length && loaded.session)
      rest.value = await get<{ text: string }>("prompt_part", { session: loaded.session, step: String(loaded.step), at: String(i) }).then((got) => got.text, (error: Error) => error.message);
  };
  const closed = !row.sent && !isOpen;
  return (
    <>
      <li class={`part${row.sent ? "" : " out"}${row.taken ? " cut" : ""}${isOpen ? " open" : ""}`} data-part={i} style={{ "--part": at?.colour ?? "var(--glass)" }}>
        <button class="part-head" data-row aria-expanded={isOpen} onClick={() => void toggle()}>
          <Chip at={at} />
          <b>{titled(row)}</b>
          {row.name && <code class="clip">{row.name}</code>}
          {!["whole", "system prompt", "memory", "summary"].includes(row.state) && <span class={`badge ${row.sent ? "cut" : "dropped"}`}>{row.state}</span>}
          {hit && !found && <span class="badge back">found</span>}
          {closed && <span class="clip soft">{row.text.slice(0, 160)}</span>}
          <span class="grow" />
          <span class="num">
            {n(row.units)}
            {row.sent && row.was !== null && row.was > row.units && <small> of {n(row.was)}</small>}
            {!row.sent && <small> not sent</small>}
          </span>
        </button>
        {(isOpen || !row.sent || row.taken) && row.why && !closed && <p class="why">{row.why}</p>}
        {closed ? null : isOpen && row.taken ? (
          <pre tabIndex={0}>
            {row.taken.map(([sign, piece], at) => (sign === "-" ? <del key={at}>{piece}</del> : sign === "+" ? <ins key={at}>{piece}</ins> : <span key={at}>{piece}</span>))}
          </pre>
        ) : text ? (
          <pre tabIndex={isOpen ? 0 : undefined} class={isOpen ? "" : "short"}>
            {found ? <Marked text={text.slice(0, MARKED)} words={found} /> : isOpen ? text : text.slice(0, SHORT)}
          </pre>
        ) : null}
        {!closed && (long || row.taken) && (
          <button class="more" onClick={() => void toggle()} tabIndex={-1}>
            {isOpen ? "Show less" : row.taken ? "Show what was taken out" : `Show all ${n(row.chars)} characters`}
          </button>
        )}
      </li>
      {whole && <Ruler loaded={loaded} after={i} />}
    </>
  );
}

const titled = (row: PromptRow): string => (row.category === "summary" || row.category === "memory" ? row.category : row.category === "tool results" || row.role === "tool" ? "tool result" : row.role);

function Marked({ text, words }: { text: string; words: string }) {
  const parts: (string | preact.JSX.Element)[] = [];
  const lower = text.toLowerCase();
  let at = 0;
  for (let next = lower.indexOf(words); next >= 0 && parts.length < 400; next = lower.indexOf(words, at)) {
    parts.push(text.slice(at, next), <mark key={next}>{text.slice(next, next + words.length)}</mark>);
    at = next + words.length;
  }
  return (
    <>
      {parts}
      {text.slice(at)}
    </>
  );
}
