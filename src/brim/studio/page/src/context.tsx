// Context now: what fills the window, what each part costs and what frees it, down to the text.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { changed, load } from "./api";
import { Bar, dollars, Empty, Head, Long, n, Problem, share, Waiting } from "./parts";
import { asked, go, link } from "./route";
import type { Context, Piece, Session } from "./types";
import { Chip, keys, Vessel } from "./vessel";

const EVERY = 4000;

export function ContextNow({ session }: { sessions: Session[]; session: string | null }) {
  const found = useMemo(() => load<Context>(() => (session ? { view: "context", asked: { session } } : null)), [session]);
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && (changed.value += 1), EVERY);
    return () => (clearInterval(timer), found.stop());
  }, [found]);
  const { value, problem, loading } = found.state.value;
  if (problem) return <Problem told={problem} />;
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
  const free = Math.max(0, status.budget - status.used);
  return (
    <>
      <Head title={told.id}>
        <p class="lead">
          {status.model ?? "no model named"} · <b>{n(status.used)}</b> of <b>{n(status.budget)}</b> {status.unit} usable (
          {share(status.used, status.budget)}) · raw window {n(status.window)} ·{" "}
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
            shares={rows}
            letters={letters}
            brim={status.budget}
            scale={Math.max(status.budget * 1.08, status.used)}
            warning={status.warning}
            unit={status.unit}
            chosen={chosen}
            onChoose={choose}
          />
          <dl class="facts">
            <div>
              <dt>Free</dt>
              <dd>{n(free)}</dd>
            </div>
            <div>
              <dt>Peak</dt>
              <dd>{n(status.peak)}</dd>
            </div>
            <div>
              <dt>Provider counted</dt>
              <dd>{n(status.reported)}</dd>
            </div>
            <div>
              <dt>Kept for the answer</dt>
              <dd>{n(told.settings?.window.reserve)}</dd>
            </div>
          </dl>
        </div>
        <div class="card">
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
                    <button class="plain" aria-pressed={chosen === row.name} onClick={() => choose(row.name)}>
                      <Chip at={letters.get(row.name)} /> {row.name}
                    </button>
                  </th>
                  <td class="num" data-name={status.unit}>{n(row.units)}</td>
                  <td class="num" data-name="of the brim">{share(row.units, status.budget)}</td>
                  <td class="num" data-name="cost">{dollars(row.cost_usd)}</td>
                  <td class="soft" data-name="frees it">{row.frees}</td>
                </tr>
              ))}
              <tr>
                <th scope="row"><span class="chip free" aria-hidden="true">·</span> free</th>
                <td class="num" data-name={status.unit}>{n(free)}</td>
                <td class="num" data-name="of the brim">{share(free, status.budget)}</td>
                <td />
                <td />
              </tr>
            </tbody>
          </table>
          <p class="soft">
            The rows add up to {n(status.used)}. Context size now; the <a href={link("timeline")}>timeline</a> has it per call. To try another budget:{" "}
            <a href={link("lab", { source: `session:${told.id}` })}>open it in the budget lab</a>.
          </p>
        </div>
      </section>
      <Pieces pieces={told.pieces} letters={letters} chosen={chosen} unit={status.unit} />
    </>
  );
}

function Pieces(props: { pieces: Piece[]; letters: ReturnType<typeof keys>; chosen: string | null; unit: string }) {
  const words = useSignal("");
  const order = useSignal("order");
  const open = useSignal<number | null>(null);
  const wanted = words.value.toLowerCase();
  const shown = props.pieces.filter(
    (piece) => (!props.chosen || piece.category === props.chosen) && (!wanted || piece.text.toLowerCase().includes(wanted)),
  );
  if (order.value === "size") shown.sort((a, b) => b.units - a.units);
  const most = Math.max(1, ...props.pieces.map((piece) => piece.units));
  const whole = props.pieces.find((piece) => piece.at === open.value);
  return (
    <section class="card" aria-label="Messages">
      <div class="tools">
        <h2>
          {shown.length} messages{props.chosen ? ` of ${props.chosen}` : ""}
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
      </div>
      <Long
        items={shown}
        height={48}
        label="Messages of the context"
        row={(piece) => (
          <button class="row" onClick={() => (open.value = open.value === piece.at ? null : piece.at)} aria-expanded={open.value === piece.at}>
            <Chip at={props.letters.get(piece.category)} />
            <span class="what">
              <b>{piece.category}</b> <span class="soft">{piece.age === 0 ? "newest turn" : `${piece.age} turns ago`}</span>
              <span class="clip soft">{piece.text.slice(0, 200) || "(no text)"}</span>
            </span>
            <Bar part={piece.units} whole={most} colour={props.letters.get(piece.category)?.colour ?? "var(--water)"} />
            <span class="num">{n(piece.units)}</span>
          </button>
        )}
      />
      {whole && (
        <div class="text">
          <div class="tools">
            <h3>
              Message {whole.at + 1}: {whole.role}, {n(whole.units)} {props.unit}
            </h3>
            <button onClick={() => (open.value = null)}>Close</button>
          </div>
          <pre tabIndex={0}>{whole.text}</pre>
          {whole.chars > whole.text.length && <p class="soft">The first {n(whole.text.length)} of {n(whole.chars)} characters.</p>}
        </div>
      )}
    </section>
  );
}
