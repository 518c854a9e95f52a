/** The profiles one by one, for modules that need one: a bundler drops the others. */

export { acp, anthropic, bedrockConverse, gemini, mcp, openai } from "./profiles.js";
