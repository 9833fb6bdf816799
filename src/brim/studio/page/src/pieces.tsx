// The fit at a budget: its sums, the drawing, and every section or turn with its state.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { get } from "./api";
import type { Back, Bench, Shown } from "./bench";
import { dollars, Long, n, plural, share } from "./parts";
import { go, screen } from "./route";
import { Saved } from "./saved";
import { Chip, type Key, keys, Vessel } from "./vessel";

/** What became of a piece, in the words of the other screens. */
const STATES: Record<string, string> = { dropped: "left out", cut: "shortened", form: "shortened" };
const words = (text: string) => text.replaceAll("_", " ");
const change = (value: number) => (value === 0 ? "as recorded" : `${dollars(Math.abs(value))} ${value < 0 ? "less" : "more"} than recorded`);

interface KeptProps {
  work: Bench;
  fit: Shown;
  source: string;
  beside: string;
}

export function Kept({ work, fit, source, beside }: KeptProps) {
  const other = work.other.value?.fits ? (work.other.value as Shown) : null;
  const chosen = useSignal<string | null>(null);
  const letters = useMemo(() => keys(fit.pieces.groups), [fit.pieces]);
  const { shares, spilled } = filled(fit);
  return (
    <>
      <Strip fit={fit} other={other} beside={beside} />
      <section class="split lab">
        <div class="card">
          <Vessel
            shares={shares}
            spilled={spilled}
            letters={letters}
            brim={fit.budget}
            scale={Math.max(fit.budget, fit.wanted) * 1.06}
            unit={fit.unit}
            columns={18}
            rows={18}
            chosen={chosen.value}
            onChoose={(each) => (chosen.value = chosen.value === each ? null : each)}
          />
          {fit.pieces.groups.length < fit.pieces.names.length && <Groups letters={letters} chosen={chosen.value} choose={(each) => (chosen.value = each)} />}
        </div>
        <div class="card pieces">
          <List work={work} fit={fit} other={other} source={source} beside={beside} letters={letters} chosen={chosen.value} />
        </div>
      </section>
    </>
  );
}

/** Returns the tokens that each group uses, and those that are left out. */
function filled(fit: Shown) {
  const { groups, group, sizes } = fit.pieces;
  const used = new Array<number>(groups.length).fill(0);
  const lost = new Array<number>(groups.length).fill(0);
  group.forEach((at, i) => {
    used[at]! += fit.now.used[i]!;
    lost[at]! += Math.max(0, sizes[i]! - fit.now.used[i]!);
  });
  const shares = groups.map((name, i) => ({ name, units: used[i]! })).filter((each) => each.units > 0);
  if (fit.joins > 0) shares.push({ name: "separators", units: fit.joins });
  return { shares, spilled: groups.map((name, i) => ({ name, units: lost[i]! })).filter((each) => each.units > 0) };
}

function Groups({ letters, chosen, choose }: { letters: Map<string, Key>; chosen: string | null; choose: (name: string | null) => void }) {
  return (
    <div class="presets groups" role="group" aria-label="Categories">
      {[...letters].map(([name, key]) => (
        <button key={name} aria-pressed={chosen === name} onClick={() => choose(chosen === name ? null : name)}>
          <Chip at={key} /> {name}
        </button>
      ))}
    </div>
  );
}

function Strip({ fit, other, beside }: { fit: Shown; other: Shown | null; beside: string }) {
  const named = words(beside.replace(":", " "));
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
            <dt title="The size of this step on every screen. The lab fits what can be fitted again: its messages, tools and system prompt.">As it was sent</dt>
            <dd data-sent={fit.size.used}>
              {n(fit.size.used)} <small>{fit.size.method}</small>
            </dd>
          </div>
        )}
        <div>
          <dt>Left out</dt>
          <dd>
            {n(fit.lost)} <small>{fit.unit}: {lossOf(fit)}</small>
          </dd>
        </div>
        <div>
          <dt title="What stands at the start and is the same as in the recorded prompt">Unchanged prefix</dt>
          <dd>
            {n(fit.prefix)} <small>of {n(fit.prefix_of)}</small>
          </dd>
        </div>
        <div>
          <dt>Predicted cost</dt>
          <dd>
            {dollars(fit.cost_usd)}{" "}
            <small>
              {fit.cost_change_usd === null ? "change unknown" : change(fit.cost_change_usd)}
              {fit.cost_cached_usd !== null && `; ${dollars(fit.cost_cached_usd)} with the prefix cached`}
            </small>
          </dd>
        </div>
        <div>
          <dt>Counted</dt>
          <dd>{fit.exact ? "exact" : "estimated"}</dd>
        </div>
      </dl>
      {other && (
        <p class="soft beside-sums">
          With <b>{named}</b>: {n(other.used)} used ({signed(other.used - fit.used)}), {n(other.lost)} left out, {n(other.prefix)} of the prefix unchanged, cost {dollars(other.cost_usd)}.
        </p>
      )}
      {fit.warnings.map((loaded) => (
        <p class="guard" key={loaded}>
          {loaded}
        </p>
      ))}
    </section>
  );
}

/** Says how the tokens that are missing went: whole messages left out, or messages shortened. */
function lossOf(fit: Shown): string {
  const told = [fit.dropped && `${n(fit.dropped)} of ${n(fit.pieces.names.length)} left out`, fit.shortened && `${n(fit.shortened)} shortened`].filter(Boolean);
  return told.join(", ") || "everything fits whole";
}

