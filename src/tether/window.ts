import {
  type Context,
  type ContextItem,
  type ContextMessage,
  type ImageBlock,
  type OpaqueBlock,
  type TextBlock,
  type ThinkingBlock,
  type ToolCall,
  type ToolPair,
  toolPairs,
} from "../content/index.js";
import { integerArgument } from "../internal/arguments.js";
import { jsonPieces } from "../internal/json-pieces.js";
import { unreachable } from "../internal/unreachable.js";

/**
 * The newest part of a context that a number of characters holds: text by its length, an image by {@link imageCharacters}. Of
 * what is kept, the oldest items go until it begins with something a model can be given first: no tool results, no calls
 * without all of theirs, and no results whose calls are gone.
 *
 * Two things stay even over the limit, since without them a model could do nothing, or the same again: the newest user message,
 * and behind it the newest round of the model's calls and their results, whole. Between the two earlier rounds of
 * the turn may be left out. All else is a suffix of the context: system messages and the summary of a compaction are the oldest
 * items, and go as others do, so that instructions which have to stay belong outside the session, and where a session is
 * compacted a window is of no use. Pins hold nothing here. The usage that messages report is of a longer context, and
 * `usageSince` says so. A context that fits is given back as it is.
 *
 * @param maxCharacters at least 0
 * @throws RangeError for a number of characters that is none
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

/** Where the window begins, the newest user message before it aside. */
function windowStart(items: readonly ContextItem[], maxCharacters: number): number {
  const { pairs } = toolPairs(items.map(({ message }) => message));
  const crossing = crossingPairs(items.length, pairs);
  const user = newestUserMessage(items);
  const latest = newestRound(items, crossing, user);
  let left = maxCharacters - charactersAt(items, user);
  let from = items.length;
  while (from > 0) {
    if (from - 1 !== user) left -= charactersAt(items, from - 1);
    if (left < 0) break;
    from--;
  }
  const waiting = new Set(pairs.flatMap(({ callAt, result }) => (result === undefined ? [callAt] : [])));
  const mayBegin = (at: number) =>
    crossing[at] === 0 && items[at]?.message.role !== "toolResult" && !waiting.has(at);
  while (from < latest && !mayBegin(from)) from++;
  from = Math.min(from, latest);
  return user >= 0 && from === user + 1 ? user : from;
}

/** For each place, how many calls stand before it whose results do not. */
function crossingPairs(length: number, pairs: readonly ToolPair[]): Int32Array {
  const crossing = new Int32Array(length + 2);
  for (const { callAt, resultAt } of pairs) {
    if (resultAt === undefined) continue;
    crossing[callAt + 1] = (crossing[callAt + 1] as number) + 1;
    crossing[resultAt + 1] = (crossing[resultAt + 1] as number) - 1;
  }
  for (let at = 1; at < crossing.length; at++) {
    crossing[at] = (crossing[at] as number) + (crossing[at - 1] as number);
  }
  return crossing;
}

/**
 * Where the newest round begins: what the model said last, with calls before it that were answered later. The length where it
 * has said nothing since the user did, and nothing that it had called came since.
 */
function newestRound(items: readonly ContextItem[], crossing: Int32Array, user: number): number {
  let at = items.findLastIndex(({ message }) => message.role === "assistant");
  if (at < user && crossing[user] === 0) return items.length;
  while (at > 0 && crossing[at] !== 0) at--;
  return at < 0 ? items.length : at;
}

function newestUserMessage(items: readonly ContextItem[]): number {
  return items.findLastIndex(({ message }) => message.role === "user");
}

function charactersAt(items: readonly ContextItem[], at: number): number {
  const item = items[at];
  return item === undefined ? 0 : messageCharacters(item.message);
}

/** The items from a place on, behind the newest user message, and of the rest what still concerns them. */
function cutContext(context: Context, from: number, user: number): Context {
  const { items, views, observations, pins } = context;
  const kept = items.slice(from);
  const isApart = user >= 0 && user < from;
  if (isApart) kept.unshift(items[user] as ContextItem);
  const staying = new Set(kept.map(({ entryId }) => entryId));
  const gone = new Set(items.flatMap(({ entryId }) => (staying.has(entryId) ? [] : [entryId])));
  const first = isApart ? user + 1 : from;
  return {
    ...context,
    items: kept,
    views: views.flatMap((view) => {
      if (view.item < first) return [];
      return [{ ...view, item: Math.max(view.item - from, 0) + (isApart ? 1 : 0) }];
    }),
    ...(observations && {
      observations: observations.map((one) => {
        const item = Math.max(one.item - from, 0) + (isApart && one.item > user ? 1 : 0);
        return { ...one, item };
      }),
    }),
    pins: pins.filter((pin) => !gone.has(pin)),
    usageSince: kept.length,
  };
}

/** What an image counts for in {@link windowContext}, in characters. */
export const imageCharacters = 2000;

type Block = TextBlock | ImageBlock | ThinkingBlock | ToolCall | OpaqueBlock;

/**
 * What a message counts for: its text, thinking and calls by their length in UTF-16 code units, an image, stored or inline, by a
 * fixed cost. What no model is shown counts nothing: signatures, details for programs, commands that are excluded.
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

function contentCharacters(content: string | readonly Block[]): number {
  if (typeof content === "string") return content.length;
  let sum = 0;
  for (const block of content) sum += blockCharacters(block);
  return sum;
}

function blockCharacters(block: Block): number {
  switch (block.type) {
    case "text":
      return block.resource?.kind === "image" ? imageCharacters : block.text.length;
    case "image":
      return imageCharacters;
    case "thinking":
      return block.thinking.length;
    case "toolCall":
      return block.name.length + jsonCharacters(block.arguments);
    case "opaque":
      return jsonCharacters(block.data);
    default:
      return unreachable(block);
  }
}

function jsonCharacters(value: unknown): number {
  let sum = 0;
  for (const piece of jsonPieces(value)) sum += piece.length;
  return sum;
}
