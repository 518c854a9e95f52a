/**
 * Attachments as tokens in a message's text: parse, print, plan a paste or a drop, render. Pure functions.
 *
 * @module context-tokens
 */
export {
  type ClipboardEntry,
  type ComposeOptions,
  type ComposeStep,
  completeImport,
  type ImportStep,
  insertSteps,
  planDrop,
  planPaste,
} from "./plan.js";
export {
  type ContextTokenKind,
  escapeContextTokens,
  extractImagePaths,
  type FileFacts,
  parseContextTokens,
  printContextToken,
  renderSegments,
  type Segment,
  type SegmentView,
  unescapeContextTokens,
} from "./tokens.js";
