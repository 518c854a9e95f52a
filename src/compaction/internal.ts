/** The parts of this module that other modules of the library use, and that its users do not see. */

export { applyBoundary } from "./boundary.js";
export { isModelSwitch } from "./retention.js";
export { readGeneration, shortenSummary, summarizePart } from "./summarize.js";
