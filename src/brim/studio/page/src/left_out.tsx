// What is missing at a step: earlier messages that the prompt does not have, and the changes that removed them.
import { useSignal } from "@preact/signals";
import { get, useView } from "./api";
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

/** The changes to the context up to a step, the newest first, with the texts that they removed. */
function Changes({ session, step }: { session: string; step: number }) {
  const { value, problem } = useView<Session & { edits: Edit[] }>("ledger", { session });
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  const edits = value.edits.filter((edit) => edit.step === null || edit.step <= step);
  return (
    <section class="card" aria-label="Changes">
      <h2>{plural(edits.length, "change")} to the context up to this step</h2>
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
                {edit.texts.map((each) => <Text key={each.handle} removed={each} />)}
                {edit.more > 0 && <li class="soft">and {n(edit.more)} more; the search finds them.</li>}
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

function Text({ removed: { handle, excerpt, tokens } }: { removed: Removed }) {
  const text = useSignal<string | null>(null);
  const open = async () => {
    if (text.value !== null) text.value = null;
    else text.value = await get<{ text: string }>("text", { handle }).then((got) => got.text, (error: Error) => error.message);
  };
  return (
    <li>
      <button class="plain clip" data-row aria-expanded={text.value !== null} onClick={() => void open()}>
        {excerpt || "(empty)"} <small>{plural(tokens, "token")}</small>
      </button>
      {text.value !== null && <pre tabIndex={0}>{text.value}</pre>}
    </li>
  );
}
