/**
 * A session as the messages of an MCP prompt, and as the content of tools' results.
 *
 * @module mcp
 */

import type { LimitProfile } from "../../content/limits/index.js";
import { mcp as mcpLimits } from "../../content/limits/internal.js";
import { oneOfOption } from "../../core/arguments.js";
import type {
  AssistantPart,
  NeutralRequest,
  RenderTools,
  ResultPart,
  Target,
  TextPart,
  UserPart,
} from "../../providers/index.js";
import {
  asContent,
  type ContentBlock,
  callText,
  contentBlock,
  documentTypes,
  imageTypes,
  instructionsHeading,
  resultHeading,
  textCallRules,
} from "../../providers/internal.js";

export type {
  ContentBlock,
  EmbeddedResource,
  ImageContent,
  ResourceLink,
  TextContent,
} from "../../providers/internal.js";

// The target of MCP prompts.

/** A message of an MCP prompt: one block of one side. */
type McpPromptMessage = { role: "user" | "assistant"; content: ContentBlock };

/** The part of a result of `prompts/get` that a projection makes. */
export type McpContent = { messages: McpPromptMessage[] };

/** Options of {@link mcpContent}. */
interface McpContentOptions {
  /** How the messages travel: over `stdio` a message is small. Default `stdio`. */
  readonly transport?: "stdio" | "http";
  /** Limits that replace those of the transport. */
  readonly profile?: LimitProfile;
}

/**
 * Projects to the messages of an MCP prompt, one message per block, as the protocol requires. Images are
 * images, links are links. PDF and text files are embedded resources with a made-up URI. Content without a
 * form in MCP becomes text: instructions a first user message, calls and results texts with their ids.
 *
 * The blocks also fit a tool's result: `value.messages.map(({ content }) => content)`.
 *
 * @throws TypeError if `transport` is not one of the two
 * @see https://modelcontextprotocol.io/specification/2025-11-25/server/prompts (a stored copy, read
 *   2026-11-21)
 * @example
 * ```ts
 * const { value } = await project(contextFrom([userMessage("hi")]), mcpContent());
 * value.messages; // [{ role: "user", content: { type: "text", text: "hi" } }]
 * ```
 */
export function mcpContent(options: McpContentOptions = {}): Target<McpContent> {
  const transport = oneOfOption("transport", options.transport, ["stdio", "http"]);
  const { profile } = options;
  const media = [...imageTypes, ...documentTypes];
  return {
    name: "mcp-content",
    model: { provider: "mcp", model: "none" },
    accepts: { user: media, toolResult: media },
    rules: textCallRules,
    limits: profile === undefined ? { profile: mcpLimits, transport } : { profile },
    embedsBase64: true,
    render: (request, tools) => ({ messages: [...promptMessages(request, tools)] }),
  };
}

function* promptMessages({ system, turns }: NeutralRequest, tools: RenderTools): Iterable<McpPromptMessage> {
  for (const part of system) yield textMessage("user", withHeading(instructionsHeading, part), part, tools);
  for (const turn of turns) {
    if (turn.role === "assistant") {
      for (const part of turn.parts) yield* assistantMessages(part, tools);
    } else {
      for (const result of turn.results) yield* resultMessages(result, tools);
      for (const part of turn.parts) yield userMessage(part, tools);
    }
  }
}

function* assistantMessages(part: AssistantPart, tools: RenderTools): Iterable<McpPromptMessage> {
  if (part.type === "text") yield textMessage("assistant", asContent(part.text), part, tools);
  if (part.type === "call") yield textMessage("assistant", callText(part), part, tools);
}

/**
 * Adds the heading of a result to each of its messages, or follows a message that is only the heading: a
 * message without a heading is the user's.
 */
function* resultMessages(result: ResultPart, tools: RenderTools): Iterable<McpPromptMessage> {
  const heading = resultHeading(result);
  for (const part of result.parts) {
    if (part.type === "text" && part.link === undefined) {
      yield textMessage("user", withHeading(heading, part), result, tools);
    } else {
      yield textMessage("user", heading, result, tools);
      yield userMessage(part, tools);
    }
  }
}

function textMessage(
  role: McpPromptMessage["role"],
  text: string,
  part: TextPart | AssistantPart | ResultPart,
  { trace }: RenderTools,
): McpPromptMessage {
  return { role, content: trace({ type: "text" as const, text }, part) };
}

function userMessage(part: UserPart, { trace }: RenderTools): McpPromptMessage {
  const block = contentBlock(part);
  const content = block.type === "text" ? { ...block, text: asContent(block.text) } : block;
  return { role: "user", content: trace(content, part) };
}

function withHeading(heading: string, { text }: TextPart): string {
  return `${heading}\n${asContent(text)}`;
}
