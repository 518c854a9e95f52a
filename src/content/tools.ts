import type { ToolCall } from "./blocks.js";
import type { AssistantMessage, ContextMessage, ToolResultMessage } from "./messages.js";

/** The tool calls of an assistant message, in order. */
export function toolCalls(message: AssistantMessage): readonly ToolCall[] {
  return message.content.filter((block): block is ToolCall => block.type === "toolCall");
}

/** A call and, where it came, its result. */
export interface ToolPair {
  readonly call: ToolCall;
  /** Index of the assistant message in the list. */
  readonly callAt: number;
  readonly result?: ToolResultMessage;
  /** Index of the result in the list. */
  readonly resultAt?: number;
}

/** Which call belongs to which result. */
export interface ToolPairs {
  /** One for each call, in the order of the calls. */
  readonly pairs: readonly ToolPair[];
  /** Indexes of results that answer no earlier call, or a call that was answered already. */
  readonly orphans: readonly number[];
}

/**
 * Pairs tool calls with their results over a list of messages. A result answers the latest earlier call with its id
 * that has no result yet, since some providers use an id again in a later turn. Linear in the list.
 */
export function toolPairs(messages: readonly ContextMessage[]): ToolPairs {
  const pairs: { call: ToolCall; callAt: number; result?: ToolResultMessage; resultAt?: number }[] = [];
  const orphans: number[] = [];
  const open = new Map<string, number[]>();
  messages.forEach((message, at) => {
    if (message.role === "assistant") {
      for (const call of toolCalls(message)) {
        const waiting = open.get(call.id);
        if (waiting === undefined) open.set(call.id, [pairs.length]);
        else waiting.push(pairs.length);
        pairs.push({ call, callAt: at });
      }
    } else if (message.role === "toolResult") {
      const index = open.get(message.toolCallId)?.pop();
      const pair = index === undefined ? undefined : pairs[index];
      if (pair === undefined) {
        orphans.push(at);
      } else {
        pair.result = message;
        pair.resultAt = at;
      }
    }
  });
  return { pairs, orphans };
}
