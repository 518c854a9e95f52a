import type {
  AssistantMessage,
  Context,
  ContextItem,
  ContextMessage,
  EntryMap,
  Message,
  SessionEntry,
} from "sessile";
import { sessionEntrySchema } from "sessile/schema";
import { pathTo } from "../../arbitraries/conversations.js";
import type { AnyEntry } from "../../arbitraries/entries.js";

/**
 * The context at a leaf as docs/reference/format.md words it, one sentence after the other, each by looking through the whole
 * path again.
 */
export function naiveContext(entries: readonly AnyEntry[], leafId: string | null): Context {
  const stored = pathTo(entries, leafId);
  const path = withUpdates(stored);
  const compaction = path.filter((entry) => entry.type === "compaction").at(-1);
  const compactionAt = compaction === undefined ? -1 : path.indexOf(compaction);
  const start = compaction === undefined ? 0 : firstKept(path, compaction, compactionAt);
  const retain = compaction?.retain ?? [];
  const shown = path.flatMap((entry, at) => {
    if (at < compactionAt && retain.includes(entry.id))
      return itemsOf(entry, true, compaction).map((item) => ({ ...item, origin: "retained" as const }));
    return at >= start ? itemsOf(entry, at < compactionAt, compaction) : [];
  });
  const summary = compaction === undefined ? [] : summaryOf(path, compaction);
  const inPathOrder = edited(path, shown).filter((item) => {
    const at = path.findIndex(({ id }) => id === item.entryId);
    return at > compactionAt || !wentBeforeCompaction(path.slice(0, at), shown, path, item);
  });
  const retained = retain
    .filter((id, at) => retain.indexOf(id) === at)
    .flatMap((id) => inPathOrder.filter(({ entryId, origin }) => entryId === id && origin === "retained"));
  const tail = inPathOrder.filter(({ origin }) => origin !== "retained");
  const first = [...summary, ...retained];
  const changedAt = path.findLastIndex(({ type }) =>
    ["compaction", "context_edit", "message_update", "part_update"].includes(type),
  );
  const isBefore = (id: string, at: number) => path.findIndex((entry) => entry.id === id) < at;
  const observations = path.flatMap((entry, at) => {
    if (entry.type !== "resource_observation") return [];
    const before = tail.filter(({ entryId }) => isBefore(entryId, at));
    const item = at < start ? 0 : first.length + before.length;
    return [{ entryId: entry.id, resourceId: entry.resourceId, item, text: entry.text }];
  });
  return {
    ...(observations.length === 0 ? {} : { observations }),
    items: [...first, ...tail],
    views: path.flatMap((entry, at) => {
      if (at < start || entry.type !== "resource_view") return [];
      const before = tail.filter(({ entryId }) => isBefore(entryId, at));
      return [{ entryId: entry.id, resourceId: entry.resourceId, item: first.length + before.length }];
    }),
    pins: path.filter((entry) => isPinned(path, entry.id)).map((entry) => entry.id),
    // Who replied is what the reply says as it is stored.
    model: stored.reduce(modelAfter, null),
    thinkingLevel: path.reduce(
      (level, entry) => (entry.type === "thinking_level_change" ? entry.thinkingLevel : level),
      "off",
    ),
    usageSince: [...first, ...tail].filter(({ entryId }) => isBefore(entryId, changedAt + 1)).length,
  };
}

/** Each message as the updates on the path leave it, one after the other; one that makes no message of its role is passed over. */
function withUpdates(path: readonly AnyEntry[]): readonly AnyEntry[] {
  return path.map((entry) => {
    let now = entry;
    for (const update of path) {
      if (now.type !== "message" || !("targetId" in update) || update.targetId !== entry.id) continue;
      let { message } = now;
      if (update.type === "message_update") message = update.message;
      if (update.type === "part_update") message = withBlock(message, update.index, update.part);
      const next: AnyEntry = { ...now, message };
      if (message.role === now.message.role && sessionEntrySchema.safeParse(next).success) now = next;
    }
    return now;
  });
}

