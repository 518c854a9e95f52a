/** Tools in messages: calls paired with their results, declared tools, and declarations in the shapes of clients. */

import { isRecord } from "../core/shape.js";
import type {
  AssistantMessage,
  ContextMessage,
  SystemMessage,
  ToolCall,
  ToolResultMessage,
} from "./message.js";
import { opaqueWords } from "./opaque-blocks.js";

/**
 * Returns the text of any message: its text blocks and the words of a provider's own blocks, joined by line
 * feeds; a summary; a command after `$ `, and its output. Calls, thinking, images and attachments have none.
 *
 * @example
 * ```ts
 * messageText(userMessage("What is", "wrong here?")); // "What is\nwrong here?"
 * ```
 * @param options `attachments`: each attachment has its descriptor, in its place. Default false
 */
export function messageText(
  message: ContextMessage,
  { attachments = false }: { readonly attachments?: boolean } = {},
): string {
  if (message.role === "bashExecution") return `$ ${message.command}\n${message.output}`;
  if (message.role === "compactionSummary" || message.role === "branchSummary") return message.summary;
  if (typeof message.content === "string") return message.content;
  const texts = message.content.map((block) => {
    if (block.type === "opaque") return opaqueWords(block.data) || undefined;
    if (block.type !== "text" || (!attachments && block.resource !== undefined)) return undefined;
    return block.text;
  });
  return texts.filter((text) => text !== undefined).join("\n");
}

/** The tool calls of an assistant message, in order. */
export function toolCalls(message: AssistantMessage): readonly ToolCall[] {
  return message.content.filter((block): block is ToolCall => block.type === "toolCall");
}

/** Whether the reply of a message broke off or failed: none of its calls is to be run. */
export function isBroken({ stopReason }: Pick<AssistantMessage, "stopReason">): boolean {
  return stopReason === "aborted" || stopReason === "error";
}

/**
 * Whether a limit cut a call: it is the last block of its message, and its arguments are empty or no object, as
 * after a cut. It is not to be run.
 */
export function isCutCall({ stopReason, content }: AssistantMessage, call: ToolCall): boolean {
  if (stopReason !== "length" || content.at(-1) !== call) return false;
  const { arguments: args } = call;
  return typeof args !== "object" || args === null || Object.keys(args).length === 0;
}

/** A call and its result, if there is one. */
export interface ToolPair {
  readonly call: ToolCall;
  /** Index of the assistant message in the list. */
  readonly callAt: number;
  readonly result?: ToolResultMessage;
  /** Index of the result in the list. */
  readonly resultAt?: number;
}

/** Calls paired with results. */
interface ToolPairs {
  /** One for each call, in the order of the calls. */
  readonly pairs: readonly ToolPair[];
  /** Indexes of results without an earlier unanswered call. */
  readonly orphans: readonly number[];
}

/**
 * Pairs the tool calls of messages with their results by id. Some providers reuse ids, so a result answers
 * the first unanswered call in the latest earlier message that has one. Linear in the list.
 */
export function toolPairs(messages: readonly ContextMessage[]): ToolPairs {
  const pairs: { call: ToolCall; callAt: number; result?: ToolResultMessage; resultAt?: number }[] = [];
  const orphans: number[] = [];
  const open = new Map<string, WaitingCalls>();
  messages.forEach((message, at) => {
    if (message.role === "assistant") {
      for (const call of message.content) {
        if (call.type !== "toolCall") continue;
        const latest = open.get(call.id);
        if (latest?.callAt === at) latest.others.push(pairs.length);
        else open.set(call.id, { callAt: at, first: pairs.length, others: [], answered: 0, earlier: latest });
        pairs.push({ call, callAt: at });
      }
    } else if (message.role === "toolResult") {
      const latest = open.get(message.toolCallId);
      if (latest === undefined) {
        orphans.push(at);
        return;
      }
      const pair =
        pairs[latest.answered === 0 ? latest.first : (latest.others[latest.answered - 1] as number)];
      if (pair === undefined) return;
      pair.result = message;
      pair.resultAt = at;
      if (latest.answered++ < latest.others.length) return;
      if (latest.earlier === undefined) open.delete(message.toolCallId);
      else open.set(message.toolCallId, latest.earlier);
    }
  });
  return { pairs, orphans };
}

/** The unanswered calls of one message with one id, by their index among the pairs. */
interface WaitingCalls {
  readonly callAt: number;
  readonly first: number;
  /** Indexes after the first; nearly always empty. */
  readonly others: number[];
  answered: number;
  /** The calls of an earlier message with the same id. */
  readonly earlier: WaitingCalls | undefined;
}

/** The declared tools after a system message, from those before it. */
export function toolsAfter(
  tools: readonly unknown[],
  { toolsAdded = [], toolsRemoved = [] }: SystemMessage,
): readonly unknown[] {
  const removed = new Set(toolsRemoved.map(toolKey));
  const kept = removed.size === 0 ? tools : tools.filter((tool) => !removed.has(toolKey(tool)));
  return [...kept, ...toolsAdded];
}

/** The identity of a tool: its name, or the value itself. */
function toolKey(tool: unknown): unknown {
  return isRecord(tool) && typeof tool.name === "string" ? tool.name : tool;
}

// The declaration of a tool in the shape of each provider's client.

/** A JSON schema of an object with text members, as the tools of all providers take it. */
export interface ToolSchema {
  [member: string]: unknown;
  type: "object";
  properties: Record<string, { type: "string"; description: string; enum?: string[] }>;
  required: string[];
  additionalProperties: false;
}

/** The declaration of a tool in the shape of each client. */
export interface ToolShapes<S = ToolSchema> {
  readonly anthropic: { name: string; description: string; input_schema: S };
  readonly openaiChat: {
    type: "function";
    function: { name: string; description: string; parameters: S };
  };
  readonly openaiResponses: {
    type: "function";
    name: string;
    description: string;
    parameters: S;
    strict: false;
  };
  /** An element of `functionDeclarations`. */
  readonly gemini: { name: string; description: string; parametersJsonSchema: S };
  readonly bedrock: {
    toolSpec: { name: string; description: string; inputSchema: { json: S } };
  };
  readonly mcp: { name: string; description: string; inputSchema: S };
  /** For other clients, and for the AI SDK: `tool({ description, inputSchema: jsonSchema(schema) })`. */
  readonly plain: { name: string; description: string; schema: S };
}

type Shapes<S> = { readonly [K in keyof ToolShapes<S>]: (tool: ToolShapes<S>["plain"]) => ToolShapes<S>[K] };

/** Functions that write a plain declaration in each shape. */
export function toolShapes<S>(): Shapes<S> {
  return {
    anthropic: ({ name, description, schema }) => ({ name, description, input_schema: schema }),
    openaiChat: ({ name, description, schema }) => ({
      type: "function",
      function: { name, description, parameters: schema },
    }),
    openaiResponses: ({ name, description, schema }) => ({
      type: "function",
      name,
      description,
      parameters: schema,
      strict: false,
    }),
    gemini: ({ name, description, schema }) => ({ name, description, parametersJsonSchema: schema }),
    bedrock: ({ name, description, schema }) => ({
      toolSpec: { name, description, inputSchema: { json: schema } },
    }),
    mcp: ({ name, description, schema }) => ({ name, description, inputSchema: schema }),
    plain: (tool) => tool,
  };
}
