// Search over screens, sessions and all texts. Ctrl+K or ? opens it.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { get } from "./api";
import { plural } from "./parts";
import { go, SCREENS, stepLink } from "./route";
import type { Found, Home, HomeRow } from "./types";

export const palette = signal(false);
/** Characters of the shortest query that searches texts. */
const LEAST = 3;

interface Command {
  name: string;
  about: string;
  run: () => void;
}

interface Hits {
  query: string;
  found: Found[];
  sent: { session: string; step: number | null; role: string; excerpt: string }[];
  read: number;
  of: number;
}

export function Palette() {
  const words = useSignal("");
  const at = useSignal(0);
  const sessions = useSignal<HomeRow[]>([]);
  const hits = useSignal<Hits | null>(null);
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!palette.value) return;
    words.value = "";
    at.value = 0;
    hits.value = null;
    box.current?.focus();
    void get<Home>("sessions").then((loaded) => (sessions.value = loaded.sessions), () => undefined);
  }, [palette.value]);
  const query = words.value.trim();
  useEffect(() => {
    if (query.length < LEAST) {
      hits.value = null;
      return;
    }
    const timer = setTimeout(() => void get<Hits>("search", { query }).then((loaded) => (hits.value = loaded), () => undefined), 150);
    return () => clearTimeout(timer);
  }, [query]);
  if (!palette.value) return <></>;
  const close = () => (palette.value = false);
  const all: Command[] = [
    ...SCREENS.map((each) => ({ name: each.title, about: each.about, run: () => go(each.name) })),
    ...["flows", "doctor"].map((tab) => ({ name: tab[0]!.toUpperCase() + tab.slice(1), about: "in Settings", run: () => go("settings", { tab }) })),
    { name: "Demo", about: "All screens with a recorded demo.", run: () => go("sessions", { workspace: "demo", session: null }) },
    { name: "My project", about: "Your own store, files and settings.", run: () => go("sessions", { workspace: "mine", session: null }) },
    ...sessions.value.map((row) => ({ name: row.title ?? row.id, about: `session ${row.id}`, run: () => (location.hash = stepLink(row.id, null)) })),
  ];
  const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = all.filter((each) => wanted.every((word) => `${each.name} ${each.about}`.toLowerCase().includes(word))).slice(0, 10);
  const texts = (hits.value?.query === query && hits.value) || null;
  const open = (session: string, step: number | null | undefined, tab: string | null) => () => (location.hash = stepLink(session, step ?? null, { find: query, tab }));
  for (const hit of texts?.found ?? []) shown.push({ name: hit.excerpt, about: `left out of ${hit.session}${hit.step ? `, step ${hit.step}` : ""}`, run: open(hit.session, hit.step, "out") });
  for (const hit of texts?.sent ?? []) shown.push({ name: hit.excerpt, about: `${hit.role} in ${hit.session}${hit.step ? `, step ${hit.step}` : ""}`, run: open(hit.session, hit.step, null) });
  const chosen = Math.min(at.value, shown.length - 1);
  const run = (command: Command | undefined) => (close(), command?.run());
  return (
    <div class="overlay" onClick={(event) => event.target === event.currentTarget && close()}>
      <div class="dialog palette" role="dialog" aria-modal="true" aria-label="Search and commands">
        <input
          ref={box}
          type="search"
          aria-label="Search and commands"
          placeholder="A screen, a session, or words in any text"
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
        <ul id="commands" role="listbox" aria-label="Results">
          {shown.map((each, i) => (
            <li key={i} id={`command-${i}`} role="option" aria-selected={i === chosen} onClick={() => run(each)}>
              <b class="clip">{each.name}</b> <span class="soft clip">{each.about}</span>
            </li>
          ))}
        </ul>
        {query.length >= LEAST && (
          <p class="soft" role="status">
            {!texts ? "Searching…" : `${plural(texts.found.length, "text")} left out, ${plural(texts.sent.length, "message")} sent`}
            {texts && texts.read < texts.of && `; searched the newest ${texts.read} of ${plural(texts.of, "session")}`}
          </p>
        )}
        <p class="soft keys">
          <kbd>/</kbd> search here · <kbd>j</kbd> <kbd>k</kbd> next and previous row · <kbd>[</kbd> <kbd>]</kbd> steps · <kbd>1</kbd> to <kbd>4</kbd> tabs
        </p>
      </div>
    </div>
  );
}
