// The frame around the screens: navigation and keys.
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { changed, get } from "./api";
import { Lab } from "./lab";
import { follow, OpenButton, OpenPanel, takeDrops } from "./open";
import { Problem } from "./parts";
import { go, link, screen, SCREENS } from "./route";
import { Session } from "./session";
import { Sessions } from "./sessions";
import { Settings } from "./settings";

/** Milliseconds between two looks at what is new. */
const EVERY = 4000;
/** Screens that read their values again as long as they are open. */
const LIVE = ["sessions", "session"];
const VIEWS: Record<string, () => preact.JSX.Element> = { sessions: Sessions, session: Session, lab: Lab, settings: Settings };

/** Milliseconds to wait for a screen that loads. */
const PATIENCE = 3000;

/** Goes to the search of sessions and texts. */
function search(): void {
  go("sessions", { file: null, only: null });
  const until = Date.now() + PATIENCE;
  const focus = () => {
    const box = document.querySelector<HTMLInputElement>("main[data-screen=sessions] [data-search]");
    if (box) box.select();
    else if (Date.now() < until) requestAnimationFrame(focus);
  };
  focus();
}

function Studio() {
  const View = VIEWS[screen.value];
  const here = SCREENS.find((each) => each.name === (screen.value === "session" ? "sessions" : screen.value));
  useEffect(() => {
    document.title = `${here?.title ?? "Not found"} · brim studio`;
    if (!LIVE.includes(screen.value)) return;
    const timer = setInterval(() => document.visibilityState === "visible" && (changed.value += 1), EVERY);
    return () => clearInterval(timer);
  }, [screen.value]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href={link("sessions", { session: null })}>
          <img src="/icon.svg" alt="" width="20" height="20" />
          <span>brim</span>
        </a>
        <nav class="rail" aria-label="Screens">
          {SCREENS.map((each) => (
            <a key={each.name} href={each.name === screen.value ? location.hash || "#/sessions" : link(each.name)} title={each.about} aria-current={each === here ? "page" : undefined}>
              {each.title}
            </a>
          ))}
        </nav>
        <button class="find" onClick={search} title="Ctrl+K">
          Search… <kbd>Ctrl K</kbd>
        </button>
        <OpenButton />
      </header>
      <OpenPanel />
      <main id="main" tabIndex={-1} data-screen={screen.value}>
        {View ? <View key={screen.value} /> : <Problem text={`There is no screen called ${screen.value}.`} />}
      </main>
    </>
  );
}

addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    search();
    return;
  }
  const typing = event.target instanceof HTMLElement && event.target.matches("input:not([type=range], [type=checkbox]), select, textarea");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    const box = document.querySelector<HTMLInputElement>("[data-search]");
    if (box) event.preventDefault();
    box?.focus();
  } else if (event.key === "j" || event.key === "k") {
    const rows = [...document.querySelectorAll<HTMLElement>("main [data-row]")];
    const at = rows.indexOf(document.activeElement as HTMLElement);
    rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + (event.key === "j" ? 1 : -1)))]?.focus();
  }
});
takeDrops();
render(<Studio />, document.getElementById("studio")!);
if (!location.hash) void get<{ file: string | null }>("about").then(({ file }) => (file ? follow(file) : undefined));
