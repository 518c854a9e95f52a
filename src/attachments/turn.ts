import type { Context } from "../content/index.js";

/**
 * Index of the first item of the current turn: the latest user message, together with user messages right before it that
 * no reply separates, since a channel may deliver a picture and its question as two messages. 0 where the context has no
 * user message: the turn began before the context does.
 *
 * @example
 * ```ts
 * const answered = assistantMessage({ provider: "p", model: "m" }, "Hello.");
 * currentTurnStart(contextOf([userMessage("hi"), answered, userMessage("and now?")])); // 2
 * ```
 */
export function currentTurnStart({ items }: Pick<Context, "items">): number {
  let start = items.findLastIndex(({ message }) => message.role === "user");
  if (start < 0) return 0;
  for (let at = start - 1; at >= 0; at--) {
    const item = items[at];
    // Messages that a compaction retained stand side by side because what was between them is gone.
    if (item?.origin !== "message" && item?.origin !== "custom") break;
    const { role } = item.message;
    if (role === "user") start = at;
    else if (role !== "custom" && role !== "bashExecution") break;
  }
  return start;
}

/** The turn of each item, from 1 on; 0 before the first user message. The last one is the current turn. */
export function turnsOf({ items }: Pick<Context, "items">): readonly number[] {
  let turn = 0;
  let isOpen = false;
  return items.map(({ origin, message: { role } }) => {
    const isJoined = origin === "message" || origin === "custom";
    if (role === "user") {
      if (!isOpen) turn++;
      isOpen = isJoined;
    } else {
      isOpen &&= isJoined && (role === "custom" || role === "bashExecution");
    }
    return turn;
  });
}
