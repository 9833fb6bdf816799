// Doctor: problems and advice with the commands that fix them, and facts about this studio.
import { useEffect, useMemo } from "preact/hooks";
import { load } from "./api";
import { Copied, Head, plural, Problem, Waiting } from "./parts";

interface Finding {
  check: string;
  level: string;
  seen: string;
  why: string;
  do: string;
  commands: string[];
}

interface Loaded {
  healthy: boolean;
  findings: Finding[];
  checks: string[];
  files: string[];
  receipts: number;
  facts: { name: string; text: string }[];
}

export function Doctor() {
  const found = useMemo(() => load<Loaded>(() => ({ view: "doctor" })), []);
  useEffect(() => found.stop, [found]);
  const { value, problem } = found.state.value;
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  return (
    <>
      <Head title="Doctor">
        <p class="lead">
          <span class={`badge ${value.healthy ? "good" : "dropped"}`}>{value.healthy ? "healthy" : "problems found"}</span> {plural(value.checks.length, "check")} over {plural(value.files.length, "settings file")} and {plural(value.receipts, "receipt")}
        </p>
      </Head>
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
            </div>
          ))}
        </section>
      ))}
      {value.findings.length === 0 && <section class="card"><p>No problems found.</p></section>}
      <section class="card">
        <h2>This studio</h2>
        <dl class="facts list">
          {value.facts.map((fact) => (
            <div key={fact.name}><dt>{fact.name}</dt><dd>{fact.text}</dd></div>
          ))}
        </dl>
      </section>
    </>
  );
}
