// Doctor: problems and advice, with the commands that fix them.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { changed, load, post } from "./api";
import { Lines } from "./change";
import { Copied, plural, Problem, Waiting } from "./parts";

interface Finding {
  check: string;
  level: string;
  seen: string;
  why: string;
  do: string;
  commands: string[];
  /** The commands that the page can run: they change only the settings of the project. */
  fixes: string[];
}

interface Change {
  path: string;
  diff: string;
}

interface Loaded {
  healthy: boolean;
  findings: Finding[];
  checks: string[];
  files: string[];
  receipts: number;
  saved: number;
}

export function Doctor() {
  const found = useMemo(() => load<Loaded>(() => ({ view: "doctor" })), []);
  useEffect(() => found.stop, [found]);
  const { value, problem } = found.state.value;
  const made = useSignal<{ text: string; diff: string } | null>(null);
  const refused = useSignal<string | null>(null);
  const write = (view: "fix" | "undo", line?: string) =>
    post<Change>(view, line ? { line } : {}).then(
      (change) => {
        made.value = { text: view === "fix" ? `Saved to ${change.path}` : `Undone in ${change.path}`, diff: change.diff };
        refused.value = null;
        changed.value += 1;
      },
      (error: Error) => (refused.value = error.message),
    );
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  return (
    <>
      <p class="lead">
        <span class={`badge ${value.healthy ? "good" : "dropped"}`}>{value.healthy ? "healthy" : "problems found"}</span> {plural(value.checks.length, "check")} over {plural(value.files.length, "settings file")} and {plural(value.receipts, "receipt")}
      </p>
      {refused.value && <Problem text={refused.value} />}
      {made.value && (
        <section class="card" aria-label="The change">
          <div class="tools">
            <h2 aria-live="polite">{made.value.text}</h2>
            {value.saved > 0 && <button onClick={() => void write("undo")}>Undo the last change</button>}
          </div>
          <Lines diff={made.value.diff} />
        </section>
      )}
      {value.findings.map((finding) => (
        <section class={`card finding ${finding.level}`} key={finding.seen}>
          <h2><span class={`badge ${finding.level === "wrong" ? "dropped" : "soft"}`}>{finding.level}</span> {finding.check}</h2>
          <p>{finding.seen}</p>
          <p class="soft">{finding.why}</p>
          <p>{finding.do}</p>
          {finding.commands.map((line) => (
            <div class="command" key={line}>
              <pre tabIndex={0}>{line}</pre>
              <Copied text={line} />
              {finding.fixes.includes(line) && (
                <button class="main" onClick={() => void write("fix", line)} title="Changes this setting in its file; it can be undone">
                  Fix it
                </button>
              )}
            </div>
          ))}
        </section>
      ))}
      {value.findings.length === 0 && <section class="card"><p>No problems found.</p></section>}
    </>
  );
}
