/**
 * Attachments: taking them in, naming them in a session, and deciding what of them each request shows.
 *
 * @module attachments
 */
export {
  type BoundItemsOptions,
  type BoundSummaries,
  boundItems,
  boundSummaries,
  type RefusedNote,
} from "./bound-items.js";
export type { LeakageBoundary, LeakageVerdict, Transfer } from "./boundary.js";
export {
  type AttachmentDecisions,
  type DecideAttachmentsOptions,
  type DecidedAttachment,
  decideAttachments,
} from "./decide.js";
export {
  type ExternalizedMessage,
  type ExternalizeOptions,
  externalizeImages,
  type KeptImage,
} from "./externalize.js";
export {
  type ExternalizedEntry,
  type ExternalizerReport,
  externalizeEntry,
  type ImageExternalizer,
  imageExternalizer,
} from "./externalizer.js";
export type { ReadFile } from "./gather.js";
export { grantResources } from "./grants.js";
export type { MismatchPolicy } from "./identify.js";
export { type IngestOptions, ingest, ingestAll } from "./ingest.js";
export { type InlineContext, type InlineImage, inlineAsResources } from "./inline.js";
export type { ResourcePath } from "./on-path.js";
export {
  type AttachmentPlan,
  type PlanAttachmentsOptions,
  type PlannedAttachment,
  planAttachments,
  type ResourcePayload,
  readPayload,
} from "./plan.js";
export {
  type ReplayBudget,
  replayAlways,
  replayCurrentTurn,
  replayNever,
  replayWithin,
} from "./replay.js";
export { listResources, resourcesIn } from "./resources.js";
export type {
  BytesSource,
  DataUrlSource,
  EmbeddedResourceSource,
  ImageContentSource,
  IngestSource,
  InputImageSource,
  LinkSource,
  ResourceLinkSource,
  StoredSource,
} from "./source.js";
export { type AttachmentReason, attachmentText, observationText } from "./texts.js";
export { currentTurnStart } from "./turn.js";
export {
  observationsIn,
  type ResourceObservationDraft,
  type ResourceViewDraft,
  type ResourceViewing,
  resourceObservation,
  resourceView,
  type ViewFailure,
  type ViewResourceOptions,
  viewResource,
} from "./view.js";
export {
  runViewTool,
  type ViewableSession,
  type ViewToolSchema,
  type ViewToolShapes,
  viewTool,
  viewToolName,
} from "./view-tool.js";
