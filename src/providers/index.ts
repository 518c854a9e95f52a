/**
 * A session's context as a valid request for any provider, and a list of the losses.
 */

export type { AttachmentReport, SendReason } from "./attachment-state.js";
export { type RequestBody, toBody } from "./body.js";
export {
  type CacheBreakpoint,
  type CachePolicy,
  cacheConversation,
  cacheSystem,
} from "./cache-breakpoints.js";
export type { Explanation } from "./explain.js";
export type { ImageBounds, ImageToResize, ResizeImage } from "./load-media.js";
export type { Loss, LossCode } from "./losses.js";
export { project } from "./project.js";
export type { Projection, ProjectionWarning, ProjectOptions } from "./projection.js";
export {
  type ContractComparison,
  compareContracts,
  type PromptContract,
  type PromptContractOptions,
  promptContract,
} from "./prompt-contract.js";
export { type QuarantinePlace, quarantine } from "./quarantine.js";
export {
  type MemoryReferenceCache,
  memoryReferenceCache,
  type ProviderReference,
  type ReferenceCache,
  type ReferenceKey,
} from "./references.js";
export { type RefusalSearch, refusalSearch, resumeRefusalSearch } from "./refusal-search.js";
export type { ReplyDelta, ReplySource, ReplyStream, ReplyStreamOptions } from "./reply-stream.js";
export type {
  AssistantPart,
  AssistantTurn,
  CallPart,
  MediaPart,
  NeutralRequest,
  OpaquePart,
  Origin,
  Part,
  ReasoningPart,
  ReferencePart,
  ResultPart,
  TextPart,
  Turn,
  UserPart,
  UserTurn,
} from "./request.js";
export type {
  CallIdRule,
  ModelRef,
  RenderTools,
  Target,
  TargetLimits,
  TargetMedia,
  TargetRules,
  ToolNameRule,
} from "./target.js";
export type { ProjectionUsage } from "./usage.js";
