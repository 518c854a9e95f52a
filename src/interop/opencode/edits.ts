/** Edits of the context, carried out on the entries that they name. */

import { toolCalls } from "../../content/index.js";
import type { EntryMap, SessionEntry } from "../../session/index.js";
import { entryProblem } from "../../session/internal.js";
import type { WriteSource } from "../types.js";

type Replacement = EntryMap["context_edit"]["replacement"];

/** The text in place of a pruned output, here and in opencode. */
const prunedText = "[Old tool result content cleared]";

/** Entries whose output is pruned, with the time: opencode keeps such an output, and does not send it. */
export const prunedAt = new WeakMap<SessionEntry, string>();

/** The entries of the path as the context shows them: without omitted ones and those that belong to them. */
export function editedEntries(source: WriteSource): readonly SessionEntry[] {
  const edits = new Map<string, SessionEntry & { readonly type: "context_edit" }>();
  for (const entry of source.path) if (entry.type === "context_edit") edits.set(entry.targetId, entry);
  if (edits.size === 0) return source.path;
  const dropped = new Set<string>();
  return source.path.flatMap((entry) => {
    const edit = edits.get(entry.id);
    const edited = edit === undefined ? entry : editedEntry(entry, edit);
    if (edit !== undefined && edited !== entry && !(edited && prunedAt.has(edited)))
      source.find({ code: "edited", entryId: entry.id, text: "a context_edit is carried out" });
    if (entry.type === "message" && entry.message.role === "assistant") {
      const isOpen = edited?.type === "message" && edited.message.role === "assistant";
      const left = new Set(isOpen ? toolCalls(edited.message).map(({ id }) => id) : []);
      for (const { id } of toolCalls(entry.message)) {
        if (left.has(id)) dropped.delete(id);
        else dropped.add(id);
      }
    }
    const isResult = entry.type === "message" && entry.message.role === "toolResult";
    if (isResult && dropped.has(entry.message.toolCallId)) return [];
    return edited === undefined ? [] : [edited];
  });
}

function editedEntry(
  entry: SessionEntry,
  { replacement, timestamp }: { readonly replacement: Replacement; readonly timestamp: string },
): SessionEntry | undefined {
  // Without its summary a compaction still hides all entries before it.
  if (replacement === null) return entry.type === "compaction" ? { ...entry, summary: "" } : undefined;
  const { content } = replacement;
  if (entry.type === "custom_message") return validOr(entry, { ...entry, content } as SessionEntry);
  if (entry.type !== "message") return entry;
  const { role } = entry.message;
  if (role === "toolResult" && isPruned(content)) {
    const pruned = { ...entry };
    prunedAt.set(pruned, timestamp);
    return pruned;
  }
  const isText = typeof content === "string" && (role === "assistant" || role === "toolResult");
  if (role !== "user" && role !== "assistant" && role !== "toolResult" && role !== "custom") return entry;
  const blocks = isText ? [{ type: "text", text: content }] : content;
  return validOr(entry, { ...entry, message: { ...entry.message, content: blocks } } as SessionEntry);
}

/** The edited entry, or the entry itself if the edit has blocks of another role. */
function validOr(entry: SessionEntry, edited: SessionEntry): SessionEntry {
  return entryProblem(edited) === undefined ? edited : entry;
}

function isPruned(content: string | readonly unknown[]): boolean {
  if (typeof content === "string") return content === prunedText;
  const [only] = content as readonly { readonly text?: unknown }[];
  return content.length === 1 && only?.text === prunedText;
}
