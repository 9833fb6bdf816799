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
  at: number;
  category: string;
  role: string;
  units: number;
  age: number;
  chars: number;
  text: string;
}

export interface Context extends Session {
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
  cached: number | null;
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

export type Row = [
  name: string,
  state: string,
  priority: number,
  required: boolean,
  size: number,
  used: number,
  reason: string,
];

export interface Fit {
  id: string;
  title: string;
  kind: "sections" | "messages";
  model: string | null;
  recorded: number;
  fits: boolean;
  budget: number;
  used?: number;
  unit?: string;
  exact?: boolean;
  joins?: number;
  wanted?: number;
  needed?: number;
  problem?: string;
  rows: Row[];
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
}
