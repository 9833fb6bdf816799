// Ledger: every edit of the context, with the removed texts, which can be restored or pinned.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { changed, get, load, post } from "./api";
import { Empty, Head, n, plural, Problem, share, Waiting, when } from "./parts";
import { params, go, link, promptLink } from "./route";
import type { Edit, Found, Removed, Session } from "./types";

const NAMES: Record<string, string> = { compaction: "Compaction", sub_tick: "Sub-tick", restart: "Restart", shortened: "Result shortened", dropped: "Turns dropped" };

export function Ledger({ session }: { session: string | null }) {
  const found = useMemo(() => load<Session & { edits: Edit[]; pins: Removed[] }>(() => (session ? { view: "ledger", fields: { session } } : null)), [session]);
  useEffect(() => found.stop, [found]);
  const { value, problem, loading } = found.state.value;
  if (problem) return <Problem text={problem} />;
  if (!session || (!loading && !value))
    return (
      <Empty>
        <h1>Nothing was dropped yet</h1>
        <p>Texts that a session compacts, shortens or drops are listed here and can be restored.</p>
      </Empty>
    );
  if (!value) return <Waiting />;
  const number = Number(params.value.get("edit") ?? value.edits[0]?.number);
  const edit = value.edits.find((each) => each.number === number);
  return (
    <>
      <Head title={value.id}>
        <p class="lead">{plural(value.edits.length, "change")} of the context. Texts that were left out are stored, and can be restored.</p>
      </Head>
      {value.pins.length > 0 && (
        <section class="card" aria-label="Pinned">
          <h2>Pinned</h2>
          <p class="soft">Every prompt of this session includes these texts until they are unpinned.</p>
          <ul class="texts">
            {value.pins.map((each) => (
              <Text key={each.handle} handle={each.handle} excerpt={each.excerpt} tokens={each.tokens} session={value.id} pinned />
            ))}
          </ul>
        </section>
      )}
      <Search session={value.id} pins={value.pins} />
      {value.edits.length === 0 ? (
        <Empty>
          <h2>Nothing was left out of this session</h2>
        </Empty>
      ) : (
        <section class="split ledger">
          <ul class="card picks" aria-label="Edits">
            {value.edits.map((each) => (
              <li key={each.number}>
                <a data-row href={link("ledger", { edit: each.number })} aria-current={each.number === number ? "true" : undefined}>
                  <b>{NAMES[each.kind] ?? each.kind}</b> <span class="soft">step {each.step ?? "?"} · {when(each.at)}</span>
                  <br />
                  <span class="num">{each.before !== null ? `${n(each.before)} → ${n(each.after)}` : `${n(each.texts[0]?.tokens)} tokens`}</span>
                </a>
              </li>
            ))}
          </ul>
          {edit && <Detail edit={edit} session={value.id} pins={value.pins} key={edit.number} />}
        </section>
      )}
    </>
  );
}

function Search({ session, pins }: { session: string; pins: Removed[] }) {
  const words = useSignal(params.value.get("words") ?? "");
  const wide = useSignal(false);
  const found = useSignal<Found[] | null>(null);
  const problem = useSignal<string | null>(null);
  useEffect(() => {
    const query = words.value.trim();
    if (!query) {
      found.value = null;
      return;
    }
    const timer = setTimeout(() => {
      get<{ found: Found[] }>("search", wide.value ? { query } : { query, session }).then(
        (loaded) => ((found.value = loaded.found), (problem.value = null)),
        (error: Error) => (problem.value = error.message),
      );
    }, 150);
    return () => clearTimeout(timer);
  }, [words.value, wide.value, session]);
  return (
    <section class="card" aria-label="Search">
      <div class="tools">
        <input type="search" class="grow" data-search placeholder="Search what was left out  ( / )" aria-label="Search what was left out" value={words.value} onInput={(event) => ((words.value = event.currentTarget.value), go("ledger", { words: words.value }, true))} />
        <label class="check"><input type="checkbox" checked={wide.value} onChange={(event) => (wide.value = event.currentTarget.checked)} /> in all sessions</label>
      </div>
      {problem.value && <Problem text={problem.value} />}
      {found.value && (
        <ul class="texts" aria-live="polite">
          {found.value.map((each) => (
            <Text key={each.handle} handle={each.handle} excerpt={each.excerpt} step={each.step} session={each.session} of={each.session === session ? undefined : each.session} pinned={pins.some((pin) => pin.handle === each.handle)} />
          ))}
          {found.value.length === 0 && <li class="soft">No text that was left out of {wide.value ? "any session" : "this session"} has these words.</li>}
        </ul>
      )}
    </section>
  );
}

