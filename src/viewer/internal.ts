/** The parts of this module that the command line uses, beside `node/template`. */

export { viewerEvent, viewerHtml } from "./html.js";
