import { type ContextItem, type ContextMessage, type Message, toolCalls } from "../../content/index.js";
import type { EntryMap, SessionEntry, UnknownEntry } from "../api/entries.js";
import { messageProblem, normalizeContent } from "../format/validate.js";

/** The bodies that a context is made of. */
export interface ItemParts {
  /** In path order; undefined where a body could not be read. */
  readonly needed: readonly (SessionEntry | UnknownEntry | undefined)[];
  /** How many of them stand before the compaction. */
  readonly beforeCompaction: number;
  /** Ids of those that the compaction lists, in the order in which they are shown. */
  readonly retained: ReadonlySet<string>;
  /** In path order. */
  readonly edits: readonly (SessionEntry | UnknownEntry | undefined)[];
  readonly compaction: (SessionEntry & { readonly type: "compaction" }) | undefined;
  /** Ids of results that went with their calls, out of messages which are not shown; see {@link resultsLost}. */
  readonly lost?: ReadonlySet<string>;
}

/** The latest edit of each entry that is edited. */
export function latestEdits(entries: ItemParts["edits"]): ReadonlyMap<string, Replacement> {
  const edits = new Map<string, Replacement>();
  for (const entry of entries)
    if (entry?.type === "context_edit") edits.set(entry.targetId, entry.replacement);
  return edits;
}

/** The updates of messages and of their blocks, in path order, by the entry that they are of. */
export type MessageUpdates = ReadonlyMap<string, readonly Update[]>;

type Update = SessionEntry & { readonly type: "message_update" | "part_update" };

/** The updates among entries. */
export function updatesOf(entries: ItemParts["edits"]): MessageUpdates {
  const updates = new Map<string, Update[]>();
  for (const entry of entries) {
    if (entry?.type !== "message_update" && entry?.type !== "part_update") continue;
    const known = updates.get(entry.targetId);
    if (known === undefined) updates.set(entry.targetId, [entry]);
    else known.push(entry);
  }
  return updates;
}

/** The entry as its updates leave it. One that makes no message of its role changes nothing. */
export function updated(
  entry: SessionEntry | UnknownEntry | undefined,
  updates: MessageUpdates,
): SessionEntry | UnknownEntry | undefined {
  if (entry?.type !== "message" || updates.size === 0) return entry;
  let { message } = entry;
  for (const update of updates.get(entry.id) ?? []) {
    const next = update.type === "message_update" ? update.message : withPart(message, update);
    if (next.role === message.role && messageProblem(next) === undefined) message = next;
  }
  return message === entry.message ? entry : { ...entry, message };
}

function withPart(message: Message, { index, part }: Update & { readonly type: "part_update" }): Message {
  if (!("content" in message) || message.role === "system") return message;
  const { role, content } = message;
  const blocks: unknown[] = typeof content === "string" ? [{ type: "text", text: content }] : [...content];
  if (!Number.isInteger(index) || index < 0 || index > blocks.length) return message;
  blocks[index] = part;
  return { ...message, content: normalizeContent(role, blocks) } as Message;
}

