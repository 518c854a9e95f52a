/**
 * Messages, their blocks and attachments, and the contexts built from them. Plain data and pure functions.
 */
export {
  type Context,
  type ContextItem,
  type ContextView,
  contextFrom,
  type ReplayAmount,
  type ReplayDecision,
  type ReplayPlace,
  type ReplayPolicy,
} from "./context.js";
export {
  type AssistantMessage,
  assistantMessage,
  type BashExecutionMessage,
  type BranchSummaryMessage,
  type CompactionSummaryMessage,
  type ContextMessage,
  type CustomMessage,
  type ImageBlock,
  type Message,
  type MessagePart,
  type OpaqueBlock,
  type StopReason,
  type SystemMessage,
  type TextBlock,
  type ThinkingBlock,
  type ToolCall,
  type ToolResultMessage,
  toolResult,
  type Usage,
  type UserMessage,
  userMessage,
} from "./message.js";
export {
  type BlobRef,
  blockResource,
  describeResource,
  isResource,
  type LinkResource,
  type Resource,
  type StoredResource,
} from "./resource.js";
export { messageText, type ToolPair, toolCalls, toolPairs } from "./tool-pairs.js";
export { type AsUserMessageOptions, asUserMessage } from "./untrusted.js";
