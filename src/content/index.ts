/**
 * Messages, their blocks and attachments, and the contexts built from them. Plain data and pure functions.
 */
export {
  type Context,
  type ContextItem,
  contextFrom,
  type ReplayDecision,
  type ReplayPlace,
  type ReplayPolicy,
} from "./context.js";
export {
  type AssistantMessage,
  assistantMessage,
  asUserMessage,
  type BashExecutionMessage,
  type BlobRef,
  blockResource,
  type ContextMessage,
  type CustomMessage,
  describeResource,
  type ImageBlock,
  isResource,
  type LinkResource,
  type Message,
  type MessagePart,
  type OpaqueBlock,
  type Resource,
  type StopReason,
  type StoredResource,
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
export { messageText, toolCalls, toolPairs } from "./tools.js";
