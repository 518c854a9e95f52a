import { type ContextItem, toolPairs } from "../content/index.js";

/**
 * The items that a compaction covers, for its file ledger: a call that stays and has no result among them is left to the next
 * ledger, which sees what became of it.
 */
export function coveredCalls(
  items: readonly ContextItem[],
  from: number,
  retained: readonly number[],
): readonly ContextItem[] {
  const covered = items.slice(0, from);
  if (!retained.some((at) => covered[at]?.message.role === "assistant")) return covered;
  const stays = new Set(retained);
  const open = new Set(
    toolPairs(covered.map(({ message }) => message)).pairs.flatMap(({ call, callAt, result }) =>
      result === undefined && stays.has(callAt) ? [call] : [],
    ),
  );
  if (open.size === 0) return covered;
  return covered.map((item, at) => {
    const { message } = item;
    if (message.role !== "assistant" || !stays.has(at)) return item;
    const content = message.content.filter((block) => block.type !== "toolCall" || !open.has(block));
    return { ...item, message: { ...message, content } };
  });
}
