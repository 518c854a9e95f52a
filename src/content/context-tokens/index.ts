/**
 * Attachments as tokens in a message's text: parse, print, plan a paste or a drop, render. Pure functions.
 *
 * @module context-tokens
 */
export { completeImport, insertSteps } from "./draft.js";
export {
  type ContextTokenKind,
  escapeContextTokens,
  extractImagePaths,
  type InlineTokenOptions,
  parseContextTokens,
  type Segment,
  unescapeContextTokens,
} from "./parse.js";
export {
  type ClipboardEntry,
  type ComposeOptions,
  type ComposeStep,
  type ImportStep,
  planDrop,
  planPaste,
} from "./plan.js";
export { printContextToken } from "./print.js";
export { type FileFacts, renderSegments, type SegmentView } from "./render.js";
