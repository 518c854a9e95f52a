/** The parts of this module that other modules of the library use, and that its users do not see. */
export { previewOf } from "./store/preview.js";
export { type LineSummary, summarizeLines } from "./store/summarize-lines.js";
