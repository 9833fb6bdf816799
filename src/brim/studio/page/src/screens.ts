// The screens other than the list of sessions: loaded once that is drawn, or at once if the address names one of them.
import { Lab } from "./lab";
import { Live } from "./live";
import { Session } from "./session";
import { Settings } from "./settings";

export type View = () => preact.JSX.Element;

export const VIEWS: Record<string, View> = { session: Session, lab: Lab, settings: Settings, live: Live };
