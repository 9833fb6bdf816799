// Models: the catalogue with its sources, and how well brim counts for each model.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { load } from "./api";
import { Long, n, Problem, Waiting } from "./parts";
import { params, workspace, go } from "./route";

interface Model {
  id: string;
  provider: string | null;
  window: number | null;
  window_text: string;
  max_input: number | null;
  max_output: number | null;
  vocabulary: string | null;
  shared: boolean | null;
  guessed: boolean;
  prices: { input: number | null; output: number | null; cached_read: number | null; cache_write: number | null } | null;
  cache: { minimum: number | null; ttl: number[]; breakpoints: number | null; automatic: boolean | null } | null;
  source: string;
  date: string | null;
  aliases: string[];
  measured: { calls: number; margin: number } | null;
  error: { calls: number; mean: number; p95: number; under: number } | null;
}

const percent = (part: number): string => `${(100 * part).toFixed(part < 0.1 ? 2 : 1)} %`;
const yes = (value: boolean | null | undefined): string => (value === null || value === undefined ? "unknown" : value ? "yes" : "no");

export function Models() {
  const found = useMemo(() => load<{ models: Model[] }>(() => ({ view: "models" })), []);
  useEffect(() => found.stop, [found]);
  const only = useSignal(false);
  const { value, problem } = found.state.value;
  if (problem) return <Problem text={problem} />;
  if (!value) return <Waiting />;
  const text = params.value.get("text") ?? "";
  const open = params.value.get("model");
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = value.models.filter((model) => (!only.value || model.error || model.measured) && wanted.every((word) => `${model.id} ${model.provider} ${model.aliases.join(" ")}`.toLowerCase().includes(word)));
  rows.sort((a, b) => Number(!!(b.error || b.measured)) - Number(!!(a.error || a.measured)));
  const one = value.models.find((model) => model.id === open);
  const price = (amount: number | null | undefined) => (amount === null || amount === undefined ? "unknown" : `$${amount}`);
  return (
    <>
      <p class="lead">{n(rows.length)} of {n(value.models.length)}. Prices are US dollars for a million tokens.{workspace.value === "demo" && " The demo's provider counts with the same meter, so its errors are 0."}</p>
      <section class="card">
        <div class="tools">
          <input type="search" class="grow" data-search placeholder="Name or provider  ( / )" aria-label="Search models" value={text} onInput={(event) => go("settings", { text: event.currentTarget.value }, true)} />
          <label class="check"><input type="checkbox" checked={only.value} onChange={(event) => (only.value = event.currentTarget.checked)} /> only measured models</label>
        </div>
        {one && (
          <dl class="facts many">
            {(
              [
                ["model", one.id],
                ["window", one.window_text],
                ["longest prompt", n(one.max_input)],
                ["longest answer", n(one.max_output)],
                ["vocabulary", one.vocabulary ?? "unknown"],
                ["input", price(one.prices?.input)],
                ["output", price(one.prices?.output)],
                ["cached input", price(one.prices?.cached_read)],
                ["writing to the cache", price(one.prices?.cache_write)],
                ["prompt and answer share the window", yes(one.shared)],
                ["cached automatically", yes(one.cache?.automatic)],
                ["cached from", one.cache?.minimum ? `${n(one.cache.minimum)} tokens` : "unknown"],
                ["cached for", one.cache?.ttl.length ? one.cache.ttl.map((each) => `${n(each)} s`).join(", ") : "unknown"],
                ["breakpoints", n(one.cache?.breakpoints)],
                ["counting error, mean", one.error ? `${percent(one.error.mean)} of ${n(one.error.calls)} calls` : "not measured"],
                ["counting error, 95th percentile", one.error ? percent(one.error.p95) : "not measured"],
                ["largest undercount", one.error ? percent(one.error.under) : "not measured"],
                ["calibrated", one.measured ? `by ${n(one.measured.calls)} calls, margin ${percent(one.measured.margin / 1e6)}` : "no"],
                ["source", one.source || "unknown"],
                ["date", one.date ?? "unknown"],
                ["other names", one.aliases.join(", ") || "none"],
              ] as const
            ).map(([name, loaded]) => (
              <div key={name}><dt>{name}</dt><dd>{loaded}</dd></div>
            ))}
          </dl>
        )}
        <Long
          items={rows}
          height={44}
          label="Models"
          row={(model) => (
            <button class={`row${open === model.id ? " on" : ""}`} aria-expanded={open === model.id} onClick={() => go("settings", { model: open === model.id ? null : model.id }, true)}>
              <span class="what">
                <div>
                  <b>{model.id}</b> {model.error && <span class={`badge ${model.error.p95 > 0.02 ? "warn" : "good"}`}>error {percent(model.error.p95)}</span>}
                </div>
                <span class="clip soft">{model.provider ?? "unknown provider"} · {model.vocabulary ?? "no public vocabulary"} · {model.source}{model.date ? `, ${model.date}` : ""}</span>
              </span>
              <span class="num">{model.window_text}<small> window</small></span>
              <span class="num">{price(model.prices?.input)}<small> in</small></span>
            </button>
          )}
        />
      </section>
    </>
  );
}
