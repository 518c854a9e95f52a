/** The strategy of codex: a new summary and the newest user messages. */
import type { Context, ContextItem, TextBlock, UserMessage } from "../content/index.js";
import { integerArgument, integerOption } from "../core/arguments.js";
import { contentEdit } from "./context-edits.js";
import { prompts } from "./prompts.js";
import { omissionText } from "./serialize.js";
import type { CompactionBudget, CompactionChoice, CompactionStrategy, ContextEditDraft } from "./strategy.js";
import { approximateTokens, truncateText } from "./truncate.js";

/** The options of {@link recentUserMessages}. */
export interface RecentUserMessagesOptions {
  /** Compacts from this many tokens on; at least 1. Default and maximum: 90 % of the window. */
  readonly tokenLimit?: number | undefined;
  /** Tokens of user messages to keep; at least 0. Default 20,000; never more than a quarter of the limit. */
  readonly keepUserTokens?: number | undefined;
  /** The first paragraph of the summary. Default: a note that another model began the work. */
  readonly preface?: string | undefined;
}

/** codex's defaults; the limit is a fraction of the window. */
const defaults = { tokenLimitShare: 0.9, keepUserTokens: 20_000 } as const;

const handoffPreface =
  "Another model began this work, and wrote down for you how far it came. Build on that, and do not " +
  "do again what is done.";

/**
 * Writes a new summary each time, followed by the newest user messages, text only: codex's strategy. The
 * oldest kept message is truncated if it does not fit. Inline images become placeholders, attachments keep
 * their descriptors.
 *
 * @throws RangeError for options that are not integers in their range
 * @example
 * ```ts
 * const strategy = recentUserMessages({ tokenLimit: 180_000 });
 * ```
 */
export function recentUserMessages(options: RecentUserMessagesOptions = {}): CompactionStrategy {
  const { tokenLimitShare, keepUserTokens } = defaults;
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
    // A context of exactly the limit is compacted.
    limit: (window) => Math.max(1, limit(window) - 1),
    shouldCompact: (_, { window, tokens }) => tokens >= limit(window),
    choose: (context, budget) =>
      chooseRecent(context, budget, Math.min(keep, Math.floor((budget.limit ?? limit(budget.window)) / 4))),
    join: (texts) => `${preface}\n\n${texts.join("\n\n")}`,
    emptySummary: "(no summary available)",
  };
}

function chooseRecent(
  { items }: Context,
  { minimal }: CompactionBudget,
  keepTokens: number,
): CompactionChoice {
  const retain: string[] = [];
  const edits: ContextEditDraft[] = [];
  let left = minimal ? 0 : keepTokens;
  for (let at = items.length - 1; at >= 0 && left > 0; at--) {
    const { entryId, message } = items[at] as ContextItem;
    if (message.role !== "user") continue;
    const blocks = textBlocks(message);
    const attached = blocks.filter(({ resource }) => resource !== undefined);
    const texts = blocks.flatMap(({ resource, text }) => (resource === undefined ? [text] : []));
    const tokens = approximateTokens(blocks.map(({ text }) => text).join(""));
    retain.push(entryId);
    if (tokens > left) {
      const text = truncateText(texts.join("\n"), { maxTokens: left });
      // Attachments stay blocks, so that a boundary is asked about them.
      edits.push(contentEdit(entryId, [{ type: "text", text }, ...attached]));
    } else if (typeof message.content !== "string" && message.content.some(({ type }) => type !== "text")) {
      edits.push(contentEdit(entryId, blocks));
    }
    left -= tokens;
  }
  return { keepFrom: items.length, retain, edits, parts: [{ items, prompt: prompts.handoff }] };
}

/** The blocks of a user message with placeholders for inline images. */
function textBlocks({ content }: UserMessage): readonly TextBlock[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((block) =>
    block.type === "text"
      ? block
      : { type: "text", text: omissionText("image", "the conversation was compacted") },
  );
}
