// What is missing at a step: earlier messages that the prompt does not have, and the changes that removed them.
import { useSignal } from "@preact/signals";
import { changed, get, post, useView } from "./api";
import { n, plural, Problem, Waiting } from "./parts";
import { stepLink } from "./route";
import { Parts } from "./sent";
import type { Edit, Prompt, PromptRow, Removed, Session } from "./types";
import type { Key } from "./categories";

const NAMES: Record<string, string> = { compaction: "Compaction", sub_tick: "Sub-tick", restart: "Restart", shortened: "A result was shortened", dropped: "Turns were left out" };
const TRIGGERS: Record<string, string> = { line: "the compaction line was reached", sub_tick: "a sub-tick of the loop", asked: "it was requested", overflow: "the provider refused the prompt" };

interface Props {
  loaded: Prompt;
  colours: Map<string, Key>;
  rows: PromptRow[];
}

export function LeftOut({ loaded, colours, rows }: Props) {
  const missing = rows.filter((row) => !row.sent);
  const [out, cut] = [missing.reduce((sum, row) => sum + row.units, 0), rows.length - missing.length];
  return (
    <>
      <p class="lead" data-out={missing.length}>
        {rows.length === 0
          ? loaded.kind === "sums"
            ? "The texts of this step were not recorded. The changes below list what was removed."
            : "Nothing was left out or shortened."
          : `${plural(missing.length, "message")} left out (${n(out)} ${loaded.unit})${cut ? `, ${n(cut)} shortened` : ""}. Open one to read it or to keep it next time.`}
      </p>
      {rows.length > 0 && <Parts loaded={loaded} colours={colours} changed />}
      <Changes session={loaded.session} step={loaded.step} />
    </>
  );
}

/** The changes to the context up to a step, the newest first; their texts can be restored or pinned. */
function Changes({ session, step }: { session: string; step: number }) {
  const { value, problem } = useView<Session & { edits: Edit[]; pins: Removed[] }>("ledger", { session });
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  const edits = value.edits.filter((edit) => edit.step === null || edit.step <= step);
  const pinned = (handle: string) => value.pins.some((pin) => pin.handle === handle);
  return (
    <section class="card" aria-label="Changes">
      <h2>{plural(edits.length, "change")} to the context up to this step</h2>
      {value.pins.length > 0 && (
        <>
          <p class="soft">Pinned: every prompt of this session includes these texts until they are unpinned.</p>
          <ul class="texts" aria-label="Pinned">
            {value.pins.map((each) => <Text key={each.handle} removed={each} session={session} pinned />)}
          </ul>
        </>
      )}
      {edits.map((edit, i) => (
        <details key={edit.number} class="edit" open={i === 0 && edit.step === step}>
          <summary data-row>
            <b>{NAMES[edit.kind] ?? edit.kind}</b> <span class="soft">step {edit.step ?? "?"}</span>{" "}
            <span class="num">{edit.before !== null ? `${n(edit.before)} to ${n(edit.after)} tokens` : plural(edit.texts[0]?.tokens ?? 0, "token")}</span> <span class="soft">{edit.reason}</span>
          </summary>
          {edit.regret && <p class="guard">{plural(edit.regret.calls, "call")} repeated because this removed their results: {n(edit.regret.tokens)} tokens.</p>}
          {edit.trigger && <p class="soft">Because {TRIGGERS[edit.trigger] ?? edit.trigger}. {edit.step !== null && edit.step !== step && <a href={stepLink(session, edit.step, { tab: "out" })}>Go to step {edit.step}</a>}</p>}
          <div class="beside">
            <div>
              <h3>{plural(edit.texts.length + edit.more, "text")} left out{edit.replaced !== null && ` of ${plural(edit.replaced, "message")}`}</h3>
              <ul class="texts">
                {edit.texts.map((each) => <Text key={each.handle} removed={each} session={session} pinned={pinned(each.handle)} />)}
                {edit.more > 0 && <li class="soft">and {n(edit.more)} more; Ctrl+K searches them.</li>}
              </ul>
            </div>
            {edit.summary && (
              <div>
                <h3>Replaced by</h3>
                <pre tabIndex={0}>{edit.summary}</pre>
              </div>
            )}
          </div>
        </details>
      ))}
    </section>
  );
}

function Text({ removed: { handle, excerpt, tokens }, session, pinned }: { removed: Removed; session: string; pinned: boolean }) {
  const text = useSignal<string | null>(null);
  const notice = useSignal<string | null>(null);
  const asking = useSignal(false);
  const open = async () => {
    if (text.value !== null) text.value = null;
    else text.value = await get<{ text: string }>("text", { handle }).then((got) => got.text, (error: Error) => error.message);
  };
  const write = async (view: "restore" | "pin" | "unpin", told: (units: number) => string) => {
    asking.value = false;
    notice.value = await post<{ units: number }>(view, { session, handle }).then((done) => ((changed.value += 1), told(done.units)), (error: Error) => error.message);
  };
  return (
    <li>
      <button class="plain clip" data-row aria-expanded={text.value !== null} onClick={() => void open()}>
        {excerpt || "(empty)"}
      </button>
      <div class="tools">
        <span class="soft">{plural(tokens, "token")}</span>
        {asking.value ? (
          <>
            <span>It becomes the newest message of the session.</span>
            <button class="main" onClick={() => void write("restore", (units) => `Restored: ${n(units)} tokens in the next prompt.`)}>Restore</button>
            <button onClick={() => (asking.value = false)}>Cancel</button>
          </>
        ) : (
          <>
            <button onClick={() => (asking.value = true)}>Restore…</button>
            <button aria-pressed={pinned} onClick={() => void (pinned ? write("unpin", () => "Unpinned.") : write("pin", (units) => `Pinned: ${n(units)} tokens in every prompt of this session from now on.`))}>{pinned ? "Unpin" : "Pin in this session"}</button>
          </>
        )}
      </div>
      {notice.value && <p role="status">{notice.value}</p>}
      {text.value !== null && <pre tabIndex={0}>{text.value}</pre>}
    </li>
  );
}
