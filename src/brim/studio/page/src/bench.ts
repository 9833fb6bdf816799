// Requests one fit after the other, always for the latest budget.
import { signal } from "@preact/signals";
import { post } from "./api";
import type { Fit } from "./types";

/** Milliseconds without a move after which the slider rests. */
const REST = 180;

/** For each dropped piece, the budget at which it returns, and whether one token less drops it. */
export type Back = Record<string, [number, boolean]>;

export function bench(source: string, first: number | null, rested: (budget: number) => void) {
  const budget = signal(first);
  const fit = signal<Fit | null>(null);
  const back = signal<Back>({});
  const problem = signal<string | null>(null);
  let requested = 0;
  let busy = false;
  let timer = 0;
  let ended = false;

  async function pump() {
    if (busy) return;
    busy = true;
    for (let done = -1; done !== requested; ) {
      done = requested;
      try {
        const fitted = await post<Fit>("fit", { source, budget: budget.peek() });
        back.value = {};
        problem.value = null;
        fit.value = fitted;
      } catch (error) {
        problem.value = (error as Error).message;
      }
    }
    busy = false;
    clearTimeout(timer);
    // A screen that was left in the meantime must not change the address.
    if (!ended) timer = window.setTimeout(() => void rest(), REST);
  }

  async function rest() {
    const now = fit.peek();
    if (!now) return;
    rested(now.budget);
    if (!now.fits) return;
    const loaded = await post<{ budget: number; returns: Back }>("returns", { source, budget: now.budget }).catch(() => null);
    if (loaded && !busy && fit.peek()?.budget === loaded.budget) back.value = loaded.returns;
  }

  return {
    budget,
    fit,
    back,
    problem,
    want(units: number | null) {
      budget.value = units;
      requested += 1;
      clearTimeout(timer);
      void pump();
    },
    end: () => ((ended = true), clearTimeout(timer)),
  };
}

export type Bench = ReturnType<typeof bench>;
