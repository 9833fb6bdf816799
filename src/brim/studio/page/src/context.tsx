// Context now: what fills the window, what each part costs and what frees it, down to the text.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { changed, get, load } from "./api";
import { Bar, dollars, Empty, Failed, Head, Long, n, Problem, share, Waiting } from "./parts";
import { asked, go, link } from "./route";
import type { Context, Piece, Session } from "./types";
import { Chip, type Key, keys, Vessel } from "./vessel";

const EVERY = 4000;

export function ContextNow({ session }: { sessions: Session[]; session: string | null }) {
  const found = useMemo(() => load<Context>(() => (session ? { view: "context", asked: { session } } : null)), [session]);
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && (changed.value += 1), EVERY);
    return () => (clearInterval(timer), found.stop());
  }, [found]);
  const { value, problem, loading } = found.state.value;
  if (problem) return <Failed title="Context now" told={problem} />;
  if (!session || (!loading && !value))
    return (
      <Empty>
        <h1>No sessions yet</h1>
        <p>
          A session writes itself down when it has a store: <code>brim.Session(model=…, store=brim.open_store("sqlite:///brim.db"))</code>.
        </p>
      </Empty>
    );
  return value ? <Shown told={value} /> : <Waiting />;
}

function Shown({ told }: { told: Context }) {
  const { status, rows } = told;
  const letters = keys(rows.map((row) => row.name));
  const chosen = asked.value.get("category");
  const choose = (name: string | null) => go("context", { category: name === chosen ? null : name });
  return (
    <>
      <Head title={told.id}>
        <p class="lead">
          {status.model ?? "no model named"} · <b>{n(status.used)}</b> of <b>{n(status.budget)}</b> {status.unit} usable (
          {share(status.used, status.budget)}) · raw window {n(status.window)} ({share(status.used, status.window)}) ·{" "}
          <span class={`badge ${status.exact ? "good" : "soft"}`}>{status.exact ? "exact" : "estimated"}</span>
          {status.used >= status.warning && <span class="badge warn">over the warning line of {n(status.warning)}</span>}
        </p>
        {told.kind === "loop" && (
          <p class="lead">
            Loop: {told.iterations ?? 0} iterations, {status.sub_ticks} sub-ticks, {told.ended ? `ended: ${told.ended}` : "not ended"}. {told.goal}
          </p>
        )}
      </Head>
      {told.problem && <Problem told={told.problem} />}
      <section class="split" aria-label="What fills the context">
        <div class="card">
          <Vessel
            shares={rows.filter((row) => row.units > 0 && row.name !== "unattributed")}
            letters={letters}
            brim={status.budget}
            scale={Math.max(status.budget * 1.08, status.used)}
            warning={status.warning}
            unit={status.unit}
            chosen={chosen}
            onChoose={choose}
          />
          <Facts told={told} />
        </div>
        <div class="card">
          <Categories told={told} letters={letters} chosen={chosen} choose={choose} />
          <Sums told={told} />
        </div>
      </section>
      <Pieces session={told.id} pieces={told.pieces} letters={letters} chosen={chosen} unit={status.unit} />
    </>
  );
}

function Facts({ told: { status, settings } }: { told: Context }) {
  const facts: [string, string][] = [
    ["Free below the brim", n(Math.max(0, status.budget - status.used))],
    ["Peak", n(status.peak)],
    ["Provider counted", n(status.reported)],
    ["Kept for the answer", n(settings?.window.reserve)],
  ];
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface CategoriesProps {
  told: Context;
  letters: Map<string, Key>;
  chosen: string | null;
  choose: (name: string) => void;
}

function Categories({ told: { status, rows, pieces }, letters, chosen, choose }: CategoriesProps) {
  const free = Math.max(0, status.budget - status.used);
  return (
    <table class="wide">
      <thead>
        <tr>
          <th>Category</th>
          <th class="num">{status.unit}</th>
          <th class="num">of the brim</th>
          <th class="num">cost</th>
          <th>What frees it</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.name} class={chosen === row.name ? "on" : ""}>
            <th scope="row">
              {pieces.some((piece) => piece.category === row.name) ? (
                <button class="plain" aria-pressed={chosen === row.name} onClick={() => choose(row.name)}>
                  <Chip at={letters.get(row.name)} /> {row.name}
                </button>
              ) : (
                <span class="plain">
                  <Chip at={letters.get(row.name)} /> {row.name}
                </span>
              )}
            </th>
            <td class="num" data-name={status.unit}>{n(row.units)}</td>
            <td class="num" data-name="of the brim">{share(row.units, status.budget)}</td>
            <td class="num" data-name="cost">{dollars(row.cost_usd)}</td>
            <td class="soft" data-name="freed by">{row.frees}</td>
          </tr>
        ))}
        <tr>
          <th scope="row"><span class="chip free" aria-hidden="true">·</span> free</th>
          <td class="num" data-name={status.unit}>{n(free)}</td>
          <td class="num" data-name="of the brim">{share(free, status.budget)}</td>
          <td />
          <td class="soft">nothing to free: it is</td>
        </tr>
      </tbody>
    </table>
  );
}

