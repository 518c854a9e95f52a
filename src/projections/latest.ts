import type { Context, ContextMessage } from "../content/index.js";
import type { LossList } from "./losses.js";
import type { PendingMessage } from "./request.js";
import type { Selection } from "./select-messages.js";

/**
 * Keeps the user messages since the last assistant message. The target has the rest, including instructions:
 * it is reported as `notRepeated`.
 */
export function latestOnly(items: Context["items"], { messages }: Selection, losses: LossList): Selection {
  const latest = latestMessages(items, messages);
  const kept = new Set(latest.map(({ item }) => item));
  losses.forget((item) => !kept.has(item));
  items.forEach(({ entryId, message }, item) => {
    if (kept.has(item) || isHidden(message)) return;
    const reason = "the target keeps its own history";
    losses.add({ entryId, item }, { code: "notRepeated", by: "policy", reason });
  });
  return { system: [], messages: latest };
}

/** Tool results between user messages belong to the assistant's turn. */
function latestMessages(
  items: Context["items"],
  messages: readonly PendingMessage[],
): readonly PendingMessage[] {
  const last = messages.findLast(({ role }) => role === "user")?.item ?? -1;
  const answered = items.findLastIndex(({ message }, item) => item < last && message.role === "assistant");
  return messages.filter(({ role, item }) => role === "user" && item > answered && item <= last);
}

function isHidden(message: ContextMessage): boolean {
  return message.role === "bashExecution" && message.excludeFromContext === true;
}
