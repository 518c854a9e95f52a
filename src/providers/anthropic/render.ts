/** A request as Anthropic's Messages API takes it: its types, what it refuses, and the writer. */

import { copyJson, copyJsonObject, type JsonObject } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import { withoutSpaceAtEnd } from "../block-reader.js";
import {
  type ClaudeCacheControl,
  type ClaudeShownBlock,
  type ClaudeTextBlock,
  claudeShownBlock,
} from "../claude-blocks.js";
import { isReasoning } from "../past-reasoning.js";
import { nothingShownText } from "../placeholders.js";
import type {
  AssistantPart,
  AssistantTurn,
  CallPart,
  NamedTool,
  NeutralRequest,
  Part,
  ResultPart,
  TextPart,
  ToolChange,
  Turn,
  UserPart,
  UserTurn,
} from "../request.js";
import { type ServerIds, serverCalls } from "../server-calls.js";
import type { HeldReply, RenderTools } from "../target.js";
import { isTurnOnly } from "../turn-only.js";

/** Options of the rendering. */
interface RenderOptions {
  readonly cacheTtl: "5m" | "1h";
  /** The model refuses white space at the end of its own turn. */
  readonly trimsAssistant: boolean;
  /** The API is to hold the conversation. */
  readonly isThread: boolean;
}

/** Writes a request as Anthropic's Messages API takes it, or what follows a reply that it holds. */
export function renderAnthropic(
  { system, turns }: NeutralRequest,
  options: RenderOptions,
  tools: RenderTools,
  since?: HeldReply,
): AnthropicRequest {
  const drops = findDrops(turns, tools);
  const writer = new Writer(drops, options, tools);
  const messages = turns.flatMap((turn, at) => {
    const sides =
      turn.role === "user" ? writer.userSide(turn) : [{ role: turn.role, content: writer.assistant(turn) }];
    return since !== undefined && at <= since.turn ? [] : sides;
  });
  const container = drops.hasOpenServerCalls ? turnContainer(turns) : undefined;
  const given = container === undefined ? {} : { container };
  if (since !== undefined)
    return { messages, ...given, thread: { type: "continue", previous_message_id: since.id } };
  const continued = { ...given, ...(options.isThread ? { thread: { type: "create" } as const } : {}) };
  if (system.length === 0) return { messages, ...continued };
  return {
    system: system.map((part) => writer.placed<ClaudeTextBlock>({ type: "text", text: part.text }, part)),
    messages,
    ...continued,
  };
}

/**
 * The container of the latest reply that names one.
 *
 * @see https://github.com/anthropics/anthropic-sdk-typescript/issues/1114 (stored copy read 2026-11-28)
 */
function turnContainer(turns: readonly Turn[]): string | undefined {
  for (const turn of [...turns].reverse()) {
    const container = turn.role === "assistant" ? turn.providerFields?.container : undefined;
    if (isRecord(container) && typeof container.id === "string") return container.id;
  }
  return undefined;
}

class Writer {
  readonly #drops: Drops;
  readonly #options: RenderOptions;
  readonly #tools: RenderTools;
  /** The set of tools of each call that is of one, by the call's id. */
  readonly #toolsets = new Map<string, string>();

  constructor(drops: Drops, options: RenderOptions, tools: RenderTools) {
    this.#drops = drops;
    this.#options = options;
    this.#tools = tools;
  }

  /** Traces a block to its part, and adds a cache marker if the cached prefix ends here. */
  placed<T extends { cache_control?: ClaudeCacheControl }>(block: T, part: Part): T {
    if (this.#tools.endsCache(part)) {
      const { cacheTtl } = this.#options;
      block.cache_control = { type: "ephemeral", ...(cacheTtl === "5m" ? {} : { ttl: cacheTtl }) };
    }
    return this.#tools.trace(block, part);
  }

