/** The path to export: updates applied, edits carried out. */

import type { ContextItem } from "../content/index.js";
import { buildSessionContext, type SessionEntry, SessionTree, type UnknownEntry } from "../session/index.js";

/** An entry as it is read. */
export type AnyEntry = SessionEntry | UnknownEntry;

/** The result of {@link editedPath}. */
export interface EditedPath {
  /** An update, an edit, an unknown entry and a removed message are a custom entry, which keeps the id. */
  readonly path: readonly SessionEntry[];
  /** The ids of entries that an edit changed or removed, and of results that lost their calls. */
  readonly edited: readonly string[];
}

/** The custom type in place of an entry that is left out: other entries may name its id. */
export const removedType = "sessile.removed";

/** The custom entry in place of an entry. */
export function entryPlaceholder({ id, parentId, timestamp }: AnyEntry): SessionEntry {
  return { type: "custom", id, parentId, timestamp, customType: removedType };
}

/**
 * Carries out the updates and edits of a path, as they are in force at its end. A compaction that an edit
 * removes has an empty summary.
 */
export function editedPath(path: readonly AnyEntry[]): EditedPath {
  const items = itemsById(path);
  const removed = new Set<string>();
  for (const entry of path) {
    if (entry.type !== "context_edit") continue;
    if (entry.replacement === null) removed.add(entry.targetId);
    else removed.delete(entry.targetId);
  }
  const out: SessionEntry[] = [];
  const edited: string[] = [];
  for (const entry of path) {
    if (entry.type === "unknown" || isChange(entry)) {
      out.push(entryPlaceholder(entry));
      continue;
    }
    if (entry.type === "compaction" && removed.has(entry.id)) {
      edited.push(entry.id);
      out.push({ ...entry, summary: "" });
      continue;
    }
    if (entry.type !== "message" && entry.type !== "custom_message" && entry.type !== "branch_summary") {
      out.push(entry);
      continue;
    }
    const item = items.get(entry.id);
    if (item === undefined) {
      if (entry.type !== "branch_summary" || entry.summary !== "") edited.push(entry.id);
      out.push(entryPlaceholder(entry));
      continue;
    }
    if (item.edited === true) edited.push(entry.id);
    out.push(withItem(entry, item));
  }
  return { path: out, edited };
}

/** An entry that changes an earlier one. */
export type ChangeEntry = SessionEntry & {
  readonly type: "context_edit" | "message_update" | "part_update";
};

export function isChange(entry: AnyEntry): entry is ChangeEntry {
  const { type } = entry;
  return type === "context_edit" || type === "message_update" || type === "part_update";
}

/** An entry as the later entries that change it leave it, without the rest of the path. */
export function editedEntry(entry: AnyEntry, changes: readonly AnyEntry[]): SessionEntry {
  let last: string | null = null;
  const chain = [entry, ...changes].map((each): AnyEntry => {
    const parentId = last;
    last = each.id;
    return { ...each, parentId };
  });
  const [edited] = editedPath(chain).path as readonly [SessionEntry];
  return { ...edited, parentId: entry.parentId };
}

/**
 * The items of the path as if nothing of it was compacted: each message as updates and edits left it. Those
 * that the context shows are as it has them: after a compaction an edit of a call takes other results with
 * it.
 */
function itemsById(path: readonly AnyEntry[]): ReadonlyMap<string, ContextItem> {
  const whole = path.map((entry) => (entry.type === "compaction" ? entryPlaceholder(entry) : entry));
  const items = new Map(itemsByPath(whole).map((item) => [item.entryId, item]));
  const isCompacted = path.some(({ type }) => type === "compaction");
  if (isCompacted && path.some(({ type }) => type === "context_edit"))
    for (const item of itemsByPath(path)) items.set(item.entryId, item);
  return items;
}

function itemsByPath(path: readonly AnyEntry[]): readonly ContextItem[] {
  const byId = new Map(path.map((entry) => [entry.id, entry]));
  const leafId = path.at(-1)?.id ?? null;
  return buildSessionContext({ tree: new SessionTree(path), leafId, entry: (id) => byId.get(id) }).items;
}

/** The entry with the message of its item. */
function withItem(
  entry: SessionEntry & { readonly type: "message" | "custom_message" | "branch_summary" },
  { message }: ContextItem,
): SessionEntry {
  if (entry.type === "message")
    return message === entry.message ? entry : ({ ...entry, message } as SessionEntry);
  if (entry.type === "custom_message" && message.role === "custom" && message.content !== entry.content)
    return { ...entry, content: message.content };
  return entry;
}
