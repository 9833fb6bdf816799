// The drawing of a budget: cells that rise to the brim, in the colour and the pattern of their category.
import { type Key, OTHER, PATTERNS } from "./categories";

export { type Key, keys } from "./categories";

export interface Share {
  name: string;
  units: number;
}

/** Returns a name for each filled cell: the share at the middle of the cell. */
export function cells(shares: readonly Share[], scale: number, count: number): string[] {
  const found: string[] = [];
  const size = Math.max(1, scale);
  let total = 0;
  for (const share of shares) {
    total += share.units;
    const end = Math.floor((2 * total * count + size) / (2 * size));
    while (found.length < end) found.push(share.name);
  }
  return found;
}

interface Props {
  shares: readonly Share[];
  spilled: readonly Share[];
  letters: Map<string, Key>;
  /** The budget. */
  brim: number;
  /** Tokens of the full height. */
  scale: number;
  unit: string;
  chosen: string | null;
  onChoose: (name: string) => void;
}

const CELL = 15;
/** Cells of a row, and rows of the whole height. */
const SIZE = 18;
const PAD = 12;
const SIDE = 9;

interface Region {
  name: string;
  path: string;
}

/** Returns the areas of the names, row by row from the bottom: one path for each run of cells. */
function regions(names: readonly string[], columns: number, x: number, floor: number): Region[] {
  const found: Region[] = [];
  for (let start = 0, end = 0; start < names.length; start = end) {
    while (end < names.length && names[end] === names[start]) end += 1;
    let path = "";
    for (let at = start; at < end; ) {
      const row = Math.floor(at / columns);
      // Adjacent whole rows are one rectangle.
      const rows = at % columns === 0 ? Math.max(1, Math.floor((end - at) / columns)) : 1;
      const stop = Math.min(end, (row + rows) * columns);
      const wide = rows > 1 ? columns : stop - at;
      path += `M${x + (at % columns) * CELL} ${floor - (row + rows) * CELL}h${wide * CELL}v${rows * CELL}h${-wide * CELL}z`;
      at = stop;
    }
    found.push({ name: names[start]!, path });
  }
  return found;
}

export function Vessel(props: Props) {
  const { shares, spilled, letters, brim, scale, unit } = props;
  // The brim is the edge of a row, and the cells below it are exactly the budget, so no cell crosses it.
  const below = Math.max(1, Math.min(SIZE, Math.round((SIZE * brim) / Math.max(1, scale))));
  const width = SIZE * CELL;
  const floor = PAD + 10 + SIZE * CELL;
  const level = floor - below * CELL;
  const side = spilled.length ? SIDE : 0;
  const left = width + 4 * PAD;
  const inside = regions(cells(shares, brim, SIZE * below), SIZE, PAD, floor);
  const puddle = cells(spilled, brim, SIZE * below).slice(0, SIDE * SIZE);
  const beside = regions(puddle, SIDE, left, floor);
  const total = width + 2 * PAD + (side ? side * CELL + 3 * PAD : 0);
  const used = shares.reduce((sum, share) => sum + share.units, 0);
  const lost = spilled.reduce((sum, share) => sum + share.units, 0);
  const label =
    `${used.toLocaleString("en")} of ${brim.toLocaleString("en")} ${unit} used` +
    (lost ? `; ${lost.toLocaleString("en")} left out` : "");
  const faint = (name: string) => (props.chosen !== null && props.chosen !== name ? " faint" : "");
  return (
    <svg class="vessel" viewBox={`0 0 ${total} ${floor + PAD + 8}`} role="img" aria-label={label}>
      <defs>
        {[...letters.values(), OTHER].map((key, i) => (
          <Cell key={i} id={`in-${i}`} at={key} x={PAD} y={floor} />
        ))}
        {side > 0 && [...letters.values(), OTHER].map((key, i) => <Cell key={i} id={`out-${i}`} at={key} x={left} y={floor} spilled />)}
      </defs>
      <path class="glass" d={glass(PAD, PAD + 4, width, floor)} />
      {inside.map(({ name, path }) => (
        <path key={name} class={`cell${faint(name)}`} d={path} fill={`url(#in-${place(letters, name)})`} onClick={() => props.onChoose(name)}>
          <title>{name}</title>
        </path>
      ))}
      <line class="brim" x1={PAD - 9} x2={PAD + width + 9} y1={level} y2={level} />
      <text class="brim-name" x={PAD + width - 4} y={level - 5} text-anchor="end">
        budget {brim.toLocaleString("en")}
      </text>
      {beside.map(({ name, path }) => (
        <path key={name} class={`cell${faint(name)}`} d={path} fill={`url(#out-${place(letters, name)})`} onClick={() => props.onChoose(name)}>
          <title>{name}</title>
        </path>
      ))}
      {side > 0 && (
        <text class="spill-name" x={left} y={floor - Math.ceil(puddle.length / SIDE) * CELL - 6}>
          left out {lost.toLocaleString("en")}
        </text>
      )}
      {side > 0 && <line class="floor" x1={width + 3 * PAD} x2={total} y1={floor + 1} y2={floor + 1} />}
    </svg>
  );
}

/** Returns the index of a name's pattern; names without a letter share the last. */
function place(letters: Map<string, Key>, name: string): number {
  const found = [...letters.keys()].indexOf(name);
  return found < 0 ? letters.size : found;
}

function glass(x: number, top: number, width: number, floor: number): string {
  const r = 8;
  return `M${x - 5} ${top}V${floor - r}a${r + 4} ${r + 4} 0 0 0 ${r + 4} ${r + 4}H${x + width - r + 1}a${r + 4} ${r + 4} 0 0 0 ${r + 4} ${-r - 4}V${top}`;
}

/** One cell, as a pattern that fills the area of its name. */
function Cell({ id, at, x, y, spilled }: { id: string; at: Key; x: number; y: number; spilled?: boolean }) {
  return (
    <pattern id={id} class={spilled ? "spilled" : ""} x={x} y={y} width={CELL} height={CELL} patternUnits="userSpaceOnUse">
      <rect x={0.7} y={0.7} width={CELL - 1.4} height={CELL - 1.4} rx="2.5" fill={spilled ? "none" : at.colour} stroke={at.colour} />
      {PATTERNS[at.pattern]!.map((line) => (
        <path key={line} class="hatch" d={line} transform={`translate(2.5 2.5) scale(${CELL - 5})`} vector-effect="non-scaling-stroke" />
      ))}
    </pattern>
  );
}

export function Chip({ at }: { at: Key | undefined }) {
  return <span class={`chip p${at?.pattern ?? 0}`} style={{ backgroundColor: at?.colour ?? "#ffffff" }} aria-hidden="true" />;
}
