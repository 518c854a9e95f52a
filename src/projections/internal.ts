/** The parts of this module that other modules of the library use, and that its users do not see. */

export { bodyPieces } from "./body.js";
export { replyItems } from "./openai/reply-items.js";
export { CallIds } from "./pair-tool-calls.js";
export { bashText, branchSummaryText, interruptedText, namePrefix } from "./placeholders.js";
export { endOf, replyEnding } from "./stop-reasons.js";
export type { CallIdRule } from "./target.js";
