/** Turns entries into items of a context, and applies updates, edits and retention. */

import { type ContextItem, type ContextMessage, type Message, toolCalls } from "../../content/index.js";
import { grownPrefix } from "../../content/internal.js";
import type { EntryMap, SessionEntry, UnknownEntry } from "../../log/internal.js";
import { messageProblem, normalizeContent } from "../../log/internal.js";

/** The entries that a context consists of. */
export interface ItemParts {
  /** In path order; undefined for an unreadable body. */
  readonly needed: readonly (SessionEntry | UnknownEntry | undefined)[];
  /** The number of needed entries before the compaction. */
  readonly beforeCompaction: number;
  /** Ids that the compaction retains, in the order of display. */
  readonly retained: ReadonlySet<string>;
  /** In path order. */
  readonly edits: readonly (SessionEntry | UnknownEntry | undefined)[];
  readonly compaction: (SessionEntry & { readonly type: "compaction" }) | undefined;
  /**
   * Ids of results whose calls were removed from messages that are not shown; see {@link
   * resultsOfRemovedCalls}.
   */
  readonly lost?: ReadonlySet<string>;
}

/** The latest edit of each edited entry. */
export function latestEdits(entries: ItemParts["edits"]): ReadonlyMap<string, Replacement> {
  const edits = new Map<string, Replacement>();
  for (const entry of entries)
    if (entry?.type === "context_edit") edits.set(entry.targetId, entry.replacement);
  return edits;
}

/** Updates of messages and of their blocks, in path order, by the id of their target. */
export type MessageUpdates = ReadonlyMap<string, readonly Update[]>;

type Update = SessionEntry & { readonly type: "message_update" | "part_update" };

/** Groups the updates among entries. */
export function entryUpdates(entries: ItemParts["edits"]): MessageUpdates {
  const updates = new Map<string, Update[]>();
  for (const entry of entries) {
    if (entry?.type !== "message_update" && entry?.type !== "part_update") continue;
    const known = updates.get(entry.targetId);
    if (known === undefined) updates.set(entry.targetId, [entry]);
    else known.push(entry);
  }
  return updates;
}

/** Applies the updates of an entry. An update that results in an invalid message is ignored. */
export function applyUpdates(
  entry: SessionEntry | UnknownEntry | undefined,
  updates: MessageUpdates,
): SessionEntry | UnknownEntry | undefined {
  if (entry?.type !== "message" || updates.size === 0) return entry;
  let { message } = entry;
  for (const update of updates.get(entry.id) ?? []) {
    const next = update.type === "message_update" ? update.message : withPart(message, update);
    if (next.role === message.role && messageProblem(next) === undefined)
      message = withPrefixOf(message, next);
  }
  return message === entry.message ? entry : { ...entry, message };
}

/** A reply keeps the digest of its request; that of its content goes on if the update only adds, as a stream does. */
function withPrefixOf(message: Message, next: Message): Message {
  if (message.role !== "assistant" || next.role !== "assistant") return next;
  const { prefix } = message;
  if (prefix === undefined || (next.prefix ?? prefix) !== prefix) return next;
  return { ...next, prefix: grownPrefix(message, next, prefix) };
}

function withPart(message: Message, { index, part }: Update & { readonly type: "part_update" }): Message {
  if (!("content" in message) || message.role === "system") return message;
  const { role, content } = message;
  const blocks: unknown[] = typeof content === "string" ? [{ type: "text", text: content }] : [...content];
  if (!Number.isInteger(index) || index < 0 || index > blocks.length) return message;
  blocks[index] = part;
  return { ...message, content: normalizeContent(role, blocks) } as Message;
}

/** Whether a result before the compaction has no call in the shown messages before it. */
export function hasResultWithoutCall({
  needed,
  beforeCompaction,
}: Pick<ItemParts, "needed" | "beforeCompaction">): boolean {
  const called = new Set<string>();
  for (let at = 0; at < beforeCompaction; at++) {
    const entry = needed[at];
    if (entry?.type !== "message") continue;
    const { message } = entry;
    if (message.role === "assistant") for (const { id } of toolCalls(message)) called.add(id);
    else if (message.role === "toolResult" && !called.has(message.toolCallId)) return true;
  }
  return false;
}

/**
 * The ids of results whose call no shown message before them has, because an edit removed it from a message
 * that is not shown.
 *
 * @param entries in path order: the shown entries, and the edited messages that are not shown
 * @param isShown whether an entry is in the context
 */
export function resultsOfRemovedCalls(
  entries: ItemParts["needed"],
  edits: ReadonlyMap<string, Replacement>,
  isShown: (id: string) => boolean,
): ReadonlySet<string> {
  const called = new Set<string>();
  const lostCalls = new Set<string>();
  const lost = new Set<string>();
  for (const entry of entries) {
    if (entry?.type !== "message") continue;
    const { message } = entry;
    if (message.role === "toolResult") {
      const { toolCallId } = message;
      if (lostCalls.has(toolCallId) && !called.has(toolCallId)) lost.add(entry.id);
    }
    if (message.role !== "assistant") continue;
    const now = applyEdit(entryItem(entry, new Set()) as ContextItem, edits.get(entry.id))?.message;
    if (!isShown(entry.id)) trackDroppedCalls(lostCalls, message, now);
    else {
      // Calls before and after the edit: assembleItems omits the results of calls that it removed.
      const calls =
        now?.role === "assistant" ? [...toolCalls(message), ...toolCalls(now)] : toolCalls(message);
      for (const { id } of calls) called.add(id);
    }
  }
  return lost;
}

