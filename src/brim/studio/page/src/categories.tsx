// One colour and one pattern for one category, on every screen. The colours are those of the terminal.
const COLOURS = ["#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#8fa8ff", "#c0c0c0"];

export interface Key {
  colour: string;
  /** The number of a pattern, so that categories are told apart without colour. */
  pattern: number;
}

const KNOWN: Record<string, Key> = {
  user: { colour: "#56b4e9", pattern: 0 },
  tools: { colour: "#e69f00", pattern: 1 },
  assistant: { colour: "#009e73", pattern: 2 },
  memory: { colour: "#f0e442", pattern: 3 },
  summary: { colour: "#cc79a7", pattern: 4 },
  "tool results": { colour: "#d55e00", pattern: 5 },
  system: { colour: "#8fa8ff", pattern: 6 },
  framing: { colour: "#c0c0c0", pattern: 7 },
  pinned: { colour: "#7fd8be", pattern: 3 },
  messages: { colour: "#9fc5e8", pattern: 0 },
  correction: { colour: "#ffffff", pattern: 1 },
  unattributed: { colour: "#ffffff", pattern: 1 },
  new: { colour: "#ffffff", pattern: 5 },
  other: { colour: "#b0a090", pattern: 7 },
};

/** Returns a key for each name: that of its category, or one colour after the other if there are other names. */
export function keys(names: readonly string[]): Map<string, Key> {
  const known = names.every((name) => name in KNOWN);
  return new Map(
    names.map((name, i) => [name, known ? KNOWN[name]! : { colour: COLOURS[i % COLOURS.length]!, pattern: (i + Math.floor(i / COLOURS.length)) % 8 }]),
  );
}

export function Chip({ at }: { at: Key | undefined }) {
  return <span class={`chip p${at?.pattern ?? 0}`} style={{ backgroundColor: at?.colour ?? "#ffffff" }} aria-hidden="true" />;
}
