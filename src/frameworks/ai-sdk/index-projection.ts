/**
 * A session as messages of the AI SDK, and the way back.
 *
 * @module projections/ai-sdk
 */
export {
  type AiSdkMessagesOptions,
  type AiSdkModel,
  aiSdkMessages,
} from "./ai-sdk-messages.js";
export type {
  AiSdkAssistantMessage,
  AiSdkFilePart,
  AiSdkJson,
  AiSdkMessage,
  AiSdkMessages,
  AiSdkProviderOptions,
  AiSdkReasoningPart,
  AiSdkResultPart,
  AiSdkSystemMessage,
  AiSdkTextPart,
  AiSdkToolCallPart,
  AiSdkToolMessage,
  AiSdkToolOutput,
  AiSdkToolResultPart,
  AiSdkUserMessage,
  AiSdkWithOptions,
} from "./messages.js";
export {
  type AiSdkReply,
  type AiSdkStep,
  type ReadAiSdkReplyOptions,
  readAiSdkReply,
} from "./reply.js";
export { type AiSdkStreamOptions, type AiSdkStreamPart, aiSdkStream } from "./stream.js";
