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
 * Pairs tool calls with their results over a list of messages. A result answers a call with its id in the latest earlier
 * message that has one without a result, since some providers use an id again in a later turn; within a message the
 * first such call. Linear in the list.
 */
export function toolPairs(messages: readonly ContextMessage[]): ToolPairs {
  const pairs: { call: ToolCall; callAt: number; result?: ToolResultMessage; resultAt?: number }[] = [];
  const orphans: number[] = [];
  /** Calls without a result by id, a queue for each message; the latest message comes first. */
  const open = new Map<string, { readonly callAt: number; readonly waiting: number[]; next: number }[]>();
  messages.forEach((message, at) => {
    if (message.role === "assistant") {
      for (const call of toolCalls(message)) {
        const groups = open.get(call.id) ?? [];
        open.set(call.id, groups);
        if (groups.at(-1)?.callAt !== at) groups.push({ callAt: at, waiting: [], next: 0 });
        groups.at(-1)?.waiting.push(pairs.length);
        pairs.push({ call, callAt: at });
      }
    } else if (message.role === "toolResult") {
      const groups = open.get(message.toolCallId);
      const group = groups?.at(-1);
      const pair = group === undefined ? undefined : pairs[group.waiting[group.next++] as number];
      if (group?.next === group?.waiting.length) groups?.pop();
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
