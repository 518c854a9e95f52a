import { describe } from "../internal/arguments.js";
import type { TextBlock, ToolCall } from "./blocks.js";
import type { AssistantMessage, StopReason, ToolResultMessage, Usage, UserMessage } from "./messages.js";
import { describeResource, type Resource } from "./resource.js";

/** A piece of a message: text, an attachment, or a finished text block. */
export type MessagePart = string | Resource | TextBlock;

/**
 * A user message of these parts in this order. One string stays a string; anything else becomes blocks, where an
 * attachment is a text block with its descriptor, so that a reader who knows nothing of resources still sees a name.
 *
 * @throws TypeError when a part is none of the three, naming its index.
 * @example
 * ```ts
 * userMessage("What is wrong here?", screenshot);
 * ```
 */
export function userMessage(...parts: readonly MessagePart[]): UserMessage {
  const [only] = parts;
  const content = parts.length === 1 && typeof only === "string" ? only : parts.map(partBlock);
  return { role: "user", content, timestamp: Date.now() };
}

/** What {@link assistantMessage} takes: a model's name, and whatever of the rest is known. */
export interface AssistantMessageInit {
  readonly provider: string;
  readonly model: string;
  readonly responseModel?: string;
  readonly api?: string;
  readonly usage?: Usage;
  readonly stopReason?: StopReason;
  readonly errorMessage?: string;
}

/**
 * An assistant message of these parts. What is not given is filled so that other readers of the file find what they
 * expect: `api` "unknown", a usage of zeros, and a stop reason of "toolUse" where there are calls, else "stop".
 *
 * @throws TypeError when a part is neither text nor a block.
 * @example
 * ```ts
 * assistantMessage({ provider: "anthropic", model: "m" }, "Let me look.", {
 *   type: "toolCall", id: "c1", name: "read", arguments: { path: "README.md" },
 * });
 * ```
 */
export function assistantMessage(
  init: AssistantMessageInit,
  ...parts: readonly (string | AssistantMessage["content"][number])[]
): AssistantMessage {
  const content = parts.map((part, index) => {
    if (typeof part === "string") return { type: "text" as const, text: part };
    if (typeof part === "object" && part !== null && typeof part.type === "string") return part;
    throw new TypeError(`parts[${index}]: expected a string or a block, got ${describe(part)}`);
  });
  return {
    role: "assistant",
    content,
    api: init.api ?? "unknown",
    provider: init.provider,
    model: init.model,
    ...(init.responseModel === undefined ? {} : { responseModel: init.responseModel }),
    usage: init.usage ?? noUsage,
    stopReason: init.stopReason ?? (content.some((block) => block.type === "toolCall") ? "toolUse" : "stop"),
    ...(init.errorMessage === undefined ? {} : { errorMessage: init.errorMessage }),
    timestamp: Date.now(),
  };
}

const noUsage: Usage = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/**
 * The result of a tool call. For a failure, spread it: `{ ...toolResult(call, text), isError: true }`.
 *
 * @throws TypeError when a part is none of the three, naming its index.
 */
export function toolResult(
  call: Pick<ToolCall, "id" | "name">,
  ...parts: readonly MessagePart[]
): ToolResultMessage {
  return {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content: parts.map(partBlock),
    isError: false,
    timestamp: Date.now(),
  };
}

function partBlock(part: MessagePart, index: number): TextBlock {
  if (typeof part === "string") return { type: "text", text: part };
  if (typeof part === "object" && part !== null) {
    if ("resourceId" in part) return { type: "text", text: describeResource(part), resource: part };
    if (part.type === "text" && typeof part.text === "string") return part;
  }
  throw new TypeError(
    `parts[${index}]: expected a string, a resource or a text block, got ${describe(part)}`,
  );
}
