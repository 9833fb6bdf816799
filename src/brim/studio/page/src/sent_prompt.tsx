// Sent prompt: the body as it was sent, what happened to each message, and where a cached prefix may end.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { load } from "./api";
import { Empty, Failed, Head, n, share, Waiting, when } from "./parts";
import { params, go, link } from "./route";
import { download } from "./saved";
import type { SentPrompt as Loaded, SentRow, Session } from "./types";

const FORMATS: Record<string, string> = { openai: "Chat Completions", responses: "Responses", anthropic: "Messages" };

export function SentPrompt({ session }: { sessions: Session[]; session: string | null }) {
  const number = params.value.get("number");
  const found = useMemo(
    () => load<Loaded>(() => (session ? { view: "sent_prompt", fields: { session, ...(number ? { number } : {}) } } : null)),
    [session, number],
  );
  useEffect(() => found.stop, [found]);
  const { value, problem, loading } = found.state.value;
  if (problem) return <Failed title="Sent prompt" text={problem} />;
  if (loading) return <Waiting />;
  if (!session || !value?.format)
    return (
      <Empty>
        <h1>No prompt was captured</h1>
        <p>
          A session keeps the prompts that it sends if it captures them: <code>brim.Session(…, store=store, capture=True)</code>.
          {session && (
            <>
              {" "}
              The current context of <a href={link("context")}>{session}</a> is known without it.
            </>
          )}
        </p>
      </Empty>
    );
  return <Shown loaded={value} />;
}

function Shown({ loaded }: { loaded: Loaded }) {
  const view = params.value.get("view") ?? "messages";
  const lost = loaded.rows.filter((row) => row.state === "dropped").length;
  const cut = loaded.rows.filter((row) => row.state === "shortened").length;
  return (
    <>
      <Head title="Sent prompt">
        <p class="lead">
          {FORMATS[loaded.format!]} · <b>{n(loaded.used)}</b> of <b>{n(loaded.budget)}</b> {loaded.unit} ({share(loaded.used, loaded.budget)}) ·{" "}
          <span class={`badge ${loaded.exact ? "good" : "soft"}`}>{loaded.exact ? "exact" : "estimated"}</span>
        </p>
        <label class="inline">
          <span>Prompt</span>
          <select value={loaded.number} onChange={(event) => go("sent_prompt", { number: event.currentTarget.value })}>
            {loaded.prompts.map((each) => (
              <option key={each.number} value={each.number}>
                #{each.number}, {when(each.at)}, {n(each.used)}
              </option>
            ))}
          </select>
        </label>
      </Head>
      {!loaded.kept && <p class="guard">This prompt was recorded by an older version of brim, which did not keep what it sent: it is fitted again here, without memory.</p>}
      <section class="card" aria-label="What was sent">
        <div class="tools">
          <div class="switch" role="group" aria-label="Format">
            {["messages", "json", "curl"].map((name) => (
              <button key={name} aria-pressed={view === name} onClick={() => go("sent_prompt", { view: name })}>
                {name === "messages" ? "Messages" : name === "json" ? "Raw JSON" : "As curl"}
              </button>
            ))}
          </div>
          <span class="grow" />
          <span class="soft">
            {n(loaded.rows.filter((row) => row.sent !== null).length)} sent, {n(cut)} shortened, {n(lost)} dropped
          </span>
        </div>
        {view === "json" ? <Raw text={loaded.body} name={`prompt-${loaded.number}.json`} /> : view === "curl" ? <Curl text={loaded.curl} /> : <Messages loaded={loaded} />}
      </section>
    </>
  );
}

function Messages({ loaded }: { loaded: Loaded }) {
  const only = useSignal(false);
  const most = Math.max(1, ...loaded.rows.map((row) => row.units));
  const rows = only.value ? loaded.rows.filter((row) => row.state !== "unchanged") : loaded.rows;
  return (
    <>
      <label class="check">
        <input type="checkbox" checked={only.value} onChange={(event) => (only.value = event.currentTarget.checked)} /> only differences from the session
      </label>
      <ol class="sent">
        {Object.entries(loaded.before).map(([name, units]) => (
          <li key={name} class="fixed">
            <b>{name}</b> <span class="soft">before the messages</span> <span class="num">{n(units)}</span>
          </li>
        ))}
        <Rulers loaded={loaded} after={-1} />
        {rows.map((row) => (
          <>
            <Line key={`${row.sent} ${row.from}`} row={row} most={most} />
            {row.sent !== null && <Rulers loaded={loaded} after={row.sent} />}
          </>
        ))}
      </ol>
      {!rows.length && <p class="soft">It was sent without changes.</p>}
    </>
  );
}

function Rulers({ loaded, after }: { loaded: Loaded; after: number }) {
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

/** One message; the stronger its tint, the larger it is. */
function Line({ row, most }: { row: SentRow; most: number }) {
  const name = row.summary ? "summary" : row.role;
  const state = row.state.replaceAll(" ", "-");
  const tint = Math.round((100 * row.units) / most);
  return (
    <li class={state}>
      <details>
        <summary>
          <span class="tint" style={{ opacity: `${0.15 + (0.85 * tint) / 100}` }} aria-hidden="true" />
          <b>{name}</b>
          {row.state !== "unchanged" && <span class={`badge ${state}`}>{row.state}</span>}
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
          The key is left to <code>$API_KEY</code> and the server to <code>$BASE_URL</code>; secrets in the body are redacted.
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
