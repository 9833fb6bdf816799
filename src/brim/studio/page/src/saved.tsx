// A fit as the file of a receipt with its texts, for `brim replay`.
import { useSignal } from "@preact/signals";
import { get } from "./api";
import { Problem } from "./parts";

export function Save({ source, budget }: { source: string; budget: number }) {
  const command = useSignal<string | null>(null);
  const problem = useSignal<string | null>(null);
  const save = () =>
    get<{ name: string; text: string; command: string }>("export", { source, budget: String(budget) }).then(
      (made) => (download(made.name, made.text, "application/json"), (command.value = made.command)),
      (error: Error) => (problem.value = error.message),
    );
  return (
    <>
      <button onClick={() => void save()}>Save as a test</button>
      {problem.value && <Problem text={problem.value} />}
      {command.value && (
        <p class="saved">
          <code>{command.value}</code> <span class="soft">fits the texts of this file again; its exit code is 1 if they no longer fit.</span>
        </p>
      )}
    </>
  );
}

export function download(name: string, text: string, kind: string) {
  const address = URL.createObjectURL(new Blob([text], { type: kind }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
