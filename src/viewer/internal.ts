/** The parts of this module that the command line uses. */

export {
  type ViewerOptions,
  type ViewerPage,
  type ViewerSource,
  viewerEvent,
  viewerHtml,
} from "./html.js";
