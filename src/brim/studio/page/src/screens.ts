// The screens other than home: loaded once home is drawn, or at once if the address names one of them.
import { CacheDoctor } from "./cache";
import { ContextNow } from "./context";
import { Doctor } from "./doctor";
import { Flows } from "./flows";
import { Gateway } from "./gateway";
import { Lab } from "./lab";
import { Ledger } from "./ledger";
import { Models } from "./models";
import { Prompt } from "./prompt";
import { Receipts } from "./receipts";
import { Search } from "./search";
import { Timeline } from "./timeline";

export type View = (props: { session: string | null }) => preact.JSX.Element;

export const SCREENS: Record<string, View> = {
  context: ContextNow,
  prompt: Prompt,
  search: Search,
  lab: Lab,
  timeline: Timeline,
  ledger: Ledger,
  cache: CacheDoctor,
  receipts: Receipts,
  flows: Flows,
  models: Models,
  gateway: Gateway,
  doctor: Doctor,
};
