/**
 * Attachments: storing them, naming them in a session, and deciding how each request shows them.
 *
 * @module attachments
 */

export {
  type ExternalizeOptions,
  type ExternalizerReport,
  type ImageExternalizer,
  imageExternalizer,
} from "./externalize.js";
export { type IngestOptions, ingest } from "./ingest.js";
export type { AttachmentReason } from "./placeholder-text.js";
export type { ReadFile } from "./read-source.js";
export {
  type LeakageBoundary,
  type LeakageVerdict,
  type ReplayBudget,
  replayAlways,
  replayCurrentTurn,
  replayNever,
  replayWithin,
  type Transfer,
} from "./replay.js";
export { findResource, grantResources, listResources, type ResourcePath, resourcesIn } from "./resources.js";
export type {
  AudioContentSource,
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