  /**
   * The user's turn, then the instructions that were given in it, then the texts for one turn. Such a message follows
   * the user and precedes the model.
   *
   * @see https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages (stored copy,
   *   2026-11-21)
   */
  userSide({ results, parts }: UserTurn): AnthropicTurn[] {
    const passing = parts.filter(isTurnOnly);
    const lasting = parts.filter((part) => !isTurnOnly(part));
    // Such a message follows words of the user, or results.
    if (passing.length === 0 || results.length + lasting.length === 0)
      return this.#lasting({ role: "user", results, parts });
    const content = passing.map((part) =>
      this.#tools.trace({ type: "text", text: part.text } as const, part),
    );
    return [
      ...this.#lasting({ role: "user", results, parts: lasting }),
      { role: "system", clear_at: "next_user_message", content },
    ];
  }

  #lasting({ results, parts }: UserTurn): AnthropicTurn[] {
    const isAlone = results.length === 0 && parts.every(isInstructions);
    const isGiven = (part: UserPart) => isInstructions(part) && (!isAlone || part.toolChange !== undefined);
    const own = parts.filter((part) => !isGiven(part));
    const given = parts.filter(isInstructions).filter(isGiven);
    if (given.length === 0) return [{ role: "user", content: this.#user({ role: "user", results, parts }) }];
    // Changes of tools alone follow words of the user, too.
    const said = isAlone && own.length === 0 ? given : own;
    return [
      { role: "user", content: this.#user({ role: "user", results, parts: said }) },
      { role: "system", content: given.flatMap((part) => this.#given(part)) },
    ];
  }

  #given(part: TextPart): ClaudeTextBlock[] {
    const { text, instructions = text, toolChange } = part;
    if (toolChange === undefined)
      return [this.placed<ClaudeTextBlock>({ type: "text", text: instructions }, part)];
    const blocks = toolChangeBlocks(toolChange);
    return blocks.map((block, at) =>
      at === blocks.length - 1 ? this.placed(block, part) : this.#tools.trace(block, part),
    );
  }

  #user({ results, parts }: UserTurn): AnthropicUserBlock[] {
    const moved: ClaudeShownBlock[] = [];
    return [
      ...results.map((result) => this.#result(result, moved)),
      ...moved,
      ...parts.map((part) => this.placed(claudeShownBlock(part), part)),
    ];
  }

  assistant({ parts }: AssistantTurn): AnthropicAssistantBlock[] {
    const kept = parts.filter((part) => !this.#drops.parts.has(part));
    const ordered = withServerToolsFirst(kept).flatMap((part) => {
      const block = assistantBlock(part, this.#drops.serverCalls);
      return block === undefined ? [] : [{ part, block }];
    });
    const blocks = ordered.map(({ part, block: whole }, index) => {
      const block = index === ordered.length - 1 ? this.#withoutSpaceAtEnd(part, whole) : whole;
      if (part.type === "call") this.#noteToolset(part.id, partToolset(part));
      return part.type === "text" || part.type === "call"
        ? this.#withCacheMarker(block, part)
        : this.#tools.trace(block, part);
    });
    return blocks.length > 0 ? blocks : [{ type: "text", text: nothingShownText }];
  }

  /** Trims the end of a text that became the last part because the blocks after it were dropped. */
  #withoutSpaceAtEnd(part: Part, block: AnthropicAssistantBlock): AnthropicAssistantBlock {
    if (!this.#options.trimsAssistant || block.type !== "text") return block;
    const text = withoutSpaceAtEnd(block.text);
    if (text === block.text) return block;
    const reason = "the target refuses white space at the end";
    this.#tools.reportLoss(part, { code: "trailingSpace", by: "target", reason });
    return { ...block, text };
  }

  #withCacheMarker(block: AnthropicAssistantBlock, part: Part): AnthropicAssistantBlock {
    return block.type === "text" || block.type === "tool_use" ? this.placed(block, part) : block;
  }

  #noteToolset(callId: string, toolset: string | undefined): void {
    if (toolset !== undefined) this.#toolsets.set(callId, toolset);
  }

  #result(part: ResultPart, moved: ClaudeShownBlock[]): AnthropicResultBlock {
    const toolset = this.#toolsets.get(part.callId);
    const content = part.parts.map((userPart) => {
      if (part.isError && userPart.type !== "text") return this.#moved(userPart, part, moved);
      return this.#tools.trace(claudeShownBlock(userPart), userPart);
    });
    const block: AnthropicResultBlock = {
      type: "tool_result",
      tool_use_id: part.callId,
      content,
      ...(part.isError ? { is_error: true } : {}),
      ...(toolset === undefined ? {} : { toolset_name: toolset }),
    };
    return this.placed(block, part);
  }

  /**
   * A failed result is text only; its other parts follow the results.
   *
   * @see https://github.com/can1357/oh-my-pi/issues/12809 (stored copy read 2026-11-21)
   */
  #moved(userPart: UserPart, { name }: ResultPart, moved: ClaudeShownBlock[]): ClaudeShownBlock {
    const text = "[shown after the results]";
    const reason = "the target accepts only text in a failed result";
    this.#tools.reportLoss(userPart, { code: "moved", by: "target", reason, instead: text });
    moved.push(
      { type: "text", text: `[of the failed call of ${name}]` },
      this.#tools.trace(claudeShownBlock(userPart), userPart),
    );
    return { type: "text", text };
  }
}

/**
 * The blocks of a change of tools, which are no texts. Only the beta client's types have them.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages (stored copy,
 *   2026-11-29) and @anthropic-ai/sdk 1.14.0, `BetaRequestToolAdditionBlock`
 */
function toolChangeBlocks({ added, removed }: ToolChange): ClaudeTextBlock[] {
  const blocks = [
    ...removed.map((name) => ({ type: "tool_removal", tool: { type: "tool_reference", name } })),
    ...added.map((tool) => ({
      type: "tool_addition",
      tool: { type: "tool_definition", definition: declaration(tool) },
    })),
  ];
  return blocks as unknown as ClaudeTextBlock[];
}

/** A tool as the API declares it: as it is, or with its schema under the API's name. */
function declaration(tool: NamedTool): JsonObject {
  const { parameters, inputSchema, ...rest } = copyJsonObject(tool);
  const isOwn = "input_schema" in rest || "type" in rest;
  return isOwn
    ? copyJsonObject(tool)
    : { ...rest, input_schema: parameters ?? inputSchema ?? { type: "object" } };
}

function isInstructions(part: UserPart): part is TextPart & { readonly instructions: string } {
  return part.type === "text" && part.instructions !== undefined;
}

/**
 * Renders a part as a block. A block of the API is sent back unchanged, with the fields that a session does
 * not represent. Undefined if the data is no block.
 */
export function assistantBlock(
  part: AssistantPart,
  droppedServerCalls: ReadonlySet<string>,
): AnthropicAssistantBlock | undefined {
  switch (part.type) {
    case "text":
      return { ...partFields(part), type: "text", text: part.text };
    case "reasoning":
      return part.redacted
        ? { ...partFields(part), type: "redacted_thinking", data: part.signature }
        : { ...partFields(part), type: "thinking", thinking: part.text, signature: part.signature };
    case "call":
      return callBlock(part, droppedServerCalls);
    case "opaque":
      return isOpaqueBlock(part.data) ? structuredClone(part.data) : undefined;
  }
}

/** A copy, without the marker of another request: the value is the caller's to change. */
function partFields({ providerFields }: Pick<TextPart, "providerFields">): JsonObject {
  if (providerFields === undefined) return {};
  const { cache_control: _, ...fields } = copyJsonObject(providerFields);
  return fields;
}

function callBlock(part: CallPart, droppedServerCalls: ReadonlySet<string>): AnthropicCallBlock {
  const { caller, ...rest } = partFields(part);
  const lost =
    isRecord(caller) && typeof caller.tool_id === "string" && droppedServerCalls.has(caller.tool_id);
  return {
    ...rest,
    ...(caller === undefined || lost ? {} : { caller }),
    type: "tool_use",
    id: part.id,
    name: part.name,
    input: copyJson(part.arguments),
  };
}

/** The set of tools that a call is of, which its result has to name. */
function partToolset(part: CallPart): string | undefined {
  const toolset = part.providerFields?.toolset_name;
  return typeof toolset === "string" ? toolset : undefined;
}

/**
 * Moves client calls after the blocks of the provider's own tools. The API refuses a client call before such
 * a block, though the model writes them so. If reasoning is between them, nothing moves. Text after a call is
 * accepted.
 *
 * @see https://github.com/vercel/ai/issues/13013 (stored copy read 2026-11-22)
 */
export function withServerToolsFirst(parts: readonly AssistantPart[]): readonly AssistantPart[] {
  const first = parts.findIndex(isCall);
  const last = parts.findLastIndex(isServerTool);
  if (first === -1 || last < first) return parts;
  const between = parts.slice(first, last + 1);
  if (between.some(isReasoning)) return parts;
  const calls = between.filter(isCall);
  const others = between.filter((part) => !isCall(part));
  return [...parts.slice(0, first), ...others, ...calls, ...parts.slice(last + 1)];
}

const isCall = ({ type }: AssistantPart): boolean => type === "call";

function isServerTool(part: AssistantPart): boolean {
  if (part.type !== "opaque" || !isRecord(part.data) || typeof part.data.type !== "string") return false;
  return /^(?:server|mcp)_tool_use$|_tool_result$/.test(part.data.type);
}

// The request shapes of the Messages API, and the facts about its models.

/** Reasoning, with the signature that the API made. */
type AnthropicReasoningBlock =
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "redacted_thinking"; data: string };

