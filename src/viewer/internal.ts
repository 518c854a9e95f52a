/** The parts of this module that the command line uses, beside `node/template`. */

export {
  type ChangedSource,
  type KeyedSource,
  keyedSources,
  type ViewerSource,
  viewerEvents,
  viewerHtml,
} from "./html.js";
export type { CostsOfSessions, FoundText, ListedSession, ListUpdate } from "./page-data.js";
