/**
 * A session's context as a valid request for any provider, and a list of the losses.
 */

export type { AttachmentReport, ImageBounds, ResizeImage, SendReason } from "./attachment-state.js";
export { toBody } from "./body.js";
export { type CachePolicy, cacheConversation, cacheSystem } from "./cache-breakpoints.js";
export type { Explanation } from "./explain.js";
export type { Loss, LossCode } from "./losses.js";
export type { RequestPrefix } from "./prefix.js";
export { project } from "./project.js";
export type { Projection, ProjectionWarning, ProjectOptions } from "./projection.js";
export {
  compareContracts,
  type PromptContract,
  type PromptContractOptions,
  promptContract,
} from "./prompt-contract.js";
export { type QuarantinePlace, quarantine } from "./quarantine.js";
export { type RefusalSearch, refusalSearch, resumeRefusalSearch } from "./refusal-search.js";
export type { ReplyStream, ReplyStreamOptions } from "./reply-stream.js";
export {
  type AssistantPart,
  type AssistantTurn,
  type CallPart,
  type MediaPart,
  memoryReferenceCache,
  type NeutralRequest,
  type Origin,
  type Part,
  type ProviderReference,
  type ReferenceKey,
  type ReferencePart,
  type ResultPart,
  type TextPart,
  type Turn,
  type UserPart,
  type UserTurn,
} from "./request.js";
export type {
  CallIdRule,
  ModelRef,
  RenderTools,
  Target,
  TargetLimits,
  TargetMedia,
  TargetRules,
} from "./target.js";
