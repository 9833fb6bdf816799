// Opening a file that was dropped, chosen or pasted. It is sent to this studio only.
import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { changed, get, upload } from "./api";
import { plural } from "./parts";
import { go } from "./route";

export interface Opened {
  id: string;
  name: string;
  problem: string;
  finished: boolean;
  share: number;
  found: number;
  sessions: string[];
}

/** The file that is being read, with how much of it is done. */
const opening = signal<{ name: string; share: number; found: number; problem: string } | null>(null);

async function openFile(file: Blob, name: string): Promise<void> {
  opening.value = { name, share: 0, found: 0, problem: "" };
  try {
    await follow((await upload<{ file: Opened }>(file, name)).file.id);
  } catch (error) {
    opening.value = { name, share: 0, found: 0, problem: (error as Error).message };
  }
}

/** Waits until a file is read, and shows what is in it: one request as a prompt, several as sessions. */
export async function follow(id: string): Promise<void> {
  for (;;) {
    const { files } = await get<{ files: Opened[] }>("files");
    const file = files.find((each) => each.id === id);
    if (!file) return;
    opening.value = { ...file, problem: file.problem && `${file.name}: ${file.problem}.` };
    if (file.finished) {
      changed.value += 1;
      if (file.problem) return;
      opening.value = null;
      const none = { session: null, step: null, find: null };
      if (file.found === 1) go("session", { ...none, session: file.sessions[0]! });
      else go("sessions", { ...none, file: file.name });
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/** Opens a file of a drop or a paste; a text is opened if `accepts` does not refuse it. */
function open(held: DataTransfer | null, name: string, accepts = (text: string) => text !== ""): void {
  const file = held?.files[0];
  const text = held?.getData("text") ?? "";
  if (file) void openFile(file, file.name);
  else if (accepts(text)) void openFile(new Blob([text]), name);
}

/** Takes files that are dropped anywhere on the page, and texts that are pasted outside a field. */
export function takeDrops(): void {
  addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", (event) => !event.relatedTarget && document.body.classList.remove("dropping"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    open(event.dataTransfer, "dropped.json");
  });
  addEventListener("paste", (event) => {
    if (event.target instanceof HTMLElement && event.target.matches("input, textarea")) return;
    open(event.clipboardData, "pasted.json", (text) => /^\s*[[{]/.test(text));
  });
}

export function OpenButton() {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button onClick={() => input.current?.click()}>
        Open a file
      </button>
      <input
        ref={input}
        type="file"
        class="away"
        tabIndex={-1}
        aria-label="Open a file"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          event.currentTarget.value = "";
          if (file) void openFile(file, file.name);
        }}
      />
    </>
  );
}

export function OpenPanel() {
  const now = opening.value;
  if (!now) return <></>;
  return (
    <div class={`opening${now.problem ? " wrong" : ""}`} role={now.problem ? "alert" : "status"}>
      {now.problem ? (
        <>
          <span>{now.problem}</span> <button onClick={() => (opening.value = null)}>Close</button>
        </>
      ) : (
        <>
          <span>
            Reading {now.name}: {Math.floor(100 * now.share)} %{now.found > 0 && `, ${plural(now.found, "session")} so far`}
          </span>
          <progress max={1} value={now.share} aria-label={`Reading ${now.name}`} />
        </>
      )}
    </div>
  );
}