/** Says what the rows add up to, by brim's count and by the provider's. */
function Sums({ told: { id, status, difference } }: { told: Context }) {
  return (
    <p class="soft">
      {difference
        ? `The rows add up to ${n(status.used + difference)}: ${n(status.used)} by brim's count, and ${n(difference)} that the provider counted for the last prompt beyond it.`
        : `The rows add up to ${n(status.used)}${difference === 0 ? ", and the provider counted the last prompt just so" : "; the provider has told no count of the last prompt"}.`}{" "}
      Context size now; the <a href={link("timeline")}>timeline</a> has it per call, the <a href={link("wire")}>wire</a> what was sent. To try another budget:{" "}
      <a href={link("lab", { source: `session:${id}` })}>open it in the budget lab</a>.
    </p>
  );
}

interface PiecesProps {
  session: string;
  pieces: Piece[];
  letters: Map<string, Key>;
  chosen: string | null;
  unit: string;
}

function Pieces({ session, pieces, letters, chosen, unit }: PiecesProps) {
  const words = useSignal("");
  const order = useSignal("order");
  const open = useSignal<number | string | null>(null);
  const wanted = words.value.toLowerCase();
  const shown = pieces.filter((piece) => (!chosen || piece.category === chosen) && (!wanted || piece.text.toLowerCase().includes(wanted)));
  if (order.value === "size") shown.sort((a, b) => b.units - a.units);
  const most = Math.max(1, ...pieces.map((piece) => piece.units));
  const whole = pieces.find((piece) => piece.at === open.value);
  return (
    <section class="card" aria-label="Pieces">
      <div class="tools">
        <h2>
          {n(shown.length)} pieces{chosen ? ` of ${chosen}` : ""}
        </h2>
        <input
          type="search"
          placeholder="Search the text  ( / )"
          aria-label="Search the text"
          data-search
          value={words.value}
          onInput={(event) => (words.value = event.currentTarget.value)}
        />
        <select aria-label="Order" value={order.value} onChange={(event) => (order.value = event.currentTarget.value)}>
          <option value="order">in order</option>
          <option value="size">largest first</option>
        </select>
        {chosen && <button onClick={() => go("context", { category: null })}>all categories</button>}
      </div>
      <Long
        items={shown}
        height={48}
        label="Pieces of the context"
        row={(piece) => (
          <button class="row" onClick={() => (open.value = open.value === piece.at ? null : piece.at)} aria-expanded={open.value === piece.at}>
            <Chip at={letters.get(piece.category)} />
            <span class="what">
              <b>{piece.category}</b> <span class="soft">{age(piece)}</span>
              <span class="clip soft">{piece.text.slice(0, 200) || "(no text)"}</span>
            </span>
            <Bar part={piece.units} whole={most} colour={letters.get(piece.category)?.colour ?? "var(--water)"} />
            <span class="num">{n(piece.units)}</span>
          </button>
        )}
      />
      {whole && <Whole key={whole.at} session={session} piece={whole} unit={unit} close={() => (open.value = null)} />}
    </section>
  );
}

const age = (piece: Piece): string =>
  typeof piece.at === "string" ? "in every prompt" : piece.age === 0 ? "newest turn" : piece.age === 1 ? "1 turn ago" : `${piece.age} turns ago`;

function Whole({ session, piece, unit, close }: { session: string; piece: Piece; unit: string; close: () => void }) {
  const rest = useSignal<string | null>(null);
  const problem = useSignal<string | null>(null);
  const text = rest.value ?? piece.text;
  return (
    <div class="text">
      <div class="tools">
        <h3>
          {typeof piece.at === "number" ? `Message ${piece.at + 1}: ${piece.role}` : piece.at}, {n(piece.units)} {unit}
        </h3>
        {piece.chars > text.length && (
          <button
            onClick={() =>
              get<{ text: string }>("piece", { session, at: String(piece.at) }).then(
                (told) => (rest.value = told.text),
                (error: Error) => (problem.value = error.message),
              )
            }
          >
            All {n(piece.chars)} characters
          </button>
        )}
        <button onClick={close}>Close</button>
      </div>
      {problem.value && <Problem told={problem.value} />}
      <pre tabIndex={0}>{text}</pre>
      {piece.chars > text.length && <p class="soft">The first {n(text.length)} of {n(piece.chars)} characters, which are those that are searched.</p>}
    </div>
  );
}
