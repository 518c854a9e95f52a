/** The profiles one by one, for modules that need one: a bundler drops the others. */

export { acp } from "./data/acp.js";
export { anthropic } from "./data/anthropic.js";
export { bedrockConverse } from "./data/bedrock.js";
export { gemini } from "./data/gemini.js";
export { mcp } from "./data/mcp.js";
export { openai } from "./data/openai.js";
