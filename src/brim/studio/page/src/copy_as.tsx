// A prompt as the body of a request, as a command, or as a test.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { load } from "./api";
import { Copied, Problem, Waiting } from "./parts";
import { download, Save } from "./saved";
import type { Prompt as Loaded } from "./types";

export function CopyAs({ loaded }: { loaded: Loaded }) {
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
          {[["json", "JSON"], ["curl", "curl"]].map(([name, title]) => (
            <button key={name} aria-pressed={view.value === name} onClick={() => (view.value = name!)}>
              {title}
            </button>
          ))}
        </div>
        {value && (
          <>
            <Copied text={text} />
            {view.value === "json" && <button onClick={() => download(`prompt-${loaded.step}.json`, text, "application/json")}>Save prompt-{loaded.step}.json</button>}
          </>
        )}
        <Save source={`prompt:${loaded.session}@${loaded.step}`} budget={loaded.budget ?? loaded.used ?? 0} />
      </div>
      {problem && <Problem text={problem} />}
      {!value ? (
        !problem && <Waiting />
      ) : (
        <>
          {view.value === "curl" && (
            <p class="soft">
              Set <code>$API_KEY</code> and <code>$BASE_URL</code> first; secrets in the body are masked.
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
