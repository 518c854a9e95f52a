/** A part of this module for other modules of the library, not for its users. */

export {
  type AskedRequests,
  contentDigest,
  grownPrefix,
  noteContext,
  noteRequest,
  withRequests,
} from "./asked-requests.js";
export type { ReplayAmount } from "./context.js";
export {
  type BranchSummaryMessage,
  blockTexts,
  type CompactionSummaryMessage,
  describeImage,
  plainContent,
} from "./message.js";
export {
  blockAttachments,
  blockResources,
  isProviderSummary,
  type OpaqueMedium,
  opaqueMedia,
  opaqueWords,
  referencesIn,
  referenceTo,
  shownBlocks,
  withAddresses,
  withMedia,
  withNewIds,
  withReferences,
} from "./opaque-blocks.js";
export {
  isBroken,
  isCutCall,
  type ToolPair,
  type ToolSchema,
  type ToolShapes,
  toolShapes,
  toolsAfter,
} from "./tools.js";
