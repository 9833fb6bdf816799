// Requests one fit after the other, always for the latest budget. What is the same at any budget is sent once.
import { signal } from "@preact/signals";
import { post } from "./api";
import type { Fit, Pieces } from "./types";

const REST = 180;
const FEW = 24;
/** Budgets at which the curve behind the slider is measured. */
const MEASURED = 16;

/** For each dropped piece, the budget at which it returns, and whether it is dropped at one less. */
export type Back = Record<string, [number, boolean]>;
export type Shown = Fit & { pieces: Pieces };

export function bench(source: string, first: number | null, beside: string, rested: (budget: number) => void) {
  const budget = signal(first);
  const fit = signal<Shown | Fit | null>(null);
  const other = signal<Shown | Fit | null>(null);
  const back = signal<Back>({});
  const curve = signal<[number, number][]>([]);
  const problem = signal<string | null>(null);
  let compared = beside;
  let pieces: Pieces | undefined;
  let choices: Record<string, string[]> = {};
  let key = "";
  let requested = 0;
  let busy = false;
  let timer = 0;
  let ended = false;

  async function one(units: number | null, given: Record<string, string> | undefined): Promise<Fit> {
    const loaded = await post<Fit>("fit", { source, budget: units, choices: given, known: key });
    if (loaded.pieces) [pieces, choices, key] = [loaded.pieces, loaded.choices ?? {}, loaded.key];
    return loaded.fits ? { ...loaded, pieces: pieces!, choices } : loaded;
  }

  async function pump() {
    if (busy) return;
    busy = true;
    let done = -1;
    while (done !== requested) {
      done = requested;
      const units = budget.peek();
      const [name, value] = compared.split(":");
      const given = name && value ? { [name]: value } : undefined;
      try {
        // The first answer has the pieces, so only later ones are requested two at a time.
        const both = pieces ? await Promise.all([one(units, undefined), given && one(units, given)]) : [await one(units, undefined), undefined];
        const second = given && !both[1] ? await one(units, given) : both[1];
        back.value = {};
        problem.value = null;
        other.value = second ?? null;
        fit.value = both[0]!;
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
    await seek(now.budget);
    await measure(now as Shown);
    // Budgets that are not exact yet are searched one by one, if they are few.
    const left = Object.entries(back.peek()).filter(([, [, exact]]) => !exact);
    for (const [name] of left.length <= FEW ? left : []) {
      if (busy || fit.peek() !== now) return;
      await seek(now.budget, name);
    }
  }

  /** Measures once what each budget leaves out, from the least that fits to what nothing is left out at. */
  async function measure(now: Shown) {
    if (curve.peek().length) return;
    const found: [number, number][] = [];
    for (let i = 1; i <= MEASURED; i++) {
      const at = Math.round((Math.max(now.wanted, now.recorded) * 1.1 * i) / MEASURED);
      const fitted = await post<Fit>("fit", { source, budget: at, known: key }).catch(() => null);
      if (busy || ended) return;
      if (fitted?.fits) found.push([at, fitted.lost]);
    }
    curve.value = found;
  }

  /** Searches the budgets at which pieces return; for one piece, until the budget is exact. */
  async function seek(units: number, name?: string) {
    const loaded = await post<{ budget: number; returns: Back }>("returns", { source, budget: units, name }).catch(() => null);
    if (loaded && !busy && fit.peek()?.budget === loaded.budget) back.value = { ...back.peek(), ...loaded.returns };
  }

  return {
    budget,
    fit,
    other,
    back,
    curve,
    problem,
    seek,
    want(units: number | null) {
      budget.value = units;
      requested += 1;
      clearTimeout(timer);
      void pump();
    },
    compare(with_: string) {
      compared = with_;
      requested += 1;
      void pump();
    },
    end: () => ((ended = true), clearTimeout(timer)),
  };
}

export type Bench = ReturnType<typeof bench>;
