/**
 * One durable turn of an agent: the loop over a model and its tools, with a session that survives a crash at any step.
 *
 * @module turn
 */

export type { TurnAttributes, TurnEvent } from "./events.js";
export {
  type AnthropicClient,
  type AskOptions,
  anthropic,
  type BedrockClient,
  bedrock,
  type GeminiClient,
  type GeminiInteractionsClient,
  gemini,
  geminiInteractions,
  type ModelRequest,
  type OpenaiChatClient,
  type OpenaiResponsesClient,
  openaiChat,
  openaiResponses,
  type TurnModel,
} from "./models.js";
export type { RetryOptions } from "./retry.js";
export {
  type Approval,
  type ApprovalRequest,
  runTurn,
  type TurnCompaction,
  type TurnEnd,
  type TurnOptions,
} from "./run.js";
export { steer } from "./steering.js";
export {
  type JsonSchema,
  type StandardSchema,
  type Tool,
  type ToolContext,
  type ToolDeclaration,
  type ToolOutput,
  type ToolPart,
  tool,
} from "./tools.js";
