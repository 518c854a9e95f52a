/**
 * Sessions as requests of the Gemini API and of its Interactions, and their replies as messages.
 *
 * @module gemini
 */

export { type GeminiInteraction, readGeminiInteraction } from "./interaction-reply.js";
export type { GeminiInteractionRequest, GeminiInteractionStep } from "./interaction-steps.js";
export { type GeminiInteractionEvent, geminiInteractionStream } from "./interaction-stream.js";
export { type GeminiInteractionsOptions, geminiInteractions } from "./interactions.js";
export {
  type GeminiReply,
  type GeminiReplyPart,
  type ReadGeminiReplyOptions,
  readGeminiReply,
} from "./reply.js";
export type { GeminiRequest } from "./shapes.js";
export { type GeminiStreamChunk, geminiStream } from "./stream.js";
export { type GeminiContentsOptions, geminiContents } from "./target.js";