/** A call of a tool. */
interface AnthropicCallBlock {
  type: "tool_use";
  id: string;
  name: string;
  input: unknown;
  cache_control?: ClaudeCacheControl;
}

/** A tool's result. */
interface AnthropicResultBlock {
  type: "tool_result";
  tool_use_id: string;
  content: ClaudeShownBlock[];
  is_error?: boolean;
  toolset_name?: string;
  cache_control?: ClaudeCacheControl;
}

/** The types of blocks that only the API reads. */
type AnthropicOpaqueType =
  | "server_tool_use"
  | "web_search_tool_result"
  | "web_fetch_tool_result"
  | "code_execution_tool_result"
  | "bash_code_execution_tool_result"
  | "text_editor_code_execution_tool_result"
  | "tool_search_tool_result"
  | "container_upload";

/**
 * A block that only the API reads, such as a search result. It is sent back unchanged. Its type may be one
 * that is not listed here.
 */
type AnthropicOpaqueBlock = {
  [T in AnthropicOpaqueType]: {
    type: T;
    id: never;
    name: never;
    input: never;
    tool_use_id: never;
    content: never;
    file_id: never;
  };
}[AnthropicOpaqueType];

/** A block of a user turn: results first, then text and media. */
type AnthropicUserBlock = AnthropicResultBlock | ClaudeShownBlock;

