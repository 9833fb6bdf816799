// The frame around the screens: navigation, workspace, session, theme, keys.
import { signal } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { changed, drawn, get, load } from "./api";
import { Home } from "./home";
import { follow, OpenButton, OpenPanel, takeDrops } from "./open";
import { Palette, palette } from "./palette";
import { Problem, Waiting } from "./parts";
import { params, first, workspace, go, GROUPS, link, screen, SCREENS } from "./route";
import type { View } from "./screens";
import type { Home as Listed } from "./types";
import "uplot/dist/uPlot.min.css";
import "./style.css";

/** Milliseconds between two looks at what is new. */
const EVERY = 4000;
const sessions = load<Listed>(() => ({ view: "sessions" }), true).state;
const theme = signal(localStorage.getItem("brim-theme") ?? "auto");

const views = signal<Record<string, View>>({ home: Home });
const loadScreens = () => import("./screens").then((found) => (views.value = { ...views.value, ...found.SCREENS }));
const OF_SESSIONS = ["context", "timeline", "ledger", "cache", "prompt"];
/** Screens that read their values again as long as they are open. */
const LIVE = ["home", "context", "timeline", "ledger", "cache", "receipts", "gateway"];

function Studio() {
  const found = sessions.value;
  const all = (found.value?.sessions ?? []).filter((row) => row.kind !== "gateway" || screen.value === "prompt");
  const session = params.value.get("session") ?? all.find((row) => row.kind !== "gateway")?.id ?? null;
  const View = views.value[screen.value];
  const here = SCREENS.find((each) => each.name === screen.value);
  const live = found.value?.all !== undefined;
  useEffect(() => {
    document.title = `${here?.title ?? "Not found"} · brim studio`;
    document.querySelector(".rail [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [here]);
  useEffect(() => {
    if (!LIVE.includes(screen.value)) return;
    const timer = setInterval(() => document.visibilityState === "visible" && (changed.value += 1), EVERY);
    return () => clearInterval(timer);
  }, [screen.value]);
  const missing = session !== null && !all.some((row) => row.id === session);
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>
        Skip to the content
      </a>
      <nav class="rail" aria-label="Screens">
        <a class="brand" href={link("home", { session: null })}>
          <img src="/icon.svg" alt="" width="26" height="26" />
          <span>brim</span>
        </a>
        {GROUPS.map(([group, screens]) => (
          <div key={group} class="group">
            <h2>{group}</h2>
            <ul>
              {screens.map((each) => (
                <li key={each.name}>
                  <a href={link(each.name)} title={each.about} aria-current={screen.value === each.name ? "page" : undefined}>
                    {each.title}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      <div class="side">
        <div class="top">
          {OF_SESSIONS.includes(screen.value) && session && (
            <label>
              <span>Session</span>
              <select value={session} onChange={(event) => go(screen.value, { session: event.currentTarget.value, step: null, id: null, diff: null, find: null, call: null, edit: null })}>
                {missing && <option value={session}>{session}</option>}
                {all.map((row) => (
                  <option key={row.id} value={row.id}>
                    {row.id} ({row.kind})
                  </option>
                ))}
              </select>
            </label>
          )}
          <span class="grow" />
          <OpenButton />
          <button class="quiet" onClick={() => (palette.value = true)} title="Ctrl+K">
            Commands
          </button>
          <div class="switch" role="group" aria-label="Workspace">
            {["mine", "demo"].map((name) => (
              <button key={name} aria-pressed={workspace.value === name} onClick={() => (location.hash = `#/${["prompt", "lab"].includes(screen.value) ? "home" : screen.value}?workspace=${name}`)}>
                {name === "mine" ? "My project" : "Demo"}
              </button>
            ))}
          </div>
          <label>
            <span class="away">Theme</span>
            <select
              value={theme.value}
              onChange={(event) => {
                theme.value = event.currentTarget.value;
                localStorage.setItem("brim-theme", theme.value);
              }}
            >
              <option value="auto">Auto</option>
              <option value="light">Light</option>
              <option value="dark">Dark</option>
            </select>
          </label>
        </div>
        <OpenPanel />
        <main id="main" tabIndex={-1}>
          {here && live && <p class="about">{here.about}</p>}
          {found.problem && <Problem text={found.problem} />}
          {found.loading || (here && !View) ? (
            <Waiting />
          ) : View ? (
            <View key={`${screen.value} ${workspace.value}`} session={session} />
          ) : (
            <Problem text={`There is no screen called ${screen.value}.`} />
          )}
        </main>
      </div>
      <Palette />
    </div>
  );
}

addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    palette.value = !palette.value;
    return;
  }
  const typing = event.target instanceof HTMLElement && event.target.matches("input:not([type=range], [type=checkbox]), select, textarea");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || palette.value) return;
  if (event.key === "/") {
    const box = document.querySelector<HTMLInputElement>("[data-search]");
    if (box) event.preventDefault();
    box?.focus();
  } else if (event.key === "?") palette.value = true;
  else if (event.key === "j" || event.key === "k") {
    const rows = [...document.querySelectorAll<HTMLElement>("main [data-row]")];
    const at = rows.indexOf(document.activeElement as HTMLElement);
    rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + (event.key === "j" ? 1 : -1)))]?.focus();
  }
});
theme.subscribe((value) => {
  if (value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
});
takeDrops();
if (screen.value !== "home") void loadScreens();
get<{ first: string; file: string | null }>("about", { workspace: "mine" })
  .then((about) => {
    first.value = about.first;
    if (about.file && !location.hash) void follow(about.file);
  })
  .finally(() => {
    render(<Studio />, document.getElementById("studio")!);
    setTimeout(drawn); // After the screen has taken what it needs.
    setTimeout(loadScreens, 100);
  });
