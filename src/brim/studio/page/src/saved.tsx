// A fit as files for the command line, each with its commands.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { post } from "./api";
import { n, Problem, Waiting } from "./parts";
import type { Export } from "./types";

export function Saved({ source, budget }: { source: string; budget: number }) {
  const loaded = useSignal<Export | null>(null);
  const problem = useSignal<string | null>(null);
  useEffect(() => {
    loaded.value = null;
    const timer = setTimeout(
      () =>
        post<Export>("export", { source, budget }).then(
          (value) => (loaded.value = value),
          (error: Error) => (problem.value = error.message),
        ),
      200,
    );
    return () => clearTimeout(timer);
  }, [source, budget]);
  if (problem.value) return <Problem text={problem.value} />;
  if (!loaded.value) return <Waiting />;
  return (
    <div class="saved">
      <p class="soft">
        {n(loaded.value.used)} used at {n(loaded.value.budget)}. Add a file to your tests, and run it in continuous integration:
      </p>
      {loaded.value.files.map((file) => (
        <div key={file.name} class="file">
          <button onClick={() => download(file.name, file.text)}>Download {file.name}</button>
          {file.run.map((command) => (
            <code key={command}>{command}</code>
          ))}
          <p class="soft">{file.about}</p>
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
