import type { ContextItem } from "../content/index.js";

/**
 * Where a context's own messages begin: behind its system message, its summary and what a compaction retained, all of which
 * were in a compaction's hands before.
 */
export function headLength(items: readonly ContextItem[]): number {
  let at = 0;
  while (at < items.length && isHead(items[at] as ContextItem)) at++;
  return at;
}

function isHead({ origin }: ContextItem): boolean {
  return origin === "system" || origin === "summary" || origin === "retained";
}

/** Whether a context may begin with this item: never with a tool's result, nor with what a compaction makes itself. */
export function isCutPoint({ message }: ContextItem): boolean {
  switch (message.role) {
    case "user":
    case "assistant":
    case "bashExecution":
    case "custom":
    case "branchSummary":
      return true;
    default:
      return false;
  }
}

/** Whether a turn begins here: a person, a command of a person's, or something in a person's place said something. */
export function startsTurn(item: ContextItem): boolean {
  return isCutPoint(item) && item.message.role !== "assistant";
}

/** The index of the newest message that a user wrote, or -1. */
export function newestUserMessage(items: readonly ContextItem[]): number {
  return items.findLastIndex(({ message }) => message.role === "user");
}
