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
} from "./apply-boundary.js";
export {
  type AttachmentDecisions,
  type DecideAttachmentsOptions,
  type DecidedAttachment,
  decideAttachments,
} from "./decide.js";
export {
  type ExternalizedEntry,
  type ExternalizedMessage,
  type ExternalizeOptions,
  type ExternalizerReport,
  externalizeEntry,
  externalizeImages,
  type ImageExternalizer,
  imageExternalizer,
  type KeptImage,
} from "./externalize.js";
export { type IngestOptions, ingest, ingestAll } from "./ingest.js";
export { type InlineContext, type InlineImage, inlineAsResources } from "./inline-images.js";
export { currentTurnStart } from "./occurrences.js";
export { type AttachmentReason, attachmentText, observationText } from "./placeholder-text.js";
export {
  type AttachmentPlan,
  type PlanAttachmentsOptions,
  type PlannedAttachment,
  planAttachments,
  type ResourcePayload,
  readPayload,
} from "./plan.js";
export type { ReadFile } from "./read-source.js";
export type { LeakageBoundary, LeakageVerdict, Transfer } from "./replay.js";
export {
  type ReplayBudget,
  replayAlways,
  replayCurrentTurn,
  replayNever,
  replayWithin,
} from "./replay.js";
export type { ResourcePath } from "./resources.js";
export { grantResources, listResources, resourcesIn } from "./resources.js";
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
} from "./sources.js";
export type { MismatchPolicy } from "./store-resource.js";
export {
  observationsIn,
  type ResourceObservationDraft,
  type ResourceViewDraft,
  type ResourceViewing,
  resourceObservation,
  resourceView,
  runViewTool,
  type ViewableSession,
  type ViewFailure,
  type ViewResourceOptions,
  type ViewToolSchema,
  type ViewToolShapes,
  viewResource,
  viewTool,
  viewToolName,
} from "./view.js";
