// Models: what is known of each, from where, and how well brim counts for it.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { load } from "./api";
import { Head, Long, n, Problem, Waiting } from "./parts";
import type { Session } from "./types";

interface Model {
  id: string;
  provider: string | null;
  window: number | null;
  window_text: string;
  max_input: number | null;
  max_output: number | null;
  vocabulary: string | null;
  prices: { input: number | null; output: number | null; cached_read: number | null } | null;
  cache: { minimum: number | null } | null;
  source: string;
  date: string | null;
  aliases: string[];
  measured: { calls: number; margin: number } | null;
}

export function Models(_: { sessions: Session[]; session: string | null }) {
  const found = useMemo(() => load<{ models: Model[] }>(() => ({ view: "models" })), []);
  useEffect(() => found.stop, [found]);
  const words = useSignal("");
  const open = useSignal<string | null>(null);
  const { value, problem } = found.state.value;
  if (problem) return <Problem told={problem} />;
  if (!value) return <Waiting />;
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = value.models.filter((model) => wanted.every((word) => `${model.id} ${model.provider} ${model.aliases.join(" ")}`.toLowerCase().includes(word)));
  const one = value.models.find((model) => model.id === open.value);
  const price = (amount: number | null | undefined) => (amount === null || amount === undefined ? "unknown" : `$${amount}`);
  return (
    <>
      <Head title="Models">
        <p class="lead">{n(rows.length)} of {n(value.models.length)}. Prices are US dollars for a million tokens.</p>
      </Head>
      <section class="card">
        <input type="search" class="whole" data-search placeholder="Name or maker  ( / )" aria-label="Search models" value={words.value} onInput={(event) => (words.value = event.currentTarget.value)} />
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
                ["cached from", one.cache?.minimum ? `${n(one.cache.minimum)} tokens` : "unknown"],
                ["measured", one.measured ? `${n(one.measured.calls)} calls, margin ${n(one.measured.margin)}` : "not yet"],
                ["source", one.source || "unknown"],
                ["date", one.date ?? "unknown"],
                ["other names", one.aliases.join(", ") || "none"],
              ] as const
            ).map(([name, told]) => (
              <div key={name}><dt>{name}</dt><dd>{told}</dd></div>
            ))}
          </dl>
        )}
        <Long
          items={rows}
          height={48}
          label="Models"
          row={(model) => (
            <button class="row" aria-expanded={open.value === model.id} onClick={() => (open.value = open.value === model.id ? null : model.id)}>
              <span class="what">
                <b>{model.id}</b>
                <span class="clip soft">{model.provider ?? "unknown maker"} · {model.vocabulary ?? "no public vocabulary"} · {model.source}</span>
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
