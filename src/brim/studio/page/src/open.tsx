// Opening a file that was dropped, chosen or pasted. It is sent to this studio only, in pieces.
import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { changed, get, post } from "./api";
import { go } from "./route";

/** Bytes of one piece, small enough not to delay a frame. */
const PIECE = 3_000_000;

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
export const opening = signal<{ name: string; share: number; found: number; problem: string } | null>(null);

function encoded(piece: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(",", 2)[1] ?? "");
    reader.onerror = () => reject(new Error("The browser cannot read the file."));
    reader.readAsDataURL(piece);
  });
}

export async function openFile(file: Blob, name: string): Promise<void> {
  opening.value = { name, share: 0, found: 0, problem: "" };
  try {
    let upload: string | null = null;
    let opened: Opened | null = null;
    for (let start = 0; start === 0 || start < file.size; start += PIECE) {
      const last = start + PIECE >= file.size;
      const data = await encoded(file.slice(start, start + PIECE));
      const answer: { upload: string; file: Opened | null } = await post("open_file", { workspace: "mine", name, data, upload, last });
      upload = answer.upload;
      opened = answer.file;
      opening.value = { name, share: Math.min(1, (start + PIECE) / Math.max(1, file.size)) * 0.3, found: 0, problem: "" };
    }
    if (opened) await follow(opened.id, 0.3);
  } catch (error) {
    opening.value = { name, share: 0, found: 0, problem: (error as Error).message };
  }
}

/** Waits until a file is read, and shows what is in it: one request as a prompt, several as sessions. */
export async function follow(id: string, from = 0): Promise<void> {
  for (;;) {
    const { files } = await get<{ files: Opened[] }>("files", { workspace: "mine" });
    const file = files.find((each) => each.id === id);
    if (!file) return;
    opening.value = { name: file.name, share: from + (1 - from) * file.share, found: file.found, problem: file.problem && `${file.name}: ${file.problem}.` };
    if (file.finished) {
      changed.value += 1;
      if (file.problem) return;
      opening.value = null;
      const none = { session: null, step: null, find: null };
      if (file.found === 1) go("session", { ...none, workspace: "mine", session: file.sessions[0]! });
      else go("sessions", { ...none, workspace: "mine", file: file.name });
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
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
    const file = event.dataTransfer?.files[0];
    const text = event.dataTransfer?.getData("text");
    if (file) void openFile(file, file.name);
    else if (text) void openFile(new Blob([text]), "dropped.json");
  });
  addEventListener("paste", (event) => {
    if (event.target instanceof HTMLElement && event.target.matches("input, textarea")) return;
    const file = event.clipboardData?.files[0];
    const text = event.clipboardData?.getData("text") ?? "";
    if (file) void openFile(file, file.name);
    else if (/^\s*[[{]/.test(text)) void openFile(new Blob([text]), "pasted.json");
  });
}

export function OpenButton({ main }: { main?: boolean }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button class={main ? "main" : ""} onClick={() => input.current?.click()}>
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
  return (
    <>
      {now && (
        <div class={`opening${now.problem ? " wrong" : ""}`} role={now.problem ? "alert" : "status"}>
          {now.problem ? (
            <>
              <span>{now.problem}</span> <button onClick={() => (opening.value = null)}>Close</button>
            </>
          ) : (
            <>
              <span>
                Reading {now.name}: {Math.floor(100 * now.share)} %{now.found > 0 && `, ${now.found.toLocaleString("en")} ${now.found === 1 ? "session" : "sessions"} so far`}
              </span>
              <progress max={1} value={now.share} aria-label={`Reading ${now.name}`} />
            </>
          )}
        </div>
      )}
    </>
  );
}
