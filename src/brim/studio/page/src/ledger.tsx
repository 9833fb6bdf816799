// Ledger: every edit of the context, the removed text beside what stands for it, and the way back.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { changed, get, load, post } from "./api";
import { Empty, Head, n, Problem, Waiting, when } from "./parts";
import { asked, go } from "./route";
import type { Edit, Found, Session } from "./types";

const NAMES: Record<string, string> = { compaction: "Compaction", sub_tick: "Sub-tick", restart: "Begun anew", cut: "Result cut", "left out": "Turns left out" };

export function Ledger({ session }: { sessions: Session[]; session: string | null }) {
  const found = useMemo(() => load<Session & { edits: Edit[] }>(() => (session ? { view: "ledger", asked: { session } } : null)), [session]);
  useEffect(() => found.stop, [found]);
  const { value, problem, loading } = found.state.value;
  if (problem) return <Problem told={problem} />;
  if (!session || (!loading && !value))
    return (
      <Empty>
        <h1>Nothing has left a prompt yet</h1>
        <p>Whatever a session compacts, cuts or leaves out is listed here and can be poured back.</p>
      </Empty>
    );
  if (!value) return <Waiting />;
  const number = Number(asked.value.get("edit") ?? value.edits[0]?.number);
  const edit = value.edits.find((each) => each.number === number);
  return (
    <>
      <Head title={value.id}>
        <p class="lead">{value.edits.length} edits. What left the prompt is kept, and can be poured back.</p>
      </Head>
      <Search session={value.id} />
      {value.edits.length === 0 ? (
        <Empty>
          <h2>Nothing has left this session's prompt</h2>
        </Empty>
      ) : (
        <section class="split ledger">
          <ul class="card picks" aria-label="Edits">
            {value.edits.map((each) => (
              <li key={each.number}>
                <a href={`#edit-${each.number}`} aria-current={each.number === number ? "true" : undefined} onClick={(event) => (event.preventDefault(), go("ledger", { edit: String(each.number) }))}>
                  <b>{NAMES[each.kind] ?? each.kind}</b> <span class="soft">{when(each.at)}</span>
                  <br />
                  <span class="num">{each.before !== null ? `${n(each.before)} → ${n(each.after)}` : `${n(each.texts[0]?.chars)} characters`}</span>
                </a>
              </li>
            ))}
          </ul>
          {edit && <Detail edit={edit} session={value.id} key={edit.number} />}
        </section>
      )}
    </>
  );
}

function Search({ session }: { session: string }) {
  const words = useSignal("");
  const found = useSignal<Found[] | null>(null);
  const problem = useSignal<string | null>(null);
  useEffect(() => {
    const query = words.value.trim();
    if (!query) {
      found.value = null;
      return;
    }
    const timer = setTimeout(() => {
      get<{ found: Found[] }>("search", { query, session }).then(
        (told) => ((found.value = told.found), (problem.value = null)),
        (error: Error) => (problem.value = error.message),
      );
    }, 150);
    return () => clearTimeout(timer);
  }, [words.value, session]);
  return (
    <section class="card" aria-label="Search">
      <input type="search" class="whole" data-search placeholder="Search what was dropped  ( / )" aria-label="Search what was dropped" value={words.value} onInput={(event) => (words.value = event.currentTarget.value)} />
      {problem.value && <Problem told={problem.value} />}
      {found.value && (
        <ul class="texts" aria-live="polite">
          {found.value.map((each) => (
            <Text key={each.handle} handle={each.handle} excerpt={each.excerpt} session={session} />
          ))}
          {found.value.length === 0 && <li class="soft">Nothing that left this session has these words.</li>}
        </ul>
      )}
    </section>
  );
}

function Detail({ edit, session }: { edit: Edit; session: string }) {
  return (
    <div class="card">
      <h2>{NAMES[edit.kind] ?? edit.kind}</h2>
      <p>
        {edit.reason}
        {edit.trigger && <span class="soft"> Trigger: {edit.trigger}.</span>}
        {edit.replaced !== null && <span class="soft"> {n(edit.replaced)} messages are behind the summary.</span>}
      </p>
      <div class="beside">
        <div>
          <h3>What left</h3>
          <ul class="texts">
            {edit.texts.map((each) => (
              <Text key={each.handle} handle={each.handle} excerpt={each.excerpt} chars={each.chars} session={session} />
            ))}
            {edit.more > 0 && <li class="soft">and {n(edit.more)} more: search finds them.</li>}
          </ul>
        </div>
        {edit.summary && (
          <div>
            <h3>What stands for it</h3>
            <pre tabIndex={0}>{edit.summary}</pre>
          </div>
        )}
      </div>
    </div>
  );
}

function Text({ handle, excerpt, chars, session }: { handle: string; excerpt: string; chars?: number; session: string }) {
  const text = useSignal<string | null>(null);
  const told = useSignal<string | null>(null);
  const asking = useSignal(false);
  const open = async () => {
    if (text.value !== null) text.value = null;
    else text.value = await get<{ text: string }>("text", { handle }).then((got) => got.text, (error: Error) => error.message);
  };
  const restore = async () => {
    asking.value = false;
    told.value = await post<{ units: number }>("restore", { session, handle }).then(
      (done) => ((changed.value += 1), `Poured back: ${n(done.units)} units, in the next prompt.`),
      (error: Error) => error.message,
    );
  };
  return (
    <li>
      <button class="plain clip" aria-expanded={text.value !== null} onClick={() => void open()}>
        {excerpt || "(blank)"}
      </button>
      <div class="tools">
        <code>{handle.slice(0, 11)}</code>
        {chars !== undefined && <span class="soft">{n(chars)} characters</span>}
        {asking.value ? (
          <>
            <span>It becomes the session's newest message. A program that has the session open must open it again.</span>
            <button class="main" onClick={() => void restore()}>Pour it back</button>
            <button onClick={() => (asking.value = false)}>Leave it</button>
          </>
        ) : (
          <button onClick={() => (asking.value = true)}>Restore</button>
        )}
      </div>
      {told.value && <p role="status">{told.value}</p>}
      {text.value !== null && <pre tabIndex={0}>{text.value}</pre>}
    </li>
  );
}
