// A fit as files that the command line runs: each with its download, and with what to type.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { post } from "./api";
import { n, Problem, Waiting } from "./parts";
import type { Case } from "./types";

export function Saved({ source, budget }: { source: string; budget: number }) {
  const told = useSignal<Case | null>(null);
  const problem = useSignal<string | null>(null);
  useEffect(() => {
    told.value = null;
    const timer = setTimeout(
      () =>
        post<Case>("case", { source, budget }).then(
          (value) => (told.value = value),
          (error: Error) => (problem.value = error.message),
        ),
      200,
    );
    return () => clearTimeout(timer);
  }, [source, budget]);
  if (problem.value) return <Problem told={problem.value} />;
  if (!told.value) return <Waiting />;
  return (
    <div class="saved">
      <p class="soft">
        {n(told.value.used)} used at {n(told.value.budget)}. Put a file beside your tests, and run it in continuous integration:
      </p>
      {told.value.files.map((file) => (
        <div key={file.name} class="file">
          <button onClick={() => download(file.name, file.text)}>Download {file.name}</button>
          {file.run.map((command) => (
            <code key={command}>{command}</code>
          ))}
          <p class="soft">{file.told}</p>
        </div>
      ))}
    </div>
  );
}

export function download(name: string, text: string, kind = "application/octet-stream") {
  const address = URL.createObjectURL(new Blob([text], { type: kind }));
  const made = document.createElement("a");
  made.href = address;
  made.download = name;
  made.click();
  URL.revokeObjectURL(address);
}
