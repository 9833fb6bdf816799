// The command palette: every screen, session and action by its name. Ctrl+K or ? opens it.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { get } from "./api";
import { asking } from "./open";
import { go, SCREENS } from "./route";
import type { Home } from "./types";

export const palette = signal(false);

interface Command {
  name: string;
  about: string;
  run: () => void;
}

export function Palette() {
  const words = useSignal("");
  const at = useSignal(0);
  const sessions = useSignal<string[]>([]);
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!palette.value) return;
    words.value = "";
    at.value = 0;
    box.current?.focus();
    void get<Home>("sessions").then((loaded) => (sessions.value = loaded.sessions.map((row) => row.id)), () => undefined);
  }, [palette.value]);
  if (!palette.value) return <></>;
  const close = () => (palette.value = false);
  const all: Command[] = [
    ...SCREENS.map((each) => ({ name: each.title, about: each.about, run: () => go(each.name) })),
    { name: "Paste a prompt", about: "Open a request, a log or a receipt from the clipboard.", run: () => (asking.value = true) },
    { name: "Open the demo", about: "Every screen, filled by a recorded demo.", run: () => go("home", { workspace: "demo", session: null }) },
    { name: "My project", about: "Your own store, files and settings.", run: () => go("home", { workspace: "mine", session: null }) },
    ...sessions.value.map((id) => ({ name: id, about: "session", run: () => go("timeline", { session: id }) })),
  ];
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = all.filter((each) => wanted.every((word) => `${each.name} ${each.about}`.toLowerCase().includes(word))).slice(0, 12);
  const query = words.value.trim();
  if (query) shown.push({ name: `Search all texts for "${query}"`, about: "in everything that was sent or left out", run: () => go("search", { query }) });
  const chosen = Math.min(at.value, shown.length - 1);
  const run = (command: Command | undefined) => (close(), command?.run());
  return (
    <div class="overlay" onClick={(event) => event.target === event.currentTarget && close()}>
      <div class="dialog palette" role="dialog" aria-modal="true" aria-label="Commands">
        <input
          ref={box}
          type="search"
          aria-label="Search commands"
          placeholder="Go to a screen or a session, or search"
          aria-controls="commands"
          aria-activedescendant={`command-${chosen}`}
          value={words.value}
          onInput={(event) => ((words.value = event.currentTarget.value), (at.value = 0))}
          onKeyDown={(event) => {
            if (event.key === "Escape") close();
            else if (event.key === "ArrowDown") (event.preventDefault(), (at.value = Math.min(shown.length - 1, chosen + 1)));
            else if (event.key === "ArrowUp") (event.preventDefault(), (at.value = Math.max(0, chosen - 1)));
            else if (event.key === "Enter") (event.preventDefault(), run(shown[chosen]));
          }}
        />
        <ul id="commands" role="listbox" aria-label="Commands">
          {shown.map((each, i) => (
            <li key={each.name} id={`command-${i}`} role="option" aria-selected={i === chosen} onClick={() => run(each)}>
              <b>{each.name}</b> <span class="soft">{each.about}</span>
            </li>
          ))}
        </ul>
        <p class="soft keys">
          <kbd>/</kbd> search · <kbd>j</kbd> <kbd>k</kbd> next and previous row · <kbd>Enter</kbd> open · <kbd>[</kbd> <kbd>]</kbd> steps · <kbd>Ctrl</kbd>+<kbd>K</kbd> this list
        </p>
      </div>
    </div>
  );
}
