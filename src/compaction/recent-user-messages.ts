import type { Context, ContextItem, TextBlock, UserMessage } from "../content/index.js";
import { integerArgument, integerOption } from "../internal/arguments.js";
import { contentEdit } from "./context-edits.js";
import { handoffPrompt } from "./prompts.js";
import { omissionText } from "./serialize.js";
import type { CompactionBudget, CompactionChoice, CompactionStrategy, ContextEditDraft } from "./strategy.js";
import { approximateTokens, truncateText } from "./truncate.js";

/** How {@link recentUserMessages} works. */
export interface RecentUserMessagesOptions {
  /** Compacts where the context has at least this many tokens; at least 1. By default 90 % of the window. */
  readonly tokenLimit?: number;
  /** How much of what users said is kept, in tokens; at least 0. By default 20,000, and never more than a quarter of the limit. */
  readonly keepUserTokens?: number;
  /** What the summary begins with. By default {@link handoffPreface}. */
  readonly preface?: string;
}

/** The defaults of {@link recentUserMessages}, which are codex's; the limit is a part of the window. */
export const recentUserMessagesDefaults = { tokenLimitShare: 0.9, keepUserTokens: 20_000 } as const;

/** What a summary of {@link recentUserMessages} begins with. */
export const handoffPreface =
  "Another model began this work, and wrote down for you how far it came. Build on that, and do not do again what is done.";

/**
 * A summary made anew each time, and behind it the newest messages of users, texts alone: codex's way. The oldest that does
 * not fit in whole is cut; images that are inline become words, attachments keep their descriptors.
 *
 * @throws RangeError for options that are no whole numbers in their range.
 * @example
 * ```ts
 * const strategy = recentUserMessages({ tokenLimit: 180_000 });
 * ```
 */
export function recentUserMessages(options: RecentUserMessagesOptions = {}): CompactionStrategy {
  const { tokenLimitShare, keepUserTokens } = recentUserMessagesDefaults;
  const configured =
    options.tokenLimit === undefined ? undefined : integerArgument("tokenLimit", options.tokenLimit, 1);
  const keep = integerOption("keepUserTokens", options.keepUserTokens, keepUserTokens, 0);
  const { preface = handoffPreface } = options;
  const limit = (window: number) => {
    const most = Math.floor(window * tokenLimitShare);
    return Math.max(1, configured === undefined ? most : Math.min(configured, most));
  };
  return {
    name: "recent-user-messages",
    // The limit itself asks for a compaction.
    limit: (window) => Math.max(1, limit(window) - 1),
    shouldCompact: (_, { window, tokens }) => tokens >= limit(window),
    choose: (context, budget) =>
      recent(context, budget, Math.min(keep, Math.floor(limit(budget.window) / 4))),
    join: (texts) => `${preface}\n\n${texts.join("\n\n")}`,
    emptySummary: "(no summary available)",
  };
}

function recent({ items }: Context, { minimal }: CompactionBudget, keepTokens: number): CompactionChoice {
  const retain: string[] = [];
  const edits: ContextEditDraft[] = [];
  let left = minimal ? 0 : keepTokens;
  for (let at = items.length - 1; at >= 0 && left > 0; at--) {
    const { entryId, message } = items[at] as ContextItem;
    if (message.role !== "user") continue;
    const blocks = withoutImages(message);
    const attached = blocks.filter(({ resource }) => resource !== undefined);
    const texts = blocks.flatMap(({ resource, text }) => (resource === undefined ? [text] : []));
    const tokens = approximateTokens(blocks.map(({ text }) => text).join(""));
    retain.push(entryId);
    if (tokens > left) {
      const text = truncateText(texts.join("\n"), { maxTokens: left });
      // An attachment stays one: what its words say is for a boundary to judge.
      edits.push(contentEdit(entryId, [{ type: "text", text }, ...attached]));
    } else if (typeof message.content !== "string" && message.content.some(({ type }) => type !== "text")) {
      edits.push(contentEdit(entryId, blocks));
    }
    left -= tokens;
  }
  return { keepFrom: items.length, retain, edits, parts: [{ items, prompt: handoffPrompt }] };
}

/** What a user said, with words in the place of inline images. */
function withoutImages({ content }: UserMessage): readonly TextBlock[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((block) =>
    block.type === "text"
      ? block
      : { type: "text", text: omissionText("image", "the conversation was compacted") },
  );
}