export type Replacement = EntryMap["context_edit"]["replacement"];

/**
 * Assembles the items: system message, summary, retained items, then the kept range, each with its latest
 * edit. Retained items are reordered last, because the pairing of results with calls depends on the path.
 */
export function assembleItems(parts: ItemParts): readonly ContextItem[] {
  const { compaction, needed, retained } = parts;
  const edits = latestEdits(parts.edits);
  const head: ContextItem[] = [];
  if (compaction !== undefined && edits.get(compaction.id) !== null) {
    const { id: entryId, systemMessage, summary, tokensBefore, details } = compaction;
    if (systemMessage !== undefined) head.push({ entryId, origin: "system", message: systemMessage });
    const timestamp = timestampMilliseconds(compaction.timestamp);
    const message: ContextMessage = {
      role: "compactionSummary",
      summary,
      tokensBefore,
      ...readDetails(details),
      timestamp,
    };
    head.push({ entryId, origin: "summary", message });
  }
  const items: ContextItem[] = [];
  const droppedCalls = new Set<string>();
  for (let i = 0; i < needed.length; i++) {
    const entry = needed[i];
    const item = entry && entryItem(entry, retained);
    if (entry === undefined || item === undefined) continue;
    const { role } = item.message;
    // The system message of the compaction includes those before it.
    if (role === "system" && i < parts.beforeCompaction && compaction?.systemMessage !== undefined) continue;
    if (parts.lost?.has(entry.id)) continue;
    if (edits.size === 0) {
      items.push(item);
      continue;
    }
    const edited = applyEdit(item, edits.get(entry.id));
    trackDroppedCalls(droppedCalls, item.message, edited?.message);
    if (edited === undefined) continue;
    // The result of a removed call is omitted too.
    if (edited.message.role === "toolResult" && droppedCalls.has(edited.message.toolCallId)) continue;
    items.push(edited);
  }
  return [...head, ...retainedFirst(items, retained)];
}

/** Whether an edit removed a call, whose result may be appended later. */
export function hasRemovedCall(needed: ItemParts["needed"], items: readonly ContextItem[]): boolean {
  const shown = new Map(items.map((item) => [item.entryId, item.message]));
  return needed.some((entry) => {
    if (entry?.type !== "message" || entry.message.role !== "assistant") return false;
    const now = shown.get(entry.id);
    if (now === entry.message) return false;
    const kept = new Set(now?.role === "assistant" ? toolCalls(now).map(({ id }) => id) : []);
    return toolCalls(entry.message).some(({ id }) => !kept.has(id));
  });
}

function retainedFirst(items: readonly ContextItem[], retained: ReadonlySet<string>): readonly ContextItem[] {
  if (retained.size === 0) return items;
  const byId = new Map(items.map((item) => [item.entryId, item]));
  const first = Array.from(retained).flatMap((id) => byId.get(id) ?? []);
  return [...first, ...items.filter(({ entryId }) => !retained.has(entryId))];
}

/** The item of an entry; undefined for an entry that is not in contexts. */
export function entryItem(
  entry: SessionEntry | UnknownEntry,
  retained: ReadonlySet<string>,
): ContextItem | undefined {
  const origin = retained.size > 0 && retained.has(entry.id) ? "retained" : undefined;
  switch (entry.type) {
    case "message":
      return { entryId: entry.id, origin: origin ?? "message", message: entry.message };
    case "custom_message": {
      const { customType, content, display, details } = entry;
      const timestamp = timestampMilliseconds(entry.timestamp);
      const message: ContextMessage = {
        role: "custom",
        customType,
        content,
        display,
        ...readDetails(details),
        timestamp,
      };
      return { entryId: entry.id, origin: origin ?? "custom", message };
    }
    case "branch_summary": {
      if (entry.summary === "") return undefined;
      const { summary, fromId, details } = entry;
      const timestamp = timestampMilliseconds(entry.timestamp);
      const message: ContextMessage = {
        role: "branchSummary",
        summary,
        fromId,
        ...readDetails(details),
        timestamp,
      };
      return { entryId: entry.id, origin: origin ?? "branchSummary", message };
    }
    default:
      return undefined;
  }
}

/** Applies an edit. Returns undefined if the edit removes the item. */
export function applyEdit(item: ContextItem, replacement: Replacement | undefined): ContextItem | undefined {
  if (replacement === undefined) return item;
  if (replacement === null) return undefined;
  const { message } = item;
  switch (message.role) {
    case "user":
    case "assistant":
    case "toolResult":
    case "custom": {
      const edited = { ...message, content: normalizeContent(message.role, replacement.content) };
      // An edit that results in an invalid message is ignored.
      if (messageProblem(edited) !== undefined) return item;
      return { ...item, message: edited as ContextMessage, edited: true };
    }
    default:
      return item;
  }
}

function trackDroppedCalls(
  dropped: Set<string>,
  before: ContextMessage,
  after: ContextMessage | undefined,
): void {
  if (before.role !== "assistant") return;
  const kept = new Set(after?.role === "assistant" ? toolCalls(after).map((call) => call.id) : []);
  for (const { id } of toolCalls(before)) {
    if (kept.has(id)) dropped.delete(id);
    else dropped.add(id);
  }
  for (const id of kept) dropped.delete(id);
}

function readDetails(details: unknown): { readonly details?: unknown } {
  return details === undefined ? {} : { details };
}

function timestampMilliseconds(timestamp: string): number {
  const time = Date.parse(timestamp);
  return Number.isNaN(time) ? 0 : time;
}
