/** A part of this module for other modules of the library, not for its users. */

export { blockTexts, plainContent } from "./message.js";
export {
  blockAttachments,
  blockResources,
  type OpaqueMedium,
  opaqueMedia,
  referencesIn,
  referenceTo,
  shownBlocks,
  withAddresses,
  withMedia,
  withNewIds,
  withReferences,
} from "./opaque-media.js";
export { opaqueWords } from "./opaque-words.js";
export { describeImage } from "./resource.js";
export { isBroken, isCutCall, toolsAfter } from "./tool-pairs.js";
