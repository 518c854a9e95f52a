/** The parts of this module that other modules of the library use, and that its users do not see. */
export {
  coveredTag,
  dropRefusedAttachments,
  dropRefusedNotes,
  filterNotes,
  type InlineContext,
  type InlineImage,
  idsFollow,
  inlineAsResources,
  withoutInvitation,
} from "./boundary.js";
export {
  attachmentText,
  currentTurnStart,
  type DecidedAttachment,
  decideAttachments,
  observationText,
} from "./decide.js";
export { externalizeEntry } from "./externalize.js";
export { type ResourcePayload, readPayload } from "./resources.js";
