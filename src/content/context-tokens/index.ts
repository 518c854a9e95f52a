/**
 * Attachments as tokens in a message's text: parse, print, plan a paste or a drop, render. Pure functions.
 *
 * @module context-tokens
 */
export { completeImport, type ImportOutcome, insertSteps } from "./draft.js";
export {
  type BrokenReason,
  type BrokenSegment,
  type ContextTokenKind,
  escapeContextTokens,
  extractImagePaths,
  type InlineTokenOptions,
  parseContextTokens,
  type Segment,
  type TextSegment,
  type TokenSegment,
  unescapeContextTokens,
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
export { type FileFacts, renderSegments, type SegmentView } from "./render.js";
