// A prompt as the body of a request.
import { useView } from "./api";
import { Copied, Problem, Waiting } from "./parts";
import type { Prompt as Loaded } from "./types";

export function CopyAs({ loaded }: { loaded: Loaded }) {
  const { value, problem } = useView<{ body: string }>("prompt_body", { session: loaded.session, step: String(loaded.step) });
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  const name = `prompt-${loaded.step}.json`;
  return (
    <section class="card" aria-label="Copy as">
      <div class="tools">
        <Copied text={value.body} />
        <button onClick={() => download(name, value.body)}>Save {name}</button>
      </div>
      <pre tabIndex={0} class="tall">{value.body}</pre>
    </section>
  );
}

function download(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
