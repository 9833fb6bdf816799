// Wire: the body as it was sent, what became of each message on the way, and where a cache could begin.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { load } from "./api";
import { Empty, Failed, Head, n, share, Waiting, when } from "./parts";
import { asked, go, link } from "./route";
import { download } from "./saved";
import type { Session, Wire as Told, WireRow } from "./types";

const FORMATS: Record<string, string> = { openai: "Chat Completions", responses: "Responses", anthropic: "Messages" };

export function Wire({ session }: { sessions: Session[]; session: string | null }) {
  const number = asked.value.get("number");
  const found = useMemo(
    () => load<Told>(() => (session ? { view: "wire", asked: { session, ...(number ? { number } : {}) } } : null)),
    [session, number],
  );
  useEffect(() => found.stop, [found]);
  const { value, problem, loading } = found.state.value;
  if (problem) return <Failed title="Wire" told={problem} />;
  if (loading) return <Waiting />;
  if (!session || !value?.format)
    return (
      <Empty>
        <h1>No prompt was kept</h1>
        <p>
          A session keeps what it sends when it is told to: <code>brim.Session(…, store=store, capture=True)</code>.
          {session && (
            <>
              {" "}
              What fills <a href={link("context")}>{session}</a> now is known without it.
            </>
          )}
        </p>
      </Empty>
    );
  return <Shown told={value} />;
}

function Shown({ told }: { told: Told }) {
  const view = asked.value.get("view") ?? "messages";
  const lost = told.rows.filter((row) => row.state === "left out").length;
  const cut = told.rows.filter((row) => row.state === "cut").length;
  return (
    <>
      <Head title="Wire">
        <p class="lead">
          {FORMATS[told.format!]} · <b>{n(told.used)}</b> of <b>{n(told.budget)}</b> {told.unit} usable ({share(told.used, told.budget)}) ·{" "}
          <span class={`badge ${told.exact ? "good" : "soft"}`}>{told.exact ? "exact" : "estimated"}</span>
        </p>
        <label class="inline">
          <span>Prompt</span>
          <select value={told.number} onChange={(event) => go("wire", { number: event.currentTarget.value })}>
            {told.prompts.map((each) => (
              <option key={each.number} value={each.number}>
                #{each.number}, {when(each.at)}, {n(each.used)}
              </option>
            ))}
          </select>
        </label>
      </Head>
      {!told.kept && <p class="guard">This prompt was written by an older brim, which did not keep what it sent: it is fitted again here, without memory.</p>}
      <section class="card" aria-label="What was sent">
        <div class="tools">
          <div class="switch" role="group" aria-label="How to look at it">
            {["messages", "json", "curl"].map((name) => (
              <button key={name} aria-pressed={view === name} onClick={() => go("wire", { view: name })}>
                {name === "messages" ? "Messages" : name === "json" ? "Raw JSON" : "As curl"}
              </button>
            ))}
          </div>
          <span class="grow" />
          <span class="soft">
            {n(told.rows.filter((row) => row.sent !== null).length)} sent, {n(cut)} cut, {n(lost)} left out
          </span>
        </div>
        {view === "json" ? <Raw text={told.body} name={`prompt-${told.number}.json`} /> : view === "curl" ? <Curl text={told.curl} /> : <Messages told={told} />}
      </section>
    </>
  );
}

function Messages({ told }: { told: Told }) {
  const only = useSignal(false);
  const most = Math.max(1, ...told.rows.map((row) => row.units));
  const rows = only.value ? told.rows.filter((row) => row.state !== "as it came") : told.rows;
  return (
    <>
      <label class="check">
        <input type="checkbox" checked={only.value} onChange={(event) => (only.value = event.currentTarget.checked)} /> only what differs from what the session held
      </label>
      <ol class="wire">
        {Object.entries(told.before).map(([name, units]) => (
          <li key={name} class="aside">
            <b>{name}</b> <span class="soft">before the messages</span> <span class="num">{n(units)}</span>
          </li>
        ))}
        <Rulers told={told} after={-1} />
        {rows.map((row) => (
          <>
            <Line key={`${row.sent} ${row.from}`} row={row} most={most} />
            {row.sent !== null && <Rulers told={told} after={row.sent} />}
          </>
        ))}
      </ol>
      {!rows.length && <p class="soft">It was sent just as the session held it.</p>}
    </>
  );
}

function Rulers({ told, after }: { told: Told; after: number }) {
  return (
    <>
      {told.rulers
        .filter((each) => each.after === after)
        .map((each) => (
          <li key={each.told} class="ruler">
            <span>{each.told}</span> <b class="num">{n(each.units)}</b>
          </li>
        ))}
    </>
  );
}

/** One message; the deeper its tint, the more of the prompt it takes. */
function Line({ row, most }: { row: WireRow; most: number }) {
  const name = row.summary ? "summary" : row.role;
  const state = row.state.replaceAll(" ", "-");
  const tint = Math.round((100 * row.units) / most);
  return (
    <li class={state}>
      <details>
        <summary>
          <span class="tint" style={{ opacity: `${0.15 + (0.85 * tint) / 100}` }} aria-hidden="true" />
          <b>{name}</b>
          {row.state !== "as it came" && <span class={`badge ${state}`}>{row.state}</span>}
          <span class="clip soft">{row.text.slice(0, 160) || "(no text)"}</span>
          <span class="num">
            {n(row.units)}
            {row.prefix !== null && <small> to {n(row.prefix)}</small>}
          </span>
        </summary>
        {row.why && <p class="soft">{row.why}</p>}
        <pre tabIndex={0}>{row.text}</pre>
        {row.chars > row.text.length && <p class="soft">The first {n(row.text.length)} of {n(row.chars)} characters; the raw JSON has all.</p>}
      </details>
    </li>
  );
}

function Raw({ text, name }: { text: string; name: string }) {
  return (
    <>
      <div class="tools">
        <Copy text={text} />
        <button onClick={() => download(name, text, "application/json")}>Download {name}</button>
      </div>
      <pre tabIndex={0} class="tall">
        {text}
      </pre>
    </>
  );
}

function Curl({ text }: { text: string }) {
  return (
    <>
      <div class="tools">
        <Copy text={text} />
        <span class="soft">
          The key is left to <code>$API_KEY</code> and the server to <code>$BASE_URL</code>; what looks like a secret in the body is taken out.
        </span>
      </div>
      <pre tabIndex={0} class="tall">
        {text}
      </pre>
    </>
  );
}

function Copy({ text }: { text: string }) {
  const said = useSignal("Copy");
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => (said.value = "Copied"),
      () => (said.value = "Select it and copy by hand"),
    );
  return (
    <button onClick={() => void copy()} aria-live="polite">
      {said.value}
    </button>
  );
}
