/** The newest part of a context, by characters. */

import {
  type Context,
  type ContextItem,
  type ContextMessage,
  type ImageBlock,
  type OpaqueBlock,
  type TextBlock,
  type ThinkingBlock,
  type ToolCall,
  toolPairs,
} from "../content/index.js";
import { blockAttachments, type ToolPair, withReferences } from "../content/internal.js";
import { integerArgument, unreachable } from "../core/arguments.js";
import { jsonPieces } from "../core/json.js";

/**
 * Cuts a context to its newest items that fit a number of characters. Text counts its length, an image 2000.
 * The window starts at an item that a model accepts as the first: not at a tool result, and not between a
 * call and its result.
 *
 * Two parts stay even beyond the limit, because the model cannot continue without them: the newest user
 * message, and the newest round of calls and results after it. Earlier rounds of the turn may be dropped
 * between the two. Otherwise the window is a suffix: system messages and the summary of a compaction are the
 * oldest items, and are dropped first. So keep permanent instructions outside the session, and do not window
 * a session that is compacted. Pins do not protect items. `usageSince` is reset, because the reported usage
 * is of the longer context. A context that fits is returned unchanged.
 *
 * @param maxCharacters at least 0
 * @throws RangeError if `maxCharacters` is not an integer from 0 on
 * @example
 * ```ts
 * const { items } = windowContext(await session.context(), 100_000);
 * ```
 */
export function windowContext(context: Context, maxCharacters: number): Context {
  integerArgument("maxCharacters", maxCharacters, 0);
  const { items } = context;
  const from = windowStart(items, maxCharacters);
  return from === 0 ? context : cutContext(context, from, newestUserMessage(items));
}

/** The index at which the window starts; the newest user message may precede it. */
function windowStart(items: readonly ContextItem[], maxCharacters: number): number {
  const { pairs } = toolPairs(items.map(({ message }) => message));
  const open = openCalls(items.length, pairs);
  const user = newestUserMessage(items);
  const newest = newestRound(items, open, user);
  let remaining = maxCharacters - itemCharacters(items, user);
  let from = items.length;
  while (from > 0) {
    if (from - 1 !== user) remaining -= itemCharacters(items, from - 1);
    if (remaining < 0) break;
    from--;
  }
  const unanswered = new Set(pairs.flatMap(({ callAt, result }) => (result === undefined ? [callAt] : [])));
  const canStart = (at: number) =>
    open[at] === 0 && items[at]?.message.role !== "toolResult" && !unanswered.has(at);
  while (from < newest && !canStart(from)) from++;
  from = Math.min(from, newest);
  return user >= 0 && from === user + 1 ? user : from;
}

/** For each index, the number of calls before it whose result is at or after it. */
function openCalls(length: number, pairs: readonly ToolPair[]): Int32Array {
  const open = new Int32Array(length + 2);
  for (const { callAt, resultAt } of pairs) {
    if (resultAt === undefined) continue;
    open[callAt + 1] = (open[callAt + 1] as number) + 1;
    open[resultAt + 1] = (open[resultAt + 1] as number) - 1;
  }
  for (let at = 1; at < open.length; at++) {
    open[at] = (open[at] as number) + (open[at - 1] as number);
  }
  return open;
}

/**
 * The index at which the newest round starts: the last assistant message, or an earlier one with calls that
 * were answered after it. Returns the length if the newest user message has neither answers nor results after
 * it.
 */
function newestRound(items: readonly ContextItem[], open: Int32Array, user: number): number {
  let at = items.findLastIndex(({ message }) => message.role === "assistant");
  if (at < user && open[user] === 0) return items.length;
  while (at > 0 && open[at] !== 0) at--;
  return at < 0 ? items.length : at;
}

function newestUserMessage(items: readonly ContextItem[]): number {
  return items.findLastIndex(({ message }) => message.role === "user");
}

function itemCharacters(items: readonly ContextItem[], at: number): number {
  const item = items[at];
  return item === undefined ? 0 : messageCharacters(item.message);
}

/**
 * Keeps the newest user message and the items from an index on, with the views, observations and pins of
 * these.
 */
function cutContext(context: Context, from: number, user: number): Context {
  const { items, views, observations, pins } = context;
  const kept = items.slice(from);
  const isUserApart = user >= 0 && user < from;
  if (isUserApart) kept.unshift(items[user] as ContextItem);
  const keptIds = new Set(kept.map(({ entryId }) => entryId));
  const droppedIds = new Set(items.flatMap(({ entryId }) => (keptIds.has(entryId) ? [] : [entryId])));
  const first = isUserApart ? user + 1 : from;
  return {
    ...context,
    items: kept,
    views: views.flatMap((view) => {
      if (view.item < first) return [];
      return [{ ...view, item: Math.max(view.item - from, 0) + (isUserApart ? 1 : 0) }];
    }),
    ...(observations && {
      observations: observations.map((one) => {
        const item = Math.max(one.item - from, 0) + (isUserApart && one.item > user ? 1 : 0);
        return { ...one, item };
      }),
    }),
    pins: pins.filter((pin) => !droppedIds.has(pin)),
    usageSince: kept.length,
  };
}

/** The characters of an image in {@link windowContext}. */
export const imageCharacters = 2000;

type ContentBlock = TextBlock | ImageBlock | ThinkingBlock | ToolCall | OpaqueBlock;

/**
 * The characters of a message: the length of text, thinking and calls in UTF-16 code units, and {@link
 * imageCharacters} for each stored or inline image. Parts that models do not see count 0: signatures,
 * `details`, excluded commands.
 */
export function messageCharacters(message: ContextMessage): number {
  switch (message.role) {
    case "user":
    case "assistant":
    case "toolResult":
    case "custom":
      return contentCharacters(message.content);
    case "system": {
      let sum = contentCharacters(message.content);
      for (const section of Object.values(message.sections ?? {})) sum += section?.length ?? 0;
      return message.toolsAdded === undefined ? sum : sum + jsonCharacters(message.toolsAdded);
    }
    case "bashExecution":
      return message.excludeFromContext === true ? 0 : message.command.length + message.output.length;
    case "compactionSummary":
    case "branchSummary":
      return message.summary.length;
    default:
      return unreachable(message);
  }
}

function contentCharacters(content: string | readonly ContentBlock[]): number {
  if (typeof content === "string") return content.length;
  let sum = 0;
  for (const block of content) sum += blockCharacters(block);
  return sum;
}

function blockCharacters(block: ContentBlock): number {
  switch (block.type) {
    case "text":
      return block.resource?.kind === "image" ? imageCharacters : block.text.length;
    case "image":
      return imageCharacters;
    case "thinking":
      return block.thinking.length;
    case "toolCall":
      return block.name.length + jsonCharacters(block.arguments);
    case "opaque": {
      const attached = blockAttachments(block);
      const data = attached.length === 0 ? block.data : withReferences(block.data, () => "");
      return attached.reduce((sum, each) => sum + blockCharacters(each), jsonCharacters(data));
    }
    default:
      return unreachable(block);
  }
}

function jsonCharacters(value: unknown): number {
  let sum = 0;
  for (const piece of jsonPieces(value)) sum += piece.length;
  return sum;
}