/** Whether a result before the compaction answers a call that no shown message before it has. */
export function hasStrayResult({
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
 * Ids of the results among entries, in path order, whose call no shown message above has, and the last edited one above that had
 * it has lost.
 *
 * @param isShown whether an entry is in the context; of the others only edited messages need to be there
 */
export function resultsLost(
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
    const now = applyEdit(itemOf(entry, new Set()) as ContextItem, edits.get(entry.id))?.message;
    if (!isShown(entry.id)) noteDroppedCalls(lostCalls, message, now);
    else {
      // As it is stored, and as an edit leaves it: what it lost itself takes its result along in any case.
      const calls =
        now?.role === "assistant" ? [...toolCalls(message), ...toolCalls(now)] : toolCalls(message);
      for (const { id } of calls) called.add(id);
    }
  }
  return lost;
}

type Replacement = EntryMap["context_edit"]["replacement"];

/**
 * System message, summary, what was retained, the tail; each with the latest edit of it applied. Which result goes with
 * which call is a matter of the path, so that what was retained is put in its own order last.
 */
export function assembleItems(parts: ItemParts): readonly ContextItem[] {
  const { compaction, needed, retained } = parts;
  const edits = latestEdits(parts.edits);
  const head: ContextItem[] = [];
  if (compaction !== undefined && edits.get(compaction.id) !== null) {
    const { id: entryId, systemMessage, summary, tokensBefore, details } = compaction;
    if (systemMessage !== undefined) head.push({ entryId, origin: "system", message: systemMessage });
    const timestamp = millisecondsOf(compaction.timestamp);
    const message: ContextMessage = {
      role: "compactionSummary",
      summary,
      tokensBefore,
      ...detailsOf(details),
      timestamp,
    };
    head.push({ entryId, origin: "summary", message });
  }
  const items: ContextItem[] = [];
  const droppedCalls = new Set<string>();
  for (let i = 0; i < needed.length; i++) {
    const entry = needed[i];
    const item = entry && itemOf(entry, retained);
    if (entry === undefined || item === undefined) continue;
    const { role } = item.message;
    // The compaction's own system message is what was in force there; the ones before it are part of that.
    if (role === "system" && i < parts.beforeCompaction && compaction?.systemMessage !== undefined) continue;
    if (parts.lost?.has(entry.id)) continue;
    if (edits.size === 0) {
      items.push(item);
      continue;
    }
    const edited = applyEdit(item, edits.get(entry.id));
    noteDroppedCalls(droppedCalls, item.message, edited?.message);
    if (edited === undefined) continue;
    // A call that was taken out takes its result with it.
    if (edited.message.role === "toolResult" && droppedCalls.has(edited.message.toolCallId)) continue;
    items.push(edited);
  }
  return [...head, ...retainedFirst(items, retained)];
}

/** Whether a call was taken out of its message: a result that comes later would go with it. */
export function hasLostCall(needed: ItemParts["needed"], items: readonly ContextItem[]): boolean {
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

/** The item that an entry is by itself; undefined for one that is not in contexts. */
export function itemOf(
  entry: SessionEntry | UnknownEntry,
  retained: ReadonlySet<string>,
): ContextItem | undefined {
  const origin = retained.size > 0 && retained.has(entry.id) ? "retained" : undefined;
  switch (entry.type) {
    case "message":
      return { entryId: entry.id, origin: origin ?? "message", message: entry.message };
    case "custom_message": {
      const { customType, content, display, details } = entry;
      const timestamp = millisecondsOf(entry.timestamp);
      const message: ContextMessage = {
        role: "custom",
        customType,
        content,
        display,
        ...detailsOf(details),
        timestamp,
      };
      return { entryId: entry.id, origin: origin ?? "custom", message };
    }
    case "branch_summary": {
      if (entry.summary === "") return undefined;
      const { summary, fromId, details } = entry;
      const timestamp = millisecondsOf(entry.timestamp);
      const message: ContextMessage = {
        role: "branchSummary",
        summary,
        fromId,
        ...detailsOf(details),
        timestamp,
      };
      return { entryId: entry.id, origin: origin ?? "branchSummary", message };
    }
    default:
      return undefined;
  }
}

/** The item as the edit leaves it; undefined where it is taken out. */
function applyEdit(item: ContextItem, replacement: Replacement | undefined): ContextItem | undefined {
  if (replacement === undefined) return item;
  if (replacement === null) return undefined;
  const { message } = item;
  switch (message.role) {
    case "user":
    case "assistant":
    case "toolResult":
    case "custom": {
      const edited = { ...message, content: normalizeContent(message.role, replacement.content) };
      // An edit that makes no message of its role is no reason to lose the message.
      if (messageProblem(edited) !== undefined) return item;
      return { ...item, message: edited as ContextMessage, edited: true };
    }
    default:
      return item;
  }
}

function noteDroppedCalls(
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

function detailsOf(details: unknown): { readonly details?: unknown } {
  return details === undefined ? {} : { details };
}

function millisecondsOf(timestamp: string): number {
  const time = Date.parse(timestamp);
  return Number.isNaN(time) ? 0 : time;
}
