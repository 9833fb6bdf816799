// What the server answers, as far as the page reads it.

export interface Status {
  model: string | null;
  unit: string;
  exact: boolean;
  used: number;
  budget: number;
  window: number;
  warning: number;
  peak: number;
  reported: number | null;
  warnings: number;
  compactions: number;
  sub_ticks: number;
  overflows: number;
  prompts: number;
  messages: number;
  categories: Record<string, number>;
  use: number;
  utilization: number;
}

export interface Session {
  id: string;
  kind: string;
  updated: number;
  goal?: string;
  iterations?: number;
  ended?: string | null;
  status: Status;
}

export interface Piece {
  /** The place of a message, or the name of what stands beside them. */
  at: number | string;
  category: string;
  role: string;
  units: number;
  age: number;
  chars: number;
  text: string;
  kept: boolean;
}

export interface Context extends Session {
  /** What the provider counted beyond the last prompt; unknown where it told nothing. */
  difference: number | null;
  rows: { name: string; units: number; cost_usd: number | null; frees: string }[];
  pieces: Piece[];
  problem: string | null;
  settings: { window: { size: number; reserve: number }; keep_turns: number } | null;
}

export interface Point {
  number: number;
  at: number;
  used: number;
  budget: number;
  categories: Record<string, number>;
  truncated: boolean;
  input: number | null;
  output: number | null;
  cached: number | null;
  cost_usd: number | null;
}

export interface Mark {
  kind: string;
  told: string;
  number: number;
  at: number;
  prompt: number;
}

export interface Timeline extends Session {
  points: Point[];
  marks: Mark[];
  lines: { budget: number; window: number; warning: number };
}

export interface Left {
  handle: string;
  chars: number;
  excerpt: string;
}

export interface Edit {
  number: number;
  at: number;
  kind: string;
  trigger: string | null;
  before: number | null;
  after: number | null;
  reason: string;
  summary: string | null;
  replaced: number | null;
  texts: Left[];
  more: number;
}

export interface Found {
  handle: string;
  session: string;
  excerpt: string;
}

/** What is the same of the pieces of a prompt at any budget, as columns. */
export interface Pieces {
  names: string[];
  priorities: string[];
  required: number[];
  sizes: number[];
  groups: string[];
  group: number[];
  excerpts: string[];
}

/** What a budget makes of the pieces, as columns; states and reasons are told once each. */
export interface Now {
  used: number[];
  state: number[];
  reason: number[];
  states: string[];
  reasons: string[];
}

export interface Fit {
  id: string;
  title: string;
  kind: "sections" | "messages";
  model: string | null;
  recorded: number;
  fits: boolean;
  budget: number;
  needed?: number;
  problem?: string;
  used: number;
  unit: string;
  exact: boolean;
  joins: number;
  wanted: number;
  dropped: number;
  lost: number;
  prefix: number | null;
  prefix_of: number | null;
  cost_usd: number | null;
  cost_change_usd: number | null;
  cost_cached_usd: number | null;
  warnings: string[];
  key: string;
  now: Now;
  pieces?: Pieces;
  choices?: Record<string, string[]>;
}

export interface WireRow {
  role: string;
  state: string;
  units: number;
  from: number | null;
  why: string;
  text: string;
  chars: number;
  summary: boolean;
  sent: number | null;
  prefix: number | null;
}

export interface Wire extends Session {
  prompts: { number: number; at: number; used: number }[];
  format: string | null;
  number: number;
  used: number;
  budget: number;
  unit: string;
  exact: boolean;
  kept: boolean;
  before: Record<string, number>;
  rows: WireRow[];
  rulers: { after: number; units: number; told: string }[];
  body: string;
  curl: string;
}

export interface Preset {
  name: string;
  budget: number;
  told: string;
}

export interface Sources {
  sources: { id: string; title: string; kind: string }[];
  presets: Preset[];
}

export interface Case {
  used: number;
  budget: number;
  files: { name: string; text: string; run: string[]; told: string }[];
}

export interface Receipt {
  id: string;
  kind: string;
  title: string;
  at: number;
  used: number | null;
  budget: number | null;
  unit: string | null;
  truncated: boolean;
  whole: boolean;
  model: string | null;
  status: string;
}

export interface Part {
  name: string;
  state: string;
  size: number | null;
  used: number | null;
  reason: string;
}

export interface Setting {
  key: string;
  value: unknown;
  origin: string;
  where: string;
  override: boolean;
  /** The key that sets it in this very place: its own, or that of a preset; empty where nothing does. */
  own: string;
  warnings: string[];
  over: { value: unknown; origin: string } | null;
  about: string;
  expected: string;
}

export interface Flow {
  name: string;
  description: string;
  where: string;
  own: number;
  steps: { id: string; agent: string; task: string; own: number }[];
}

export interface Flows {
  flows: Flow[];
  profiles: string[];
  presets: Record<string, Record<string, number>>;
  files: string[];
  path: string;
  saved: number;
}

export interface Plan {
  id: string;
  path: string;
  diff: string;
  changed: boolean;
  warnings: string[];
}

export interface Side {
  fits: boolean | null;
  problem: string;
  used: number | null;
  budget: number | null;
  unit: string;
  kept: number | null;
  lost_pins: number | null;
  cost_usd: number | null;
}

export interface Sums {
  overflows: number;
  lost_pins: number;
  used: number | null;
  unit: string;
  cost_usd: number | null;
}

export interface Tryout {
  rows: { id: string; messages: number; before: Side; after: Side }[];
  before: Sums;
  after: Sums;
  warnings: string[];
}
