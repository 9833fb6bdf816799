// Search: words in anything that was sent or left out.
import { useEffect, useMemo } from "preact/hooks";
import { load } from "./api";
import { Head, n, plural, Problem, Waiting } from "./parts";
import { params, go, link, promptLink } from "./route";
import type { Found } from "./types";

interface Loaded {
  query: string;
  found: (Found & { step: number | null })[];
  sent: { session: string; step: number | null; role: string; excerpt: string }[];
  read: number;
  of: number;
}

export function Search() {
  const query = params.value.get("query") ?? "";
  const found = useMemo(() => load<Loaded>(() => ({ view: "search", fields: { query: params.value.get("query") ?? "" } })), []);
  useEffect(() => found.stop, [found]);
  const { value, problem } = found.state.value;
  return (
    <>
      <Head title="Search" />
      <section class="card">
        <input type="search" class="whole" data-search placeholder="Words in any prompt  ( / )" aria-label="Search all texts" value={query} onInput={(event) => go("search", { query: event.currentTarget.value }, true)} />
      </section>
      {problem && <Problem text={problem} />}
      {!value ? (
        <Waiting />
      ) : !query.trim() ? null : (
        <>
          <section class="card" aria-label="Sent">
            <h2>Sent: {plural(value.sent.length, "message")}</h2>
            <ul class="hits">
              {value.sent.map((hit, i) => (
                <li key={i}>
                  <a data-row href={promptLink(hit.session, hit.step, { find: query })}>
                    <b>{hit.session}</b> <span class="soft">step {hit.step ?? "?"} · {hit.role}</span>
                    <span class="clip">{hit.excerpt}</span>
                  </a>
                </li>
              ))}
            </ul>
            {value.read < value.of && <p class="soft">The newest {n(value.read)} of {plural(value.of, "session")} were read; more words find it sooner.</p>}
          </section>
          <section class="card" aria-label="Left out">
            <h2>Left out: {plural(value.found.length, "text")}</h2>
            <ul class="hits">
              {value.found.map((hit) => (
                <li key={hit.handle}>
                  <a data-row href={hit.step ? promptLink(hit.session, hit.step, { find: query }) : link("ledger", { session: hit.session })}>
                    <b>{hit.session}</b> <span class="soft">{hit.step ? `step ${hit.step}` : "left out"}</span>
                    <span class="clip">{hit.excerpt}</span>
                  </a>
                </li>
              ))}
            </ul>
          </section>
        </>
      )}
    </>
  );
}
