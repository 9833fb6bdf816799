// Context now: what fills the window, what each part costs, and what makes it smaller.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { get, load } from "./api";
import { Bar, dollars, Empty, Failed, Head, Long, n, plural, Problem, share, Waiting } from "./parts";
import { params, go, link, promptLink } from "./route";
import type { Context, Piece } from "./types";
import { Chip, type Key, keys, Vessel } from "./vessel";

export function ContextNow({ session }: { session: string | null }) {
  const found = useMemo(() => load<Context>(() => (session ? { view: "context", fields: { session } } : null)), [session]);
  useEffect(() => found.stop, [found]);
  const { value, problem, loading } = found.state.value;
  if (problem) return <Failed title="What fills it" text={problem} />;
  if (!session || (!loading && !value))
    return (
      <Empty>
        <h1>No sessions yet</h1>
        <p>
          A session with a store is recorded: <code>brim.Session(model=…, store=brim.open_store("sqlite:///brim.db"))</code>.
        </p>
      </Empty>
    );
  return value ? <Shown loaded={value} /> : <Waiting />;
}

function Shown({ loaded }: { loaded: Context }) {
  const { status, rows } = loaded;
  const letters = keys(rows.map((row) => row.name));
  const chosen = params.value.get("category");
  const choose = (name: string | null) => go("context", { category: name === chosen ? null : name });
  return (
    <>
      <Head title={loaded.id}>
        <p class="lead">
          {status.model ?? "no model named"} · <b>{n(status.used)}</b> of <b>{n(status.budget)}</b> {status.unit} (
          {share(status.used, status.budget)}) · window {n(status.window)} ({share(status.used, status.window)}) ·{" "}
          <span class={`badge ${status.exact ? "good" : "soft"}`}>{status.exact ? "exact" : "estimated"}</span>
          {status.used >= status.warning && <span class="badge warn">over the warning line of {n(status.warning)}</span>}
        </p>
        {loaded.kind === "loop" && (
          <p class="lead">
            Loop: {plural(loaded.iterations ?? 0, "iteration")}, {plural(status.sub_ticks, "sub-tick")}, {loaded.ended ? `ended: ${loaded.ended}` : "not ended"}. {loaded.goal}
          </p>
        )}
      </Head>
      {loaded.problem && <Problem text={loaded.problem} />}
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
          <Facts loaded={loaded} />
        </div>
        <div class="card">
          <Categories loaded={loaded} letters={letters} chosen={chosen} choose={choose} />
          <Sums loaded={loaded} />
        </div>
      </section>
      <Pieces session={loaded.id} pieces={loaded.pieces} letters={letters} chosen={chosen} unit={status.unit} />
    </>
  );
}

function Facts({ loaded: { status, settings } }: { loaded: Context }) {
  const facts: [string, string][] = [
    ["Free", n(Math.max(0, status.budget - status.used))],
    ["Peak", n(status.peak)],
    ["Counted by the provider", n(status.reported)],
    ["Reserved for the answer", n(settings?.window.reserve)],
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
  loaded: Context;
  letters: Map<string, Key>;
  chosen: string | null;
  choose: (name: string) => void;
}

function Categories({ loaded: { status, rows, pieces }, letters, chosen, choose }: CategoriesProps) {
  const free = Math.max(0, status.budget - status.used);
  return (
    <table class="wide">
      <thead>
        <tr>
          <th>Category</th>
          <th class="num">{status.unit}</th>
          <th class="num">of the budget</th>
          <th class="num">cost</th>
          <th>What makes it smaller</th>
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
            <td class="num" data-name="of the budget">{share(row.units, status.budget)}</td>
            <td class="num" data-name="cost">{dollars(row.cost_usd)}</td>
            <td class="soft" data-name="smaller by">{row.frees}</td>
          </tr>
        ))}
        <tr>
          <th scope="row"><span class="chip free" aria-hidden="true" /> free</th>
          <td class="num" data-name={status.unit}>{n(free)}</td>
          <td class="num" data-name="of the budget">{share(free, status.budget)}</td>
          <td />
          <td class="soft">available for new messages</td>
        </tr>
      </tbody>
    </table>
  );
}

/** The sum of the rows, by brim's count and by the provider's. */
function Sums({ loaded: { id, status, difference } }: { loaded: Context }) {
  return (
    <p class="soft">
      {difference
        ? `The rows add up to ${n(status.used + difference)}: ${n(status.used)} by brim's count, and ${n(difference)} more that the provider counted for the last prompt.`
        : `The rows add up to ${n(status.used)}${difference === 0 ? ", and the provider counted the last prompt the same" : "; the provider reported no count for the last prompt"}.`}{" "}
      This is the current size; the <a href={link("timeline")}>timeline</a> shows it for each step, and the <a href={promptLink(id, null)}>last prompt</a> what was sent. To try another budget:{" "}
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
          {plural(shown.length, "piece")}{chosen ? ` of ${chosen}` : ""}
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
          <option value="order">in prompt order</option>
          <option value="size">largest first</option>
        </select>
        {chosen && <button onClick={() => go("context", { category: null })}>all categories</button>}
      </div>
      <Long
        items={shown}
        height={48}
        label="Pieces of the context"
        row={(piece) => (
          <button class="row" data-row onClick={() => (open.value = open.value === piece.at ? null : piece.at)} aria-expanded={open.value === piece.at}>
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
  typeof piece.at === "string" ? (piece.at.startsWith("row ") ? "" : "in every prompt") : piece.age === 0 ? "newest turn" : piece.age === 1 ? "1 turn ago" : `${piece.age} turns ago`;

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
                (loaded) => (rest.value = loaded.text),
                (error: Error) => (problem.value = error.message),
              )
            }
          >
            All {n(piece.chars)} characters
          </button>
        )}
        <button onClick={close}>Close</button>
      </div>
      {problem.value && <Problem text={problem.value} />}
      <pre tabIndex={0}>{text}</pre>
      {piece.chars > text.length && <p class="soft">The first {n(text.length)} of {n(piece.chars)} characters, which are the ones that the search covers.</p>}
    </div>
  );
}
