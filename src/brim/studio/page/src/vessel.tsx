// The vessel: cells that rise to the brim and never above it. The same letters and colours as in the terminal.
export const COLOURS = ["#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#8fa8ff", "#c0c0c0"];
const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

export interface Key {
  letter: string;
  colour: string;
}

/** Returns a letter and a colour for each name: one of its own letters where that is free. */
export function keys(names: readonly string[]): Map<string, Key> {
  const taken = new Map<string, Key>();
  const used = new Set<string>();
  names.forEach((name, i) => {
    const wanted = name.toLowerCase() + name.toUpperCase() + LETTERS;
    let letter = "#";
    for (const each of wanted) {
      if (LETTERS.includes(each) && !used.has(each)) {
        letter = each;
        break;
      }
    }
    used.add(letter);
    taken.set(name, { letter, colour: COLOURS[i % COLOURS.length]! });
  });
  return taken;
}

export interface Share {
  name: string;
  units: number;
}

/** Returns one name for each cell that is filled: the share that holds the middle of the cell. */
export function cells(shares: readonly Share[], scale: number, count: number): string[] {
  const found: string[] = [];
  const size = Math.max(1, scale);
  let poured = 0;
  for (const share of shares) {
    poured += share.units;
    const end = Math.floor((2 * poured * count + size) / (2 * size));
    while (found.length < end) found.push(share.name);
  }
  return found;
}

interface Props {
  shares: readonly Share[];
  spilled?: readonly Share[];
  letters: Map<string, Key>;
  /** Units up to the brim. */
  brim: number;
  /** Units of the whole picture's height. */
  scale: number;
  warning?: number | undefined;
  columns?: number;
  rows?: number;
  unit: string;
  chosen?: string | null;
  onChoose?: (name: string) => void;
}

const CELL = 15;
const PAD = 12;

export function Vessel(props: Props) {
  const { shares, spilled = [], letters, brim, scale, warning, columns = 24, rows = 16, unit } = props;
  // The brim lies on a row's edge, and the cells below it hold just the budget: so no cell can cross it.
  const below = Math.max(1, Math.min(rows, Math.round((rows * brim) / Math.max(1, scale))));
  const inside = cells(shares, brim, columns * below);
  const beside = cells(spilled, brim, columns * below);
  const width = columns * CELL;
  const height = rows * CELL;
  const level = (units: number) => PAD + 10 + height - (units / Math.max(1, brim)) * below * CELL;
  const side = spilled.length ? 9 : 0;
  const puddle = Math.ceil(beside.length / Math.max(1, side));
  const fits = Math.min(puddle, rows);
  const total = width + 2 * PAD + (side ? side * CELL + 3 * PAD : 0);
  const used = shares.reduce((sum, share) => sum + share.units, 0);
  const lost = spilled.reduce((sum, share) => sum + share.units, 0);
  const told =
    `A vessel with ${used.toLocaleString("en")} of ${brim.toLocaleString("en")} ${unit}` +
    (lost ? `; ${lost.toLocaleString("en")} lie beside it` : "");
  const floor = PAD + 10 + height;
  return (
    <svg class="vessel" viewBox={`0 0 ${total} ${floor + PAD + 8}`} role="img" aria-label={told}>
      <path class="glass" d={glass(PAD, PAD + 4, width, floor)} />
      {inside.map((name, i) => (
        <Cell
          key={i}
          name={name}
          at={letters.get(name)}
          x={PAD + (i % columns) * CELL}
          y={floor - (Math.floor(i / columns) + 1) * CELL}
          faint={props.chosen != null && props.chosen !== name}
          onChoose={props.onChoose}
        />
      ))}
      {warning !== undefined && warning < scale && (
        <line class="warning" x1={PAD} x2={PAD + width} y1={level(warning)} y2={level(warning)} />
      )}
      <line class="brim" x1={PAD - 9} x2={PAD + width + 9} y1={level(brim)} y2={level(brim)} />
      <text class="brim-name" x={PAD + width - 4} y={level(brim) - 5} text-anchor="end">
        brim {brim.toLocaleString("en")}
      </text>
      {beside.slice(0, side * rows).map((name, i) => (
        <Cell
          key={`s${i}`}
          name={name}
          at={letters.get(name)}
          x={width + 4 * PAD + (i % side) * CELL}
          y={floor - (Math.floor(i / side) + 1) * CELL}
          spilled
          faint={props.chosen != null && props.chosen !== name}
          onChoose={props.onChoose}
        />
      ))}
      {side > 0 && (
        <text class="spill-name" x={width + 4 * PAD} y={floor - fits * CELL - 6}>
          spilled {lost.toLocaleString("en")}
        </text>
      )}
      {side > 0 && <line class="floor" x1={width + 3 * PAD} x2={total} y1={floor + 1} y2={floor + 1} />}
    </svg>
  );
}

function glass(x: number, top: number, width: number, floor: number): string {
  const r = 8;
  return `M${x - 5} ${top}V${floor - r}a${r + 4} ${r + 4} 0 0 0 ${r + 4} ${r + 4}H${x + width - r + 1}a${r + 4} ${r + 4} 0 0 0 ${r + 4} ${-r - 4}V${top}`;
}

interface CellProps {
  name: string;
  at: Key | undefined;
  x: number;
  y: number;
  spilled?: boolean;
  faint: boolean;
  onChoose?: ((name: string) => void) | undefined;
}

function Cell({ name, at, x, y, spilled, faint, onChoose }: CellProps) {
  const kind = `cell${spilled ? " spilled" : ""}${faint ? " faint" : ""}`;
  const colour = at?.colour ?? "#ffffff";
  return (
    <g class={kind} onClick={onChoose && (() => onChoose(name))}>
      <title>{name}</title>
      <rect
        x={x + 0.7}
        y={y + 0.7}
        width={CELL - 1.4}
        height={CELL - 1.4}
        rx="2.5"
        fill={spilled ? "none" : colour}
        stroke={colour}
      />
      <text x={x + CELL / 2} y={y + CELL / 2 + 3.3} text-anchor="middle">
        {at?.letter ?? "+"}
      </text>
    </g>
  );
}

export function Chip({ at }: { at: Key | undefined }) {
  return (
    <span class="chip" style={{ background: at?.colour ?? "#ffffff" }} aria-hidden="true">
      {at?.letter ?? "+"}
    </span>
  );
}
