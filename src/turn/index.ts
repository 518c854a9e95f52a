/**
 * One durable turn of an agent: the loop over a model and its tools, with a session that survives a crash at any step.
 *
 * @module turn
 */

export type { TurnEvent } from "./events.js";
export {
  anthropicModel,
  bedrockModel,
  geminiInteractionsModel,
  geminiModel,
  generateBy,
  type ModelRequest,
  openaiChatModel,
  openaiResponsesModel,
  type TurnModel,
} from "./models.js";
export type { TurnEnd, TurnOptions } from "./options.js";
export type { RetryOptions } from "./retry.js";
export { runTurn } from "./run.js";
export { steer } from "./steering.js";
export {
  type StandardSchema,
  type Tool,
  type ToolContext,
  type ToolDeclaration,
  type ToolOutput,
  tool,
} from "./tools.js";
