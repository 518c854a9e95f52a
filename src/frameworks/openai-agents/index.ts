/**
 * Sessions of OpenAI Agents as entries: items are appended, images are blobs.
 *
 * @module openai-agents
 */
export type { AdapterOptions } from "../shared/options.js";
export { type OpenAiAgentsOptions, openaiAgentsSession } from "./session.js";
export type { OpenAiAgentsSession } from "./types.js";
