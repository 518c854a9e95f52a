/** The parts of this module that other modules of the library use, and that its users do not see. */

export { isBlank } from "./block-reader.js";
export { bodyPieces } from "./body.js";
export {
  type ClaudeShownBlock,
  claudeMedia,
  claudeShownBlock,
} from "./claude-blocks.js";
export {
  type ContentBlock,
  contentBlock,
  documentTypes,
  type EmbeddedResource,
  type ImageContent,
  imageTypes,
  type ResourceLink,
  type TextContent,
} from "./content-blocks.js";
export { DocumentNames, isTextual } from "./media-part.js";
export { replyItems } from "./openai/responses-assistant.js";
export { CallIds } from "./pair-tool-calls.js";
export { bashText, branchSummaryText, interruptedText, namePrefix } from "./placeholders.js";
export { toolsAsRecorded } from "./prefix.js";
export { toRejection } from "./rejection.js";
export {
  assertReply,
  blockFields,
  countsIn,
  given,
  readCount,
  replyEnd,
  replyEnding,
  replyFields,
  usageFields,
} from "./reply-shape.js";
export { type ReplyAccumulator, replyFailed, replyStream, type StreamEnd } from "./reply-stream.js";
export { type CallIdRule, mediaFor, modelNames } from "./target.js";
export { inferenceAttributes, type TraceAttributes, traceProvider } from "./trace-attributes.js";
export {
  asContent,
  callText,
  instructionsHeading,
  resultHeading,
  textCallRules,
  toTranscript,
} from "./transcript.js";
