// A prompt as one bar, part by part in their order.
import { useMemo } from "preact/hooks";
import type { Key } from "./categories";
import { n } from "./parts";

/** The most parts of the bar; more would be narrower than a pixel, and are summed by category. */
const MOST = 300;

/** A category and its tokens. */
export type Run = [string, number];

interface Props {
  runs: Run[];
  used: number;
  budget: number;
  unit: string;
  colours: Map<string, Key>;
}

export function Ribbon({ runs, used, budget, unit, colours }: Props) {
  const parts = useMemo(() => joined(runs), [runs]);
  const free = Math.max(0, budget - used);
  return (
    <div class="ribbon" role="img" aria-label={`${n(used)} of ${n(budget)} ${unit}, in the order of the prompt`}>
      {parts.map(([name, units], i) => (
        <span key={i} class={`p${colours.get(name)?.pattern ?? 0}`} style={{ flexGrow: units, backgroundColor: colours.get(name)?.colour ?? "#ffffff" }} title={`${name}: ${n(units)}`} />
      ))}
      {free > 0 && <span class="free" style={{ flexGrow: free }} title={`free: ${n(free)}`} />}
    </div>
  );
}

/** Returns neighbours of one category as one; all of a category if there are too many. */
function joined(runs: Run[]): Run[] {
  const found: Run[] = [];
  const sums = new Map<string, number>();
  for (const [name, units] of runs) {
    if (!units) continue;
    const last = found.at(-1);
    if (last?.[0] === name) last[1] += units;
    else found.push([name, units]);
    sums.set(name, (sums.get(name) ?? 0) + units);
  }
  return found.length <= MOST ? found : [...sums];
}
