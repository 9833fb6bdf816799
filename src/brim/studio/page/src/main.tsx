// The frame around the screens: navigation, workspace, session, theme.
import { signal } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { get, load } from "./api";
import { CacheDoctor } from "./cache";
import { ContextNow } from "./context";
import { Doctor } from "./doctor";
import { Flows } from "./flows";
import { Gateway } from "./gateway";
import { Lab } from "./lab";
import { Ledger } from "./ledger";
import { Models } from "./models";
import { Problem, Waiting } from "./parts";
import { Receipts } from "./receipts";
import { params, first, workspace, go, link, screen, SCREENS } from "./route";
import { Timeline } from "./timeline";
import { SentPrompt } from "./sent_prompt";
import type { Session } from "./types";
import "uplot/dist/uPlot.min.css";
import "./style.css";

const sessions = load<{ sessions: Session[]; store: string }>(() => ({ view: "sessions" }), true).state;
const theme = signal(localStorage.getItem("brim-theme") ?? "auto");

const VIEWS: Record<string, (props: { sessions: Session[]; session: string | null }) => preact.JSX.Element> = {
  context: ContextNow,
  sent_prompt: SentPrompt,
  lab: Lab,
  timeline: Timeline,
  ledger: Ledger,
  cache: CacheDoctor,
  receipts: Receipts,
  flows: Flows,
  models: Models,
  gateway: Gateway,
  doctor: Doctor,
};
const OF_SESSIONS = ["context", "sent_prompt", "timeline", "ledger", "cache"];

function Studio() {
  const found = sessions.value;
  const all = found.value?.sessions ?? [];
  const session = params.value.get("session") ?? all[0]?.id ?? null;
  const View = VIEWS[screen.value];
  const named = SCREENS.find(([name]) => name === screen.value)?.[1];
  useEffect(() => {
    document.title = `${named ?? "Not found"} · brim studio`;
    document.querySelector(".rail [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [named]);
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>
        Skip to the content
      </a>
      <nav class="rail" aria-label="Screens">
        <a class="brand" href={link("context")}>
          <img src="/icon.svg" alt="" width="26" height="26" />
          <span>brim</span>
        </a>
        <ul>
          {SCREENS.map(([name, title]) => (
            <li key={name}>
              <a href={link(name)} aria-current={screen.value === name ? "page" : undefined}>
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="side">
        <div class="top">
          {OF_SESSIONS.includes(screen.value) && all.length > 0 && (
            <label>
              <span>Session</span>
              <select value={session ?? ""} onChange={(event) => go(screen.value, { session: event.currentTarget.value })}>
                {all.map((row) => (
                  <option key={row.id} value={row.id}>
                    {row.id} ({row.kind})
                  </option>
                ))}
              </select>
            </label>
          )}
          <span class="grow" />
          <div class="switch" role="group" aria-label="Workspace">
            {["mine", "demo"].map((name) => (
              <button
                key={name}
                aria-pressed={workspace.value === name}
                onClick={() => go(screen.value, { workspace: name, session: null, source: null, id: null, flow: null, step: null })}
              >
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
        <main id="main" tabIndex={-1}>
          {found.problem && <Problem text={found.problem} />}
          {found.loading ? (
            <Waiting />
          ) : View ? (
            <View key={`${screen.value} ${workspace.value}`} sessions={all} session={session} />
          ) : (
            <Problem text={`There is no screen called ${screen.value}.`} />
          )}
        </main>
      </div>
    </div>
  );
}

addEventListener("keydown", (event) => {
  const typing = event.target instanceof HTMLElement && event.target.matches("input:not([type=range], [type=checkbox]), select, textarea");
  if (event.key !== "/" || typing) return;
  const box = document.querySelector<HTMLInputElement>("[data-search]");
  if (box) event.preventDefault();
  box?.focus();
});
theme.subscribe((value) => {
  if (value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
});
get<{ first: string }>("about", { workspace: "mine" })
  .then((about) => (first.value = about.first))
  .finally(() => render(<Studio />, document.getElementById("studio")!));
