// A request and sections put together on the page, and what a fit of them sends.
import { useSignal } from "@preact/signals";
import { post } from "./api";
import { n, Problem } from "./parts";
import { go } from "./route";

const REQUEST = `{
  "model": "gpt-5",
  "messages": [
    {"role": "user", "content": "Hello, I have a question about my order."},
    {"role": "assistant", "content": "Of course. Which order is it?"}
  ]
}`;
const SECTIONS = `sections:
  - {name: rules, page: system, priority: required, content: "Answer from the documents. Be brief."}
  - name: documents
    keep: best
    floor: 20%
    content:
      - "Orders leave the warehouse within two days."
      - "A parcel can be returned within thirty days."
    scores: [2, 1]
  - {name: question, priority: required, content: "Where is order 1234?"}
`;

/** What was last written into the form: it is there again when the form is opened again. */
const written = { request: REQUEST, sections: SECTIONS, model: "", budget: "2000" };

export function Compose({ close }: { close: () => void }) {
  const problem = useSignal("");
  const busy = useSignal(false);
  async function fit() {
    busy.value = true;
    try {
      const budget = written.budget.trim() === "" ? null : Number(written.budget);
      const { request, sections } = written;
      const made = await post<{ source: string; budget: number }>("compose", { request, sections, model: written.model.trim(), budget });
      go("lab", { source: made.source, budget: String(made.budget), beside: null });
      close();
    } catch (error) {
      problem.value = (error as Error).message;
    }
    busy.value = false;
  }
  return (
    <section class="card compose" aria-label="Compose a request">
      <div class="two">
        <label>
          <span>Request: its body, or its messages, as JSON</span>
          <textarea rows={14} spellcheck={false} value={written.request} onInput={(event) => (written.request = event.currentTarget.value)} />
        </label>
        <label>
          <span>Sections as YAML: page: system, or page: user (the default)</span>
          <textarea rows={14} spellcheck={false} value={written.sections} onInput={(event) => (written.sections = event.currentTarget.value)} />
        </label>
      </div>
      {problem.value && <Problem text={problem.value} />}
      <div class="tools">
        <label class="inline">
          <span>Budget</span>
          <input type="number" min={0} placeholder="the window" value={written.budget} onInput={(event) => (written.budget = event.currentTarget.value)} />
        </label>
        <label class="inline">
          <span>Model</span>
          <input type="text" placeholder="of the request" value={written.model} onInput={(event) => (written.model = event.currentTarget.value)} />
        </label>
        <button class="main" disabled={busy.value} onClick={() => void fit()}>
          Fit
        </button>
        <button onClick={close}>Cancel</button>
      </div>
      <p class="soft hint">Messages, tools and sections share one budget, as in brim fit REQUEST.json --sections SPEC.yaml. Nothing is sent to a model, and nothing is kept.</p>
    </section>
  );
}

/** What the fit sends, and its receipt: loaded when it is opened, for the budget that is shown. */
export function Result({ source, budget }: { source: string; budget: number }) {
  const made = useSignal<{ text: string; receipt: string; used: number; budget: number } | null>(null);
  const problem = useSignal("");
  async function show() {
    problem.value = "";
    try {
      made.value = await post("result", { source, budget });
    } catch (error) {
      problem.value = (error as Error).message;
    }
  }
  const shown = made.value;
  return (
    <section class="card result" aria-label="Result">
      <div class="tools">
        <button onClick={() => void show()}>{shown ? "Show the result again" : "Show the result"}</button>
        {shown && <button onClick={() => (made.value = null)}>Hide</button>}
        {shown && (
          <span class="soft">
            {n(shown.used)} of {n(shown.budget)}
          </span>
        )}
      </div>
      {problem.value && <Problem text={problem.value} />}
      {shown && (
        <>
          <h2>What is sent</h2>
          <pre class="sent">{shown.text}</pre>
          <h2>Receipt</h2>
          <pre class="receipt">{shown.receipt}</pre>
        </>
      )}
    </section>
  );
}