function withBlock(message: Message, index: number, part: { readonly type: string }): Message {
  if (!("content" in message)) return message;
  const { content } = message;
  const blocks: readonly unknown[] =
    typeof content === "string" ? [{ type: "text", text: content }] : content;
  if (index > blocks.length) return message;
  const next = [...blocks.slice(0, index), part, ...blocks.slice(index + 1)];
  const item = withContent({ entryId: "", origin: "message", message } as ContextItem, next);
  return item.message as Message;
}

type Compaction = SessionEntry & { readonly type: "compaction" };

/** An unmatched id, and the compaction's own, keep nothing before it. */
function firstKept(path: readonly AnyEntry[], compaction: Compaction, compactionAt: number): number {
  const at = path.findIndex((entry) => entry.id === compaction.firstKeptEntryId);
  return at >= 0 && at < compactionAt ? at : compactionAt;
}

function summaryOf(path: readonly AnyEntry[], compaction: Compaction): readonly ContextItem[] {
  if (replacementOf(path, compaction.id) === null) return [];
  const { id: entryId, summary, tokensBefore, systemMessage, ...more } = compaction;
  const timestamp = Date.parse(compaction.timestamp) || 0;
  const details = "details" in more ? { details: more.details } : {};
  const message = { role: "compactionSummary", summary, tokensBefore, ...details, timestamp } as const;
  return [
    ...(systemMessage === undefined ? [] : [{ entryId, origin: "system", message: systemMessage } as const]),
    { entryId, origin: "summary", message },
  ];
}

function itemsOf(
  entry: AnyEntry,
  isBefore: boolean,
  compaction: Compaction | undefined,
): readonly ContextItem[] {
  const entryId = entry.id;
  if (entry.type === "message") {
    const { message } = entry;
    const isPartOfOurs = message.role === "system" && isBefore && compaction?.systemMessage !== undefined;
    return isPartOfOurs ? [] : [{ entryId, origin: "message", message }];
  }
  const timestamp = Date.parse(entry.timestamp) || 0;
  if (entry.type === "custom_message") {
    const { type: _type, id: _id, parentId: _parentId, ...fields } = entry;
    return [{ entryId, origin: "custom", message: { ...fields, role: "custom", timestamp } }];
  }
  if (entry.type === "branch_summary" && entry.summary !== "") {
    const {
      type: _type,
      id: _id,
      parentId: _parentId,
      fromHook: _fromHook,
      usage: _usage,
      ...fields
    } = entry;
    return [{ entryId, origin: "branchSummary", message: { ...fields, role: "branchSummary", timestamp } }];
  }
  return [];
}

/** What the latest edit on the path puts in the place of an entry; undefined where none does. */
function replacementOf(
  path: readonly AnyEntry[],
  id: string,
): EntryMap["context_edit"]["replacement"] | undefined {
  const edits = path.filter((entry) => entry.type === "context_edit");
  return edits.findLast((entry) => entry.targetId === id)?.replacement;
}

function edited(path: readonly AnyEntry[], shown: readonly ContextItem[]): readonly ContextItem[] {
  const after = shown.map((item) => {
    const replacement = replacementOf(path, item.entryId);
    if (replacement === null) return undefined;
    return replacement === undefined ? item : withContent(item, replacement.content);
  });
  return after.filter(
    (item, at) => item !== undefined && !wentWithItsCall(shown, after, at),
  ) as ContextItem[];
}

/** Whether the nearest assistant message above that had the call of this result, before or after its edit, has lost it. */
function wentWithItsCall(
  before: readonly ContextItem[],
  after: readonly (ContextItem | undefined)[],
  at: number,
): boolean {
  const { message } = before[at] as ContextItem;
  if (message.role !== "toolResult") return false;
  const hasCall = (item: ContextItem | undefined) =>
    item?.message.role === "assistant" &&
    item.message.content.some((block) => block.type === "toolCall" && block.id === message.toolCallId);
  for (let above = at - 1; above >= 0; above--) {
    if (hasCall(after[above])) return false;
    if (hasCall(before[above])) return true;
  }
  return false;
}

