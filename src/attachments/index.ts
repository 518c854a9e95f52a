/**
 * Attachments: storing them, naming them in a session, and deciding how each request shows them.
 *
 * @module attachments
 */

export { type ExternalizeOptions, type ExternalizerReport, imageExternalizer } from "./externalize.js";
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
export { findResource, grantResources, listResources, resourcesIn } from "./resources.js";
export type { ImageContentSource, IngestSource, StoredSource } from "./sources.js";
export {
  observationsIn,
  type ResourceObservationDraft,
  type ResourceViewDraft,
  resourceObservation,
  resourceView,
  runViewTool,
  type ViewableSession,
  type ViewResourceOptions,
  viewResource,
  viewTool,
  viewToolName,
} from "./view.js";
