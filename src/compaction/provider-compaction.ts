/** The strategy of summaries that the provider's API made, which stay with it and get a text for all others. */
import { estimateMessageTokens } from "../content/estimate/index.js";
import type { AssistantMessage, Context, ContextItem } from "../content/index.js";
import { isProviderSummary } from "../content/internal.js";
import { withoutFooter } from "./boundary.js";
import { prompts } from "./prompts.js";
import { headLength } from "./retention.js";
import type { CompactionStrategy } from "./strategy.js";
import { minSummaryTokens } from "./triggers.js";

/**
 * Records a summary that the provider made itself as a compaction: Anthropic's `compaction` block, by request or
 * by threshold, and OpenAI's compaction item. The message with the block stays, and goes back to its own provider
 * as the first one. Every other model gets the text of the block, or the text of `generate` if it is encrypted.
 *
 * It asks for a compaction if a reply with such a block covers more than the shortest summary takes.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/compaction and
 *   https://developers.openai.com/api/docs/guides/conversation-state (stored copies, 2026-11-28)
 * @example
 * ```ts
 * const strategy = providerCompaction();
 * const context = await session.context();
 * if (strategy.shouldCompact(context, { window: 200_000, tokens: contextTokens(context) })) {
 *   await compact(session, { strategy, window: 200_000, generate });
 * }
 * ```
 */
export function providerCompaction(): CompactionStrategy {
  return {
    name: "provider",
    // The provider's own threshold bounds its context; this one has the text beside the block.
    limit: (window) => window,
    shouldCompact: ({ items }, { window, estimate = estimateMessageTokens }) => {
      const newest = items.findLastIndex(({ message }) => message.role === "user");
      // A summary is not shorter than that; the newest user message stays.
      let left = minSummaryTokens(window);
      const end = summaryAt(items);
      for (let at = headLength(items); at < end && left >= 0; at++)
        if (at !== newest) left -= estimate((items[at] as ContextItem).message);
      return left < 0;
    },
    choose({ items }) {
      const keepFrom = summaryAt(items);
      const from = headLength(items);
      if (keepFrom <= from) return undefined;
      const earlier = items.find(({ message }) => message.role === "compactionSummary")?.message;
      const previous = earlier?.role === "compactionSummary" ? withoutFooter(earlier.summary) : undefined;
      const part = { items: items.slice(from, keepFrom), prompt: prompts.checkpoint, previous };
      return { keepFrom, parts: [part], summary: summaryText(items[keepFrom]?.message as AssistantMessage) };
    },
  };
}

/** The index of the newest message with a summary of its provider; -1 if none has one. */
function summaryAt(items: Context["items"]): number {
  return items.findLastIndex(
    ({ message }) =>
      message.role === "assistant" &&
      message.content.some((block) => block.type === "opaque" && isProviderSummary(block.data)),
  );
}

/** The text of a summary; undefined if only its provider can read it. */
function summaryText({ content }: AssistantMessage): string | undefined {
  const texts = content.flatMap((block) =>
    block.type === "opaque" && isProviderSummary(block.data) && "content" in block.data
      ? [block.data.content]
      : [],
  );
  const text = texts.at(-1);
  return typeof text === "string" && text.trim() !== "" ? text : undefined;
}
