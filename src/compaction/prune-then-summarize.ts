import type { Context, ContextItem } from "../content/index.js";
import { contentEdit, editedItem, editsByTarget } from "./edited.js";
import { leftOutText } from "./image-text.js";
import { continuationPrompt } from "./prompts.js";
import { type PruneOptions, planPrune, pruneDefaults } from "./prune.js";
import type { CompactionBudget, CompactionChoice, CompactionStrategy, ContextEditDraft } from "./strategy.js";
import { isOverflow, type ModelWindow, type OverflowSettings, usableTokens } from "./triggers.js";
import { newestUserMessage } from "./turns.js";

/** How {@link pruneThenSummarize} works. */
export interface PruneThenSummarizeOptions extends OverflowSettings, Omit<PruneOptions, "estimate"> {
  /** The longest answer that is asked of the model, in tokens. */
  readonly output?: ModelWindow["output"];
  /** What the model takes as prompt, where its provider bounds that. */
  readonly input?: ModelWindow["input"];
}

/**
 * Old output of tools is cleared first; where that does not free enough, or a summary was asked for, all is summarised and
 * the newest message of the user stays: opencode's way. After an overflow that message goes as text alone.
 *
 * @example
 * ```ts
 * const strategy = pruneThenSummarize({ output: 32_000, protectedTools: ["skill", "plan"] });
 * ```
 */
export function pruneThenSummarize(options: PruneThenSummarizeOptions = {}): CompactionStrategy {
  const { auto, reserved, output, input, ...prune } = options;
  const settings = {
    ...(auto === undefined ? {} : { auto }),
    ...(reserved === undefined ? {} : { reserved }),
  };
  const model = (window: number): ModelWindow => ({
    context: window,
    ...(output === undefined ? {} : { output }),
    ...(input === undefined ? {} : { input }),
  });
  const limit = (window: number) => Math.max(usableTokens(model(window), settings), Math.floor(window / 2));
  return {
    name: "prune-then-summarize",
    limit,
    shouldCompact: (_, { window, tokens }) =>
      tokens > limit(window) && isOverflow(tokens, model(window), settings),
    choose: (context, budget) => {
      const most = limit(budget.window);
      return pruned(context, budget, most, { ...scaled(most), ...prune });
    },
  };
}

/** What is protected by default, for windows that its numbers were not made for: at most a quarter and an eighth of the limit. */
function scaled(limit: number): Pick<PruneOptions, "protectTokens" | "minimumTokens"> {
  return {
    protectTokens: Math.min(pruneDefaults.protectTokens, Math.floor(limit / 4)),
    minimumTokens: Math.min(pruneDefaults.minimumTokens, Math.floor(limit / 8)),
  };
}

function pruned(
  context: Context,
  budget: CompactionBudget,
  limit: number,
  options: PruneOptions,
): CompactionChoice | undefined {
  const { tokens, trigger = "manual", estimate } = budget;
  const { items } = context;
  const prune = planPrune(context, { ...options, ...(estimate === undefined ? {} : { estimate }) });
  const edits: ContextEditDraft[] = [...(prune?.drafts ?? [])];
  const byItself = trigger === "pre-turn" || trigger === "mid-turn";
  if (prune !== undefined && byItself && tokens - prune.tokens <= limit) {
    return { keepFrom: 0, edits, parts: [] };
  }
  // The summary is of the newest message as it is, with what names its attachments.
  const targets = editsByTarget(edits);
  const shown = items.flatMap((item) => editedItem(item, targets.get(item.entryId)) ?? []);
  if (trigger === "overflow") {
    for (const edit of textOnly(items[newestUserMessage(items)])) edits.push(edit);
  }
  return { keepFrom: items.length, edits, parts: [{ items: shown, prompt: continuationPrompt }] };
}

/** The message with words in the place of attachments and images, since one of them may be what was too large; links stay. */
function textOnly(item: ContextItem | undefined): readonly ContextEditDraft[] {
  if (item?.message.role !== "user" || typeof item.message.content === "string") return [];
  const { content } = item.message;
  let changed = false;
  const blocks = content.map((block) => {
    const kind = block.type === "image" ? "image" : block.resource?.kind;
    if (kind === undefined || kind === "link") return block;
    changed = true;
    return { type: "text" as const, text: leftOutText(kind, "the request was too large") };
  });
  return changed ? [contentEdit(item.entryId, blocks)] : [];
}
