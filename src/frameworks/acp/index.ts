/**
 * The Agent Client Protocol: a session as the prompt of an agent, and sessions for editors, with the reply to
 * `session/load` and rows of `session/list`.
 *
 * @module acp
 */
export type {
  ContentBlock,
  EmbeddedResource,
  ImageContent,
  ResourceLink,
  TextContent,
} from "../../providers/internal.js";
export { type AcpPrompt, type AcpPromptOptions, acpPrompt, type PromptCapabilities } from "./acp-prompt.js";
export { type AcpReplayOptions, acpReplay } from "./replay.js";
export type { AcpUpdate } from "./updates.js";
export { acpSessionInfo } from "./updates.js";