/** A block of an assistant turn. */
type AnthropicAssistantBlock =
  | ClaudeTextBlock
  | AnthropicReasoningBlock
  | AnthropicCallBlock
  | AnthropicOpaqueBlock;

/** One turn of {@link AnthropicRequest}. */
type AnthropicTurn =
  | { role: "user"; content: AnthropicUserBlock[] }
  | { role: "assistant"; content: AnthropicAssistantBlock[] }
  /**
   * Instructions of mid-conversation, for models that bind their reasoning to what precedes it. With `toolChanges` of
   * the target also blocks `tool_addition` and `tool_removal`, which only the beta client's types have.
   */
  | {
      role: "system";
      /** With `turnOnly` of the target, which only the beta client's types have. */
      clear_at?: "next_user_message";
      content: ClaudeTextBlock[];
    };

/**
 * The part of a Messages request that a session fills. Spread it beside `model`, `max_tokens` and `tools`.
 */
export interface AnthropicRequest {
  /** Absent without instructions. */
  system?: ClaudeTextBlock[];
  messages: AnthropicTurn[];
  /**
   * The id of the container in which a call of the provider's own tool is still running. The API refuses the
   * request without it.
   */
  container?: string;
  /** With `continue` of the target: the conversation that the API holds. */
  thread?: { type: "create" } | { type: "continue"; previous_message_id: string };
}

