// The answers of the server, as far as the page reads them.

export interface Status {
  model: string | null;
  unit: string;
  compactions: number;
  sub_ticks: number;
}

export interface Session {
  id: string;
  kind: string;
  goal?: string;
  ended?: string | null;
  status: Status;
}

export interface Point {
  step: number;
  used: number;
  budget: number;
  categories: Record<string, number>;
}

export interface Mark {
  kind: string;
  text: string;
  number: number;
  step: number;
}

export interface Timeline extends Session {
  /** The first words of its task. */
  title?: string;
  points: Point[];
  marks: Mark[];
  lines: { budget: number; window: number; warning: number };
}

export interface Removed {
  handle: string;
  tokens: number;
  excerpt: string;
}

export interface Edit {
  step: number | null;
  number: number;
  kind: string;
  trigger: string | null;
  before: number | null;
  after: number | null;
  reason: string;
  summary: string | null;
  replaced: number | null;
  texts: Removed[];
  more: number;
  /** Calls that were repeated because this edit had removed their results. */
  regret?: { calls: number; tokens: number } | null;
}

/** A section or a turn at a budget. */
export interface Piece {
  name: string;
  size: number;
  used: number;
  state: string;
  reason: string;
  priority: string;
  group: string;
  excerpt: string;
}

export interface Fit {
  kind: "sections" | "messages";
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
  shortened: number;
  lost: number;
  size: { used: number; method: string } | null;
  cost_usd: number | null;
  warnings: string[];
  pieces: Piece[];
}

export interface HomeRow {
  id: string;
  kind: string;
  source: string;
  model: string;
  updated: number;
  unit: string;
  prompts: number | null;
  peak: number;
  budget: number;
  compactions: number;
  title?: string;
  /** Its worst problem, in a few words; empty if there is none. */
  problem: string;
  assumed: boolean;
}

export interface Home {
  sessions: HomeRow[];
  found: number;
  all: number;
  start: number;
  files: { id: string; name: string }[];
}

export interface PromptRow {
  category: string;
  role: string;
  name: string;
  state: string;
  units: number;
  /** Tokens before it was shortened. */
  was: number | null;
  text: string;
  why: string;
  sent: boolean;
  /** The lines of the original and of what was sent: `=` in both, `-` taken out, `+` put in. */
  taken: [string, string][] | null;
}

export interface Prompt {
  session: string;
  step: number;
  steps: number;
  at: number | null;
  kind: "sent" | "recorded" | "sections" | "sums";
  model: string | null;
  used: number | null;
  budget: number | null;
  unit: string;
  exact: boolean;
  /** How it was counted. */
  size: { used: number; exact: boolean; method: string; reported: number | null; unlogged: number | null };
  usage: { input: number | null; output: number | null; cached: number | null } | null;
  cost_usd: number | null;
  rows: PromptRow[];
  answer: { text: string } | null;
  replayable: boolean;
}

export interface Setting {
  key: string;
  value: unknown;
  origin: string;
  where: string;
  override: boolean;
  /** The key that sets it in this layer: its own, or that of a preset; empty if nothing does. */
  own: string;
  warnings: string[];
  over: { value: unknown; origin: string } | null;
  /** The least and the most of a budget. */
  bounds: [number, number] | null;
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
  /** The layer that it is written to. */
  layer: string;
  /** The value that applies afterwards, and its origin. */
  applies: { value: unknown; origin: string; where: string } | null;
  diff: string;
  changed: boolean;
  warnings: string[];
}
