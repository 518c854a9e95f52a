/**
 * Context edits: which of a strategy's are safe, which make the kept items fit, and how an item looks after
 * one.
 */

import { estimateMessageTokens } from "../content/estimate/index.js";
import {
  type Context,
  type ContextItem,
  type ContextMessage,
  type ImageBlock,
  type TextBlock,
  type ToolResultMessage,
  toolCalls,
  type UserMessage,
} from "../content/index.js";
import { newestUserIndex } from "./cut-point.js";
import { outdatedInitialContexts } from "./initial-context.js";
import type { ResolvedOptions } from "./options.js";
import type { Retention } from "./retention.js";
import type { CompactionChoice, ContextEditDraft, MessageEstimator } from "./strategy.js";
import { truncateText, truncateToolResult } from "./truncate.js";

/** The edits by the entry that they change; the last edit of an entry wins. */
export function editsByTarget(edits: readonly ContextEditDraft[]): ReadonlyMap<string, ContextEditDraft> {
  return new Map(edits.map((edit) => [edit.targetId, edit]));
}

/** The item after an edit, as a session's context shows it; undefined if the edit removes it. */
function applyEdit(item: ContextItem, edit: ContextEditDraft | undefined): ContextItem | undefined {
  if (edit === undefined) return item;
  if (edit.replacement === null) return undefined;
  const { message } = item;
  if (!("content" in message) || message.role === "system") return item;
  return {
    ...item,
    message: { ...message, content: edit.replacement.content } as ContextMessage,
    edited: true,
  };
}

/** The items after the edits. */
export function applyEdits(
  items: readonly ContextItem[],
  edits: ReadonlyMap<string, ContextEditDraft>,
): readonly ContextItem[] {
  return items.flatMap((item) => applyEdit(item, edits.get(item.entryId)) ?? []);
}

/** An edit that replaces an entry's content. */
export function contentEdit(
  targetId: string,
  content: string | readonly (TextBlock | ImageBlock)[],
): ContextEditDraft {
  return { type: "context_edit", targetId, replacement: { content } };
}

/**
 * The choice's edits that keep the invariants. Edits of pinned entries and tool calls are dropped, and so are
 * edits that remove a tool result or the newest user message.
 */
export function safeEdits(
  { items, pins }: Context,
  { edits = [] }: CompactionChoice,
): ReadonlyMap<string, ContextEditDraft> {
  if (edits.length === 0) return new Map();
  const fixed = new Set(pins);
  const required = new Set([items[newestUserIndex(items)]?.entryId]);
  for (const { entryId, message } of items) {
    if (message.role === "assistant" && toolCalls(message).length > 0) fixed.add(entryId);
    if (message.role === "toolResult") required.add(entryId);
  }
  return editsByTarget(
    edits.filter(
      ({ targetId, replacement }) =>
        !fixed.has(targetId) && (replacement !== null || !required.has(targetId)),
    ),
  );
}

/**
 * The edits of the items that stay, those that make them fit into `room` included, and the tokens of the
 * result.
 */
export function editsOfKept(
  context: Context,
  choice: CompactionChoice,
  { from, retained }: Retention,
  room: number,
  options: ResolvedOptions,
): { readonly edits: readonly ContextEditDraft[]; readonly tokens: number } {
  const { estimate = estimateMessageTokens } = options;
  const { items, pins } = context;
  const staying = [...retained.map((at) => items[at] as ContextItem), ...items.slice(from)].filter(
    ({ message }) => message.role !== "system",
  );
  const ids = new Set(staying.map(({ entryId }) => entryId));
  const edits = new Map([...safeEdits(context, choice)].filter(([targetId]) => ids.has(targetId)));
  for (const targetId of outdatedInitialContexts(context, from, options))
    edits.set(targetId, { type: "context_edit", targetId, replacement: null });
  const kept = applyEdits(staying, edits);
  const tokens = readTokens(kept, estimate);
  const shrinking = shrinkingEdits(kept, new Set(pins), tokens, room, estimate);
  if (shrinking.length === 0) return { edits: [...edits.values()], tokens };
  for (const edit of shrinking) edits.set(edit.targetId, edit);
  return { edits: [...edits.values()], tokens: readTokens(applyEdits(staying, edits), estimate) };
}

/** The sum of the estimates of the items. */
export function readTokens(items: readonly ContextItem[], estimate: MessageEstimator): number {
  return items.reduce((sum, { message }) => sum + estimate(message), 0);
}

/** The tokens to which a tool result or a user message is truncated if the kept items do not fit. */
export const keptTextTokens = 2_000;

/**
 * Edits that shrink the kept items to `room` tokens. Truncates tool results to {@link keptTextTokens}, oldest
 * first, then user messages, and stops as soon as the items fit. Pinned items are not edited. The log keeps
 * the whole entries.
 */
export function shrinkingEdits(
  kept: readonly ContextItem[],
  pinned: ReadonlySet<string>,
  tokens: number,
  room: number,
  estimate: MessageEstimator,
): readonly ContextEditDraft[] {
  const edits: ContextEditDraft[] = [];
  let left = tokens;
  for (const role of ["toolResult", "user"] as const) {
    for (const { entryId, message } of kept) {
      if (left <= room) return edits;
      if (message.role !== role || pinned.has(entryId)) continue;
      const short = truncateMessage(message);
      if (short === message) continue;
      left -= estimate(message) - estimate(short);
      edits.push(contentEdit(entryId, short.content));
    }
  }
  return edits;
}

function truncateMessage<M extends UserMessage | ToolResultMessage>(message: M): M {
  const bound = { maxTokens: keptTextTokens };
  const { content } = message;
  if (typeof content === "string") {
    const text = truncateText(content, bound);
    return text === content ? message : { ...message, content: text };
  }
  const asResult: ToolResultMessage = {
    role: "toolResult",
    toolCallId: "",
    toolName: "",
    content,
    isError: false,
    timestamp: 0,
  };
  const short = truncateToolResult(asResult, bound);
  return short === asResult ? message : { ...message, content: short.content };
}
