// Doctor: problems and advice, with the commands that fix them.
import { useView } from "./api";
import { Changed, type Layer, PROJECT, useChange } from "./change";
import { Copied, plural, Problem, Waiting } from "./parts";

interface Finding {
  check: string;
  level: string;
  seen: string;
  why: string;
  do: string;
  commands: string[];
  /** The commands that the page can run: they change only the settings of the project. */
  fixes: ({ command: string; key: string; value: string } & Partial<Layer>)[];
}

interface Loaded {
  healthy: boolean;
  findings: Finding[];
  files: string[];
  receipts: number;
}

export function Doctor() {
  const { value, problem } = useView<Loaded>("doctor");
  const change = useChange();
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  return (
    <>
      <p class="lead">
        <span class={`badge ${value.healthy ? "good" : "dropped"}`}>{value.healthy ? "healthy" : "problems found"}</span> checked {plural(value.files.length, "settings file")} and {plural(value.receipts, "receipt")}
      </p>
      <Changed change={change} />
      {value.findings.map((finding) => (
        <section class={`card finding ${finding.level}`} key={finding.seen}>
          <h2><span class={`badge ${finding.level === "wrong" ? "dropped" : "soft"}`}>{finding.level}</span> {finding.check}</h2>
          <p>{finding.seen}</p>
          <p class="soft">{finding.why}</p>
          <p>{finding.do}</p>
          {finding.commands.map((line) => {
            const fix = finding.fixes.find((each) => each.command === line);
            return (
              <div class="command" key={line}>
                <pre tabIndex={0}>{line}</pre>
                <Copied text={line} />
                {fix && <button class="main" onClick={() => void change.look(fix.key, fix.value, { ...PROJECT, ...fix })}>Fix it…</button>}
              </div>
            );
          })}
        </section>
      ))}
      {value.findings.length === 0 && <section class="card"><p>No problems found.</p></section>}
    </>
  );
}
