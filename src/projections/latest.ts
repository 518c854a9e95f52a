import type { Context, ContextMessage } from "../content/index.js";
import type { LossList } from "./losses.js";
import type { PendingMessage } from "./request.js";
import type { Selection } from "./select-messages.js";

/**
 * Of a selection what the user said last: everything of the user's side since the model spoke. All else,
 * instructions among it, the target has itself, and the losses of it are that it is not repeated.
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

/** Results of tools may stand between what the user said; they belong to what the model said. */
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
