/**
 * A session as the prompt of an agent that speaks ACP.
 *
 * @module projections/acp
 */
export type { ContentBlock, EmbeddedResource, ImageContent, ResourceLink, TextContent } from "../../providers/internal.js";
export { type AcpPrompt, type AcpPromptOptions, acpPrompt, type PromptCapabilities } from "./acp-prompt.js";
