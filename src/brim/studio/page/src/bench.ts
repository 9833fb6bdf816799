// Asks for one fit after the other, always the newest that was wanted. What is the same at any budget comes once.
import { signal } from "@preact/signals";
import { post } from "./api";
import type { Fit, Pieces } from "./types";

const REST = 180;
const FEW = 24;

/** For each piece that is not there, the budget at which it is, and whether one unit less does not do. */
export type Back = Record<string, [number, boolean]>;
export type Shown = Fit & { pieces: Pieces };

export function bench(source: string, first: number | null, beside: string, rested: (budget: number) => void) {
  const budget = signal(first);
  const fit = signal<Shown | Fit | null>(null);
  const other = signal<Shown | Fit | null>(null);
  const back = signal<Back>({});
  const problem = signal<string | null>(null);
  let compared = beside;
  let pieces: Pieces | undefined;
  let choices: Record<string, string[]> = {};
  let key = "";
  let asked = 0;
  let busy = false;
  let timer = 0;
  let ended = false;

  async function one(units: number | null, given: Record<string, string> | undefined): Promise<Fit> {
    const told = await post<Fit>("fit", { source, budget: units, choices: given, known: key });
    if (told.pieces) [pieces, choices, key] = [told.pieces, told.choices ?? {}, told.key];
    return told.fits ? { ...told, pieces: pieces!, choices } : told;
  }

  async function pump() {
    if (busy) return;
    busy = true;
    let done = -1;
    while (done !== asked) {
      done = asked;
      const units = budget.peek();
      const [name, value] = compared.split(":");
      const given = name && value ? { [name]: value } : undefined;
      try {
        // The first answer has the pieces, so only later ones are asked two at a time.
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
    // A screen that was left in the meantime writes no address any more.
    if (!ended) timer = window.setTimeout(() => void rest(), REST);
  }

  async function rest() {
    const now = fit.peek();
    if (!now) return;
    rested(now.budget);
    if (!now.fits) return;
    await seek(now.budget);
    // What a first look did not find to the unit is looked for one by one, where that is soon done.
    const left = Object.entries(back.peek()).filter(([, [, exact]]) => !exact);
    for (const [name] of left.length <= FEW ? left : []) {
      if (busy || fit.peek() !== now) return;
      await seek(now.budget, name);
    }
  }

  /** Looks for the budgets that bring pieces back; for one of them alone, until it is known to the unit. */
  async function seek(units: number, name?: string) {
    const told = await post<{ budget: number; returns: Back }>("returns", { source, budget: units, name }).catch(() => null);
    if (told && !busy && fit.peek()?.budget === told.budget) back.value = { ...back.peek(), ...told.returns };
  }

  return {
    budget,
    fit,
    other,
    back,
    problem,
    seek,
    want(units: number | null) {
      budget.value = units;
      asked += 1;
      clearTimeout(timer);
      void pump();
    },
    compare(with_: string) {
      compared = with_;
      asked += 1;
      void pump();
    },
    end: () => ((ended = true), clearTimeout(timer)),
  };
}

export type Bench = ReturnType<typeof bench>;
