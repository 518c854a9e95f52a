/**
 * Attachments: storing them, naming them in a session, and deciding how each request shows them.
 *
 * @module attachments
 */

export {
  type AttachmentReason,
  type LeakageBoundary,
  type LeakageVerdict,
  type ReplayBudget,
  replayAlways,
  replayCurrentTurn,
  replayNever,
  replayWithin,
  type Transfer,
} from "./decide.js";
export { type ExternalizerReport, imageExternalizer } from "./externalize.js";
export { type IngestOptions, ingest } from "./ingest.js";
export { findResource, grantResources, listResources, resourcesIn } from "./resources.js";
export type { ImageContentSource, IngestSource, ReadFile, StoredSource } from "./sources.js";
export {
  observationsIn,
  type ResourceObservationDraft,
  type ResourceViewDraft,
  resourceObservation,
  resourceView,
  runViewTool,
  type ViewableSession,
  viewResource,
  viewTool,
  viewToolName,
} from "./view.js";
