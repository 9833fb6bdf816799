// A prompt to take away: as the body of a request, as a command, as a test, or as one HTML file with secrets masked.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { load } from "./api";
import { Copied, n, plural, Problem, Waiting } from "./parts";
import { download, Saved } from "./saved";
import type { Prompt as Loaded } from "./types";

export function Bodies({ loaded }: { loaded: Loaded }) {
  const view = useSignal("json");
  const fields = { session: loaded.session!, step: String(loaded.step) };
  const found = useMemo(() => load<{ body: string; curl: string }>(() => ({ view: "prompt_body", fields })), [loaded.id]);
  useEffect(() => found.stop, [found]);
  const { value, problem } = found.state.value;
  const text = value ? (view.value === "curl" ? value.curl : value.body) : "";
  return (
    <section class="card" aria-label="Copy as">
      <div class="tools">
        <div class="switch" role="group" aria-label="Format">
          {[["json", "JSON"], ["curl", "curl"], ["test", "Test case"]].map(([name, title]) => (
            <button key={name} aria-pressed={view.value === name} onClick={() => (view.value = name!)}>
              {title}
            </button>
          ))}
        </div>
        {view.value !== "test" && value && (
          <>
            <Copied text={text} />
            {view.value === "json" && <button onClick={() => download(`prompt-${loaded.step}.json`, text, "application/json")}>Save prompt-{loaded.step}.json</button>}
          </>
        )}
      </div>
      {problem && <Problem text={problem} />}
      {view.value === "test" ? (
        <Saved source={`prompt:${loaded.session}@${loaded.step}`} budget={loaded.budget ?? loaded.used ?? 0} />
      ) : !value ? (
        !problem && <Waiting />
      ) : (
        <>
          {view.value === "curl" && (
            <p class="soft">
              The key is left to <code>$API_KEY</code> and the server to <code>$BASE_URL</code>; secrets in the body are masked.
            </p>
          )}
          <pre tabIndex={0} class="tall">
            {text}
          </pre>
        </>
      )}
    </section>
  );
}

interface Exported {
  name: string;
  html: string;
  masked: { part: string; category: string; around: string }[];
  count: number;
}

export function Share({ loaded }: { loaded: Loaded }) {
  const fields: Record<string, string> = loaded.session ? { session: loaded.session, step: String(loaded.step) } : { id: loaded.id };
  const found = useMemo(() => load<Exported>(() => ({ view: "prompt_export", fields })), [loaded.id]);
  useEffect(() => found.stop, [found]);
  const { value, problem } = found.state.value;
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  return (
    <section class="card" aria-label="Share as a file">
      <div class="tools">
        <h2>One HTML file, without scripts, that opens anywhere</h2>
        <button class="main" onClick={() => download(value.name, value.html, "text/html")}>
          Save {value.name} ({n(Math.ceil(value.html.length / 1000))} kB)
        </button>
      </div>
      {value.count === 0 ? (
        <p>No secret was recognised, so nothing is masked. Read it before you share it: only secrets of a known form are recognised.</p>
      ) : (
        <>
          <p>
            {plural(value.count, "secret")} will be masked. Read the file before you share it: only secrets of a known form are recognised.
          </p>
          <ul class="masked" aria-label="What is masked">
            {value.masked.map((each, i) => (
              <li key={i}>
                <b>{each.part}</b> <code>{each.around}</code>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
