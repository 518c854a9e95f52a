/** The parts of this module that the command line uses, beside `node/template`. */

export {
  type ChangedSource,
  type KeyedSource,
  keyedSources,
  type ViewerSource,
  viewerEvent,
  viewerHtml,
} from "./html.js";
