/**
 * A session as the messages of an MCP prompt, and as the content of tools' results.
 *
 * @module mcp
 */
export type {
  ContentBlock,
  EmbeddedResource,
  ImageContent,
  ResourceLink,
  TextContent,
} from "../../providers/internal.js";
export { type McpContent, type McpContentOptions, mcpContent } from "./mcp-content.js";