// Blocks of earlier replies that the Messages API refuses, to be dropped.

/** The model's own blocks that cannot be sent back. */
interface Drops {
  readonly parts: ReadonlySet<Part>;
  /** Ids of omitted calls of the provider's own tools, which other calls may name as their caller. */
  readonly serverCalls: ReadonlySet<string>;
  /** Whether a call of the provider's own tool is sent without its result, which is still to come. */
  readonly hasOpenServerCalls: boolean;
}

/** Decides which blocks to leave out, and reports each as a loss. */
function findDrops(turns: readonly Turn[], tools: RenderTools): Drops {
  const parts = new Set<Part>();
  const assistantParts = turns.flatMap((turn) => (turn.role === "assistant" ? turn.parts : []));
  for (const part of assistantParts) {
    if (part.type !== "opaque" || isOpaqueBlock(part.data)) continue;
    parts.add(part);
    tools.reportLoss(part, {
      code: "opaque",
      by: "history",
      reason: "the data is no block of an assistant message",
    });
  }
  const { stray, isOpen } = serverCalls(turns, readIds);
  for (const { part, reason } of stray) {
    parts.add(part);
    tools.reportLoss(part, { code: "opaque", by: "history", reason });
  }
  for (const turn of turns) {
    if (turn.role === "assistant") dropTrailingReasoning(turn.parts, parts, tools);
  }
  return { parts, serverCalls: new Set(stray.map(({ id }) => id)), hasOpenServerCalls: isOpen };
}

/**
 * Block types that a session represents itself, or that an assistant message never has. An opaque block of
 * such a type is malformed, so the API would refuse it.
 */
const neverOpaque = new Set(["", "text", "tool_use", "tool_result", "image", "document", "search_result"]);

/** Whether a value can be a block of the model's: which types there are besides, the provider knows. */
export function isOpaqueBlock(data: unknown): data is AnthropicOpaqueBlock {
  if (!isRecord(data) || typeof data.type !== "string" || neverOpaque.has(data.type)) return false;
  return data.type !== "thinking" || (typeof data.signature === "string" && data.signature !== "");
}

/**
 * The API refuses a message that ends with reasoning, also if the blocks after it were left out.
 *
 * @see https://github.com/tailcallhq/forgecode/issues/2107 (stored copy read 2026-11-21)
 */
function dropTrailingReasoning(
  parts: readonly AssistantPart[],
  dropped: Set<Part>,
  tools: RenderTools,
): void {
  for (const part of parts.filter((one) => !dropped.has(one)).reverse()) {
    if (!isReasoning(part)) return;
    dropped.add(part);
    tools.reportLoss(part, { code: part.type, by: "target", reason: "reasoning at the end of the message" });
  }
}

/** The ids of the provider's own call or result in a block. */
export function readIds(data: unknown): ServerIds {
  if (!isRecord(data) || typeof data.type !== "string") return {};
  const { type, id, tool_use_id: of } = data;
  if ((type === "server_tool_use" || type === "mcp_tool_use") && typeof id === "string") return { call: id };
  return type.endsWith("_tool_result") && typeof of === "string" ? { result: of } : {};
}