const signed = (value: number) => `${value < 0 ? "-" : "+"}${n(Math.abs(value))}`;

interface ListProps extends KeptProps {
  other: Shown | null;
  letters: Map<string, Key>;
  chosen: string | null;
}

function List({ work, fit, other, source, beside, letters, chosen }: ListProps) {
  const only = useSignal("all");
  const find = useSignal("");
  const saving = useSignal(false);
  const open = useSignal<number | null>(null);
  const { names, sizes, group, groups, excerpts } = fit.pieces;
  const differs = (i: number) =>
    other !== null && (other.now.used[i] !== fit.now.used[i] || other.now.states[other.now.state[i]!] !== fit.now.states[fit.now.state[i]!]);
  const wanted = find.value.toLowerCase();
  const rows: number[] = [];
  const dropped = fit.now.states.indexOf("dropped");
  for (let i = 0; i < names.length; i++) {
    if (only.value === "lost" && fit.now.used[i]! >= sizes[i]!) continue;
    if (only.value === "dropped" && fit.now.state[i] !== dropped) continue;
    if (only.value === "differ" && !differs(i)) continue;
    if (wanted && !`${names[i]} ${excerpts[i] ?? ""}`.toLowerCase().includes(wanted)) continue;
    if (chosen !== null && groups[group[i]!] !== chosen) continue;
    rows.push(i);
  }
  const back = work.back.value;
  const noun = fit.kind === "sections" ? "section" : "turn";
  const problem = work.other.value?.problem;
  return (
    <>
      <div class="tools">
        <h2>
          {rows.length === names.length ? plural(names.length, noun) : `${n(rows.length)} of ${plural(names.length, noun)}`}
        </h2>
        <button aria-expanded={saving.value} onClick={() => (saving.value = !saving.value)}>
          Save as test files
        </button>
      </div>
      {saving.value && <Saved source={source} budget={fit.budget} />}
      <div class="tools">
        <input type="search" placeholder="Search  ( / )" aria-label="Search the pieces" data-search value={find.value} onInput={(event) => (find.value = event.currentTarget.value)} />
        <select aria-label="Which pieces" value={only.value} onChange={(event) => (only.value = event.currentTarget.value)}>
          <option value="all">all</option>
          <option value="lost">left out or shortened</option>
          <option value="dropped">left out</option>
          {other && <option value="differ">different</option>}
        </select>
        <select aria-label="Compare with another policy" value={beside} onChange={(event) => go(screen.peek(), { beside: event.currentTarget.value }, true)}>
          <option value="">compare with…</option>
          {Object.entries(fit.choices ?? {}).map(([name, values]) =>
            values.map((each) => (
              <option key={`${name}:${each}`} value={`${name}:${each}`}>
                {name} {words(each)}
              </option>
            )),
          )}
        </select>
      </div>
      {problem && <p class="guard">The comparison: {problem}</p>}
      {open.value !== null && <Whole source={source} name={names[open.value]!} close={() => (open.value = null)} />}
      <Long
        items={rows}
        height={52}
        label="Pieces"
        row={(i) => <Line work={work} fit={fit} other={other && differs(i) ? other : null} i={i} at={letters.get(groups[group[i]!]!)} back={back[names[i]!]} open={open} />}
      />
      {!rows.length && <p class="soft">Nothing matches.</p>}
    </>
  );
}

interface LineProps {
  work: Bench;
  fit: Shown;
  other: Shown | null;
  i: number;
  at: Key | undefined;
  back: Back[string] | undefined;
  open: Signal<number | null>;
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

function Line({ work, fit, other, i, at, back, open }: LineProps) {
  const { names, sizes, priorities, excerpts } = fit.pieces;
  const state = fit.now.states[fit.now.state[i]!]!;
  const isTurn = names[i]!.startsWith("messages[");
  const reason = fit.now.reasons[fit.now.reason[i]!]!;
  return (
    <div class={`piece ${state}${other ? " differs" : ""}`}>
      <Chip at={at} />
      <div class="what">
        <div>
          <button class="plain" data-row aria-expanded={open.value === i} onClick={() => (open.value = open.value === i ? null : i)}>
            <b>{isTurn ? excerpts[i] || names[i] : names[i]}</b>
          </button>{" "}
          <span class={`badge ${state}`}>{STATES[state] ?? state}</span>
          <span class="soft"> {isTurn ? names[i] : `${priorities[i]} · ${excerpts[i] ?? ""}`}</span>
        </div>
        <div class="clip soft" title={reason}>
          {back && <Returns name={names[i]!} back={back} work={work} budget={fit.budget} />}
          {reason}
        </div>
      </div>
      <span class="num">
        {n(fit.now.used[i])}
        <small> of {n(sizes[i])}</small>
        {other && (
          <small class="versus">
            {words(STATES[other.now.states[other.now.state[i]!]!] ?? other.now.states[other.now.state[i]!]!)} {n(other.now.used[i])}
          </small>
        )}
      </span>
    </div>
  );
}

/** The budget at which a piece returns: a button that sets it, or that searches for the exact one. */
function Returns({ name, back, work, budget }: { name: string; back: Back[string]; work: Bench; budget: number }) {
  const [units, exact] = back;
  return exact ? (
    <button class="badge back" title={`Set the budget to ${n(units)}`} onClick={() => work.want(units)}>
      returns at {n(units)}
    </button>
  ) : (
    <button class="badge back" title="Find the exact budget" onClick={() => void work.seek(budget, name)}>
      returns at or below {n(units)}
    </button>
  );
}
