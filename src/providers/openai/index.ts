/**
 * OpenAI's Chat Completions and Responses, and the way back from their replies.
 *
 * @module openai
 */

export { type OpenaiChatOptions, openaiChat } from "./chat.js";
export {
  type OpenaiChatDialect,
  type OpenaiChatDialectName,
  type OpenaiChatDialectOption,
  openaiChatDialects,
} from "./chat-dialects.js";
export { type OpenaiChatReply, type OpenaiChatReplyOptions, readOpenaiChatReply } from "./chat-reply.js";
export { type OpenaiChatChunk, openaiChatStream } from "./chat-stream.js";
export type {
  OpenaiChatCall,
  OpenaiChatFile,
  OpenaiChatImage,
  OpenaiChatMessage,
  OpenaiChatRefusal,
  OpenaiChatText,
  OpenaiChatValue,
} from "./chat-types.js";
export type { OpenaiClientAnswer, OpenaiClientCall } from "./client-calls.js";
export type {
  OpenaiCodeInterpreter,
  OpenaiCompaction,
  OpenaiFileSearch,
  OpenaiFoundTool,
  OpenaiFoundTools,
  OpenaiHostedItem,
  OpenaiImageGeneration,
  OpenaiMcpCall,
  OpenaiMcpTools,
  OpenaiProgram,
  OpenaiProgramOutput,
  OpenaiToolSearch,
  OpenaiWebSearch,
} from "./hosted-items.js";
export type { OpenaiBreakpoint, OpenaiOptions, OpenaiReplyOptions } from "./options.js";
export { type OpenaiResponsesOptions, openaiResponses } from "./responses.js";
export { type OpenaiResponsesReply, readOpenaiResponsesReply } from "./responses-reply.js";
export { type OpenaiResponsesEvent, openaiResponsesStream } from "./responses-stream.js";
export type {
  OpenaiAnnotation,
  OpenaiCaller,
  OpenaiCustomCall,
  OpenaiFunctionCall,
  OpenaiInputFile,
  OpenaiInputImage,
  OpenaiInputPart,
  OpenaiInputText,
  OpenaiOutputMessage,
  OpenaiOutputPart,
  OpenaiPhase,
  OpenaiReasoningItem,
  OpenaiResponsesItem,
  OpenaiResponsesValue,
  OpenaiStatus,
} from "./responses-types.js";