const TRIGGERS: Record<string, string> = { line: "the compaction line was reached", sub_tick: "a sub-tick of the loop", asked: "requested", overflow: "the provider refused the prompt" };

function Detail({ edit, session, pins }: { edit: Edit; session: string; pins: Removed[] }) {
  const freed = edit.before !== null && edit.after !== null ? edit.before - edit.after : null;
  return (
    <div class="card">
      <div class="tools">
        <h2>{NAMES[edit.kind] ?? edit.kind}</h2>
        {edit.step !== null && <a class="button" href={promptLink(session, edit.step)}>See its prompt, step {edit.step}</a>}
      </div>
      <p>{edit.reason}</p>
      <dl class="facts many">
        <div><dt>when</dt><dd>{when(edit.at)}</dd></div>
        {edit.trigger && <div><dt>trigger</dt><dd>{TRIGGERS[edit.trigger] ?? edit.trigger}</dd></div>}
        {edit.before !== null && <div><dt>before</dt><dd>{n(edit.before)}</dd></div>}
        {edit.after !== null && <div><dt>after</dt><dd>{n(edit.after)}</dd></div>}
        {freed !== null && freed > 0 && <div><dt>freed</dt><dd>{n(freed)} ({share(freed, edit.before!)})</dd></div>}
        {edit.replaced !== null && <div><dt>{edit.summary ? "replaced by the summary" : "replaced by excerpts"}</dt><dd>{plural(edit.replaced, "message")}</dd></div>}
      </dl>
      <div class="beside">
        <div>
          <h3>Left out: {plural(edit.texts.length + edit.more, "text")}</h3>
          <ul class="texts">
            {edit.texts.map((each) => (
              <Text key={each.handle} handle={each.handle} excerpt={each.excerpt} tokens={each.tokens} session={session} pinned={pins.some((pin) => pin.handle === each.handle)} />
            ))}
            {edit.more > 0 && <li class="soft">and {n(edit.more)} more: search finds them.</li>}
          </ul>
        </div>
        {edit.summary && (
          <div>
            <h3>Replaced by</h3>
            <pre tabIndex={0}>{edit.summary}</pre>
          </div>
        )}
      </div>
    </div>
  );
}

interface TextProps {
  handle: string;
  excerpt: string;
  tokens?: number;
  session: string;
  /** The session of the text, if it is another one. */
  of?: string | undefined;
  pinned?: boolean;
  /** The step whose prompt left it out. */
  step?: number | null | undefined;
}

function Text({ handle, excerpt, tokens, session, of, pinned, step }: TextProps) {
  const text = useSignal<string | null>(null);
  const notice = useSignal<string | null>(null);
  const asking = useSignal(false);
  const open = async () => {
    if (text.value !== null) text.value = null;
    else text.value = await get<{ text: string }>("text", { handle }).then((got) => got.text, (error: Error) => error.message);
  };
  const restore = async () => {
    asking.value = false;
    notice.value = await post<{ units: number }>("restore", { session, handle }).then(
      (done) => ((changed.value += 1), `Restored: ${n(done.units)} tokens in the next prompt.`),
      (error: Error) => error.message,
    );
  };
  const pin = async () => {
    notice.value = await post<{ units: number }>(pinned ? "unpin" : "pin", { session, handle }).then(
      (done) => ((changed.value += 1), pinned ? "Unpinned." : `Pinned: ${n(done.units)} tokens in every prompt from now on.`),
      (error: Error) => error.message,
    );
  };
  return (
    <li>
      <button class="plain clip" data-row aria-expanded={text.value !== null} onClick={() => void open()}>
        {excerpt || "(blank)"}
      </button>
      <div class="tools">
        <code>{handle.slice(0, 11)}</code>
        {tokens !== undefined && <span class="soft">{plural(tokens, "token")}</span>}
        {step != null && <a href={promptLink(of ?? session, step)}>step {step}</a>}
        {of && <a href={link("ledger", { session: of, edit: null })}>{of}</a>}
        {asking.value ? (
          <>
            <span>It becomes the newest message of the session. A program that has the session open must reopen it.</span>
            <button class="main" onClick={() => void restore()}>Restore</button>
            <button onClick={() => (asking.value = false)}>Cancel</button>
          </>
        ) : (
          <>
            <button onClick={() => (asking.value = true)}>Restore…</button>
            <button aria-pressed={pinned} onClick={() => void pin()}>{pinned ? "Unpin" : "Pin"}</button>
          </>
        )}
      </div>
      {notice.value && <p role="status">{notice.value}</p>}
      {text.value !== null && <pre tabIndex={0}>{text.value}</pre>}
    </li>
  );
}