/** Whether no shown message above has the call of this result, and the last edited one above that had it has lost it. */
function wentBeforeCompaction(
  above: readonly AnyEntry[],
  shown: readonly ContextItem[],
  path: readonly AnyEntry[],
  { message: result }: ContextItem,
): boolean {
  if (result.role !== "toolResult") return false;
  const hasCall = (content: unknown) =>
    Array.isArray(content) &&
    content.some((block) => block?.type === "toolCall" && block.id === result.toolCallId);
  const isShown = (entry: AnyEntry) => shown.some(({ entryId }) => entryId === entry.id);
  const edited = (entry: AnyEntry): unknown => {
    const replacement = replacementOf(path, entry.id);
    const [item] = itemsOf(entry, true, undefined);
    if (replacement === null || item === undefined) return [];
    const { message } = withContent(item, replacement?.content ?? []);
    return "content" in message ? message.content : [];
  };
  const messages = above.filter((entry) => entry.type === "message" && entry.message.role === "assistant");
  const contentOf = (entry: AnyEntry): unknown =>
    entry.type === "message" && "content" in entry.message ? entry.message.content : [];
  if (messages.some((entry) => isShown(entry) && (hasCall(contentOf(entry)) || hasCall(edited(entry)))))
    return false;
  const last = messages.findLast(
    (entry) =>
      replacementOf(path, entry.id) !== undefined && (hasCall(contentOf(entry)) || hasCall(edited(entry))),
  );
  return last !== undefined && !isShown(last) && !hasCall(edited(last));
}

const blocksOf = {
  user: ["text", "image"],
  custom: ["text", "image"],
  toolResult: ["text", "image"],
  assistant: ["text", "thinking", "toolCall", "opaque"],
};

/** The item with other content; as it was where the role has none, or the content is none. */
function withContent(item: ContextItem, content: string | readonly unknown[]): ContextItem {
  const { message } = item;
  const { role } = message;
  if (role !== "user" && role !== "custom" && role !== "toolResult" && role !== "assistant") return item;
  const isList = role === "toolResult" || role === "assistant";
  if (typeof content === "string" && !isList) return change(item, content);
  const list = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const blocks = list.map((block) => {
    if (typeof block !== "object" || block === null || Array.isArray(block)) return undefined;
    const { type } = block as { readonly type?: unknown };
    if (blocksOf[role].includes(type as string)) return block;
    if (role === "assistant" && type === "image" && isOwnImage(block)) return block;
    if (role === "assistant") return { type: "opaque", data: block };
    return { type: "text", text: `[${String(type)} block that this version cannot read]` };
  });
  return blocks.includes(undefined) ? item : change(item, blocks);
}

/** Another writer's image in an assistant message may have another form. */
function isOwnImage(block: { readonly data?: unknown; readonly mimeType?: unknown }): boolean {
  return typeof block.data === "string" && typeof block.mimeType === "string";
}

function change(item: ContextItem, content: unknown): ContextItem {
  return { ...item, message: { ...item.message, content } as ContextMessage, edited: true };
}

function isPinned(path: readonly AnyEntry[], id: string): boolean {
  const latest = path.findLast((entry) => entry.type === "context_pin" && entry.targetId === id);
  return latest?.type === "context_pin" && latest.pinned;
}

function modelAfter(model: Context["model"], entry: AnyEntry): Context["model"] {
  if (entry.type === "model_change") return { provider: entry.provider, modelId: entry.modelId };
  if (entry.type !== "message" || entry.message.role !== "assistant") return model;
  const { provider, model: modelId }: AssistantMessage = entry.message;
  return { provider, modelId };
}
