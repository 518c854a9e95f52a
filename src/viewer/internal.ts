/** The parts of this module that the command line uses, beside `node/template`. */

export {
  type ChangedSource,
  type KeyedSource,
  keyedSources,
  type ViewerSource,
  viewerEvents,
  viewerHtml,
} from "./html.js";
export {
  type CostsOfSessions,
  type FoundText,
  type ListedSession,
  type ListUpdate,
  maxHits,
} from "./page-data.js";
