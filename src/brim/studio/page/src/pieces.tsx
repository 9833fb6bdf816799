// The fit at a budget: its sums, the drawing, and every section or turn with its state.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { get } from "./api";
import { dollars, n, plural, Rows, share } from "./parts";
import type { Fit, Piece } from "./types";
import { Chip, type Key, keys } from "./categories";
import { Ribbon, type Run } from "./ribbon";

/** The states of a piece, in the words of the other screens. */
const STATES: Record<string, string> = { dropped: "left out", cut: "shortened", form: "shortened" };

/** For each dropped piece, the budget at which it returns, and whether one token less drops it. */
export type Back = Record<string, [number, boolean]>;

interface KeptProps {
  fit: Fit;
  source: string;
  back: Back;
  set: (units: number) => void;
}

export function Kept({ fit, source, back, set }: KeptProps) {
  const chosen = useSignal<string | null>(null);
  const groups = useMemo(() => [...new Set(fit.pieces.map((piece) => piece.group))], [fit]);
  const letters = keys(groups);
  const choose = (name: string) => (chosen.value = chosen.value === name ? null : name);
  const runs = useMemo(() => [...fit.pieces.map((piece): Run => [piece.group, piece.used]), ["separators", fit.joins] as Run], [fit]);
  return (
    <>
      <Sums fit={fit} />
      <section class="card pieces" aria-label="The pieces">
        <Ribbon runs={runs} used={fit.used} budget={fit.budget} unit={fit.unit} colours={letters} />
        <div class="presets groups" role="group" aria-label="Categories">
          {groups.map((name) => (
            <button key={name} aria-pressed={chosen.value === name} onClick={() => choose(name)}>
              <Chip at={letters.get(name)} /> {name}
            </button>
          ))}
        </div>
        <List fit={fit} source={source} back={back} set={set} letters={letters} chosen={chosen.value} />
      </section>
    </>
  );
}

function Sums({ fit }: { fit: Fit }) {
  const losses = [fit.dropped && `${n(fit.dropped)} of ${n(fit.pieces.length)} left out`, fit.shortened && `${n(fit.shortened)} shortened`].filter(Boolean);
  return (
    <section class="card fit" aria-label="What this budget keeps">
      <dl class="facts" aria-live="polite">
        <div>
          <dt>Used</dt>
          <dd data-used={fit.used} data-budget={fit.budget}>
            {n(fit.used)} <small>{share(fit.used, fit.budget)}</small>
          </dd>
        </div>
        {fit.size && (
          <div>
            <dt title="The size of this step on every screen. The lab fits its messages, tools and system prompt.">As it was sent</dt>
            <dd data-sent={fit.size.used}>
              {n(fit.size.used)} <small>{fit.size.method}</small>
            </dd>
          </div>
        )}
        <div>
          <dt>Left out</dt>
          <dd>
            {n(fit.lost)} <small>{fit.unit}: {losses.join(", ") || "everything fits whole"}</small>
          </dd>
        </div>
        <div>
          <dt>Predicted cost</dt>
          <dd>{dollars(fit.cost_usd)}</dd>
        </div>
        <div>
          <dt>Counted</dt>
          <dd>{fit.exact ? "exactly" : "as an estimate"}</dd>
        </div>
      </dl>
      {fit.warnings.map((text) => (
        <p class="guard" key={text}>
          {text}
        </p>
      ))}
    </section>
  );
}

interface ListProps extends KeptProps {
  letters: Map<string, Key>;
  chosen: string | null;
}

function List({ fit, source, back, set, letters, chosen }: ListProps) {
  const only = useSignal("all");
  const find = useSignal("");
  const open = useSignal<string | null>(null);
  const wanted = find.value.toLowerCase();
  const rows = fit.pieces.filter(
    (piece) =>
      (only.value !== "lost" || piece.used < piece.size) &&
      (only.value !== "dropped" || piece.state === "dropped") &&
      `${piece.name} ${piece.excerpt}`.toLowerCase().includes(wanted) &&
      (chosen === null || piece.group === chosen),
  );
  const noun = fit.kind === "sections" ? "section" : "turn";
  return (
    <>
      <div class="tools">
        <h2>{rows.length === fit.pieces.length ? plural(rows.length, noun) : `${n(rows.length)} of ${plural(fit.pieces.length, noun)}`}</h2>
      </div>
      <div class="tools">
        <input type="search" placeholder="Search  ( / )" aria-label="Search the pieces" data-search value={find.value} onInput={(event) => (find.value = event.currentTarget.value)} />
        <select aria-label="Which pieces" value={only.value} onChange={(event) => (only.value = event.currentTarget.value)}>
          <option value="all">all</option>
          <option value="lost">left out or shortened</option>
          <option value="dropped">left out</option>
        </select>
      </div>
      {open.value !== null && <Whole source={source} name={open.value} close={() => (open.value = null)} />}
      <div class="long" tabIndex={0} role="region" aria-label="Pieces">
        <Rows items={rows} draw={(piece) => <Line key={piece.name} piece={piece} at={letters.get(piece.group)} back={back[piece.name]} set={set} open={open} />} />
      </div>
      {!rows.length && <p class="soft">No piece matches.</p>}
    </>
  );
}

/** The text of a piece, above the list, so that it is seen where it was opened. */
function Whole({ source, name, close }: { source: string; name: string; close: () => void }) {
  const text = useSignal("");
  useEffect(() => void get<{ text: string }>("piece", { source, name }).then((got) => (text.value = got.text), (error: Error) => (text.value = error.message)), [source, name]);
  return (
    <div class="text">
      <div class="tools">
        <h3>{name}</h3>
        <button onClick={close}>Close</button>
      </div>
      <pre tabIndex={0}>{text.value || "It has no text."}</pre>
    </div>
  );
}

interface LineProps {
  piece: Piece;
  at: Key | undefined;
  back: Back[string] | undefined;
  set: (units: number) => void;
  open: Signal<string | null>;
}

function Line({ piece: { name, size, used, state, reason, priority, excerpt }, at, back, set, open }: LineProps) {
  const isTurn = name.startsWith("messages[");
  return (
    <li class={`piece ${state}`}>
      <Chip at={at} />
      <div class="what">
        <div>
          <button class="plain" data-row aria-expanded={open.value === name} onClick={() => (open.value = open.value === name ? null : name)}>
            <b>{isTurn ? excerpt || name : name}</b>
          </button>{" "}
          <span class={`badge ${state}`}>{STATES[state] ?? state}</span>
          <span class="soft"> {isTurn ? name : `${priority} · ${excerpt}`}</span>
        </div>
        <div class="clip soft" title={reason}>
          {back && (
            <button class="badge back" title={`Set the budget to ${n(back[0])}`} onClick={() => set(back[0])}>
              returns at {back[1] ? "" : "or below "}
              {n(back[0])}
            </button>
          )}
          {reason}
        </div>
      </div>
      <span class="num">
        {n(used)}
        <small> of {n(size)}</small>
      </span>
    </li>
  );
}
