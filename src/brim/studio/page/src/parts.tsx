// Components that several screens share.
import { useSignal } from "@preact/signals";
import type { ComponentChildren, VNode } from "preact";

export const n = (value: number | null | undefined): string =>
  value === null || value === undefined ? "unknown" : value.toLocaleString("en");

/** A number with its noun, in the singular or the plural. */
export const plural = (count: number, noun: string): string => `${n(count)} ${noun}${count === 1 ? "" : "s"}`;

export const share = (part: number, whole: number): string =>
  whole ? `${((100 * part) / whole).toFixed(1)} %` : "unknown";

export const when = (at: number): string =>
  new Date(at * 1000).toLocaleString("en", { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

export const dollars = (value: number | null): string =>
  value === null ? "unknown" : value > 0 && value < 0.000005 ? "< $0.00001" : `$${value.toFixed(value < 0.01 ? 5 : value < 1 ? 4 : 2)}`;

export function shown(value: unknown): string {
  if (value === null || value === undefined) return "-";
  if (typeof value === "number") return n(value);
  if (Array.isArray(value)) return value.map(String).join(", ") || "-";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export function Head({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <header class="head">
      <h1>{title}</h1>
      {children}
    </header>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return (
    <div class="empty">
      <svg viewBox="0 0 64 64" aria-hidden="true">
        <path class="glass" d="M14 8v40a8 8 0 0 0 8 8h20a8 8 0 0 0 8-8V8" />
        <path class="brim" d="M8 20h48" />
      </svg>
      <div>{children}</div>
      <p>Drop a request, a log, a trace, a session of an agent or a receipt anywhere on this page, or paste its text. It stays on this machine.</p>
      <p><code>brim studio --demo</code> shows a recorded demo.</p>
    </div>
  );
}

export function Problem({ text }: { text: string }) {
  return (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}

/** The most rows of a list that are drawn at once; a button draws the others. */
const FEW = 300;

/** The start and the end of a long list, with a button between them that draws the rest. */
export function Rows<T>({ items, draw }: { items: readonly T[]; draw: (item: T) => VNode }) {
  const all = useSignal(false);
  if (all.value || items.length <= FEW) return <ol>{items.map(draw)}</ol>;
  return (
    <>
      <ol>{items.slice(0, FEW / 2).map(draw)}</ol>
      <button class="rest" onClick={() => (all.value = true)}>Show {n(items.length - FEW)} more</button>
      <ol>{items.slice(-FEW / 2).map(draw)}</ol>
    </>
  );
}

/** A button that copies a text. */
export function Copied({ text, label = "Copy" }: { text: string; label?: string }) {
  const said = useSignal(label);
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => (said.value = "Copied"),
      () => (said.value = "Select it and copy by hand"),
    );
  return (
    <button class="copy" onClick={() => void copy()} aria-live="polite">
      {said.value}
    </button>
  );
}

export function Waiting() {
  return (
    <p class="waiting" role="status">
      Loading…
    </p>
  );
}
