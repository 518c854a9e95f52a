/** A part of this module for other modules of the library, not for its users. */

export { blockTexts, plainContent } from "./message.js";
export {
  attachmentsOf,
  type OpaqueMedium,
  opaqueMedia,
  referencesIn,
  referenceTo,
  resourcesOf,
  shownBlocks,
  withAddresses,
  withMedia,
  withNewIds,
  withReferences,
} from "./opaque-media.js";
export { opaqueWords } from "./opaque-words.js";
export { describeImage } from "./resource.js";
export { isBroken, isCutCall, toolsAfter } from "./tool-pairs.js";
