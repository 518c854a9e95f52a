/**
 * Messages, their blocks and attachments, and the context that is made of them. Plain data and pure functions.
 *
 * @module content
 */

export {
  type Context,
  type ContextItem,
  type ContextObservation,
  type ContextView,
  contextOf,
  type ReplayAmount,
  type ReplayDecision,
  type ReplayPlace,
  type ReplayPolicy,
} from "./context.js";
export type {
  AssistantMessage,
  BashExecutionMessage,
  BranchSummaryMessage,
  CompactionSummaryMessage,
  ContextMessage,
  CustomMessage,
  ImageBlock,
  Message,
  OpaqueBlock,
  StopReason,
  SystemMessage,
  TextBlock,
  ThinkingBlock,
  ToolCall,
  ToolResultMessage,
  Usage,
  UserMessage,
} from "./message.js";
export {
  type AssistantMessageInit,
  assistantMessage,
  type MessagePart,
  toolResult,
  userMessage,
} from "./message.js";
export {
  type BlobRef,
  describeImage,
  describeResource,
  isResource,
  type LinkResource,
  type Resource,
  resourceOf,
  type StoredResource,
} from "./resource.js";
export { type ToolPair, type ToolPairs, toolCalls, toolPairs } from "./tool-pairs.js";
export { type AsUserMessageOptions, asUserMessage } from "./untrusted.js";
