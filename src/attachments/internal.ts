/** The parts of this module that other modules of the library use, and that its users do not see. */
export { dropRefusedAttachments, dropRefusedNotes } from "./apply-boundary.js";
export { type DecidedAttachment, decideAttachments } from "./decide.js";
export { externalizeEntry } from "./externalize.js";
export { type InlineContext, type InlineImage, inlineAsResources } from "./inline-images.js";
export { currentTurnStart } from "./occurrences.js";
export { attachmentText, observationText } from "./placeholder-text.js";
export { type ResourcePayload, readPayload } from "./resources.js";
