/**
 * Attachments as tokens in a message's text: parsed and printed, planned from a paste or a drop, shown. Pure functions.
 *
 * @module context-tokens
 */
export { type ImportOutcome, insertSteps, settleImport } from "./compose.js";
export { escapeContextTokens, unescapeContextTokens } from "./escape.js";
export { extractImagePaths } from "./images.js";
export {
  type BrokenReason,
  type BrokenSegment,
  type ContextTokenKind,
  type ContextTokenOptions,
  parseContextTokens,
  type Segment,
  type TextSegment,
  type TokenSegment,
} from "./parse.js";
export {
  type ClipboardEntry,
  type ComposeOptions,
  type ComposeStep,
  type ImportStep,
  planDrop,
  planPaste,
  type RefusalReason,
} from "./plan.js";
export { printContextToken } from "./print.js";
export { type FileFacts, type SegmentView, viewSegments } from "./view.js";
