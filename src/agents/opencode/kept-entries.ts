/** The tail that a compaction keeps, repeated after the summary: opencode 1.1 and 1.2 know no tail. */

import type { SessionEntry } from "../../session/index.js";
import { entryRoles } from "../shared/entry-roles.js";

/**
 * The tail that a compaction keeps, for an import back: there a result directly follows its call, and an
 * unmapped entry is absent, so that the kept range begins at the next other one.
 */
export function keptAnnotation(
  path: readonly SessionEntry[],
  indexes: ReadonlyMap<string, number>,
  { id, firstKeptEntryId, retain = [] }: SessionEntry & { readonly type: "compaction" },
  written: ReadonlySet<string>,
): { readonly firstKept: string; readonly retain?: readonly string[] } {
  const end = indexes.get(id) ?? 0;
  const results: string[] = [];
  let firstKept = id;
  for (let at = indexes.get(firstKeptEntryId) ?? end; at < end; at++) {
    const entry = path[at] as SessionEntry;
    const isResult = entry.type === "message" && entry.message.role === "toolResult";
    if (isResult) results.push(entry.id);
    else if (written.has(entry.id) && isKept(entry)) {
      firstKept = entry.id;
      break;
    }
  }
  const all = [...retain, ...results];
  return { firstKept, ...(all.length === 0 ? {} : { retain: all }) };
}

/** Empty messages, and stopped replies of reasoning alone, are written, and no messages of an import. */
function isKept(entry: SessionEntry): boolean {
  if (entry.type === "message" && entry.message.role === "user" && entry.message.content.length === 0)
    return false;
  if (entry.type !== "message" || entry.message.role !== "assistant") return entry.type !== "compaction";
  const { content, stopReason } = entry.message;
  return content.some(
    (block) =>
      block.type === "toolCall" ||
      (block.type === "text" && block.text !== "") ||
      (block.type === "thinking" && block.thinking !== "" && stopReason !== "aborted"),
  );
}

/** The entries before a compaction that it keeps, in the order of the context. */
export function keptEntries(entries: readonly SessionEntry[], index: number): readonly SessionEntry[] {
  const compaction = entries[index];
  if (compaction?.type !== "compaction") return [];
  const before = entries.slice(0, index).filter(({ type }) => type !== "compaction" && type !== "custom");
  const byId = new Map(before.map((entry) => [entry.id, entry]));
  const retained = new Set(compaction.retain ?? []);
  const first = entries.findIndex(({ id }) => id === compaction.firstKeptEntryId);
  const tail = first < 0 ? [] : entries.slice(first, index).filter(({ id }) => byId.has(id));
  const shown = [
    ...[...retained].flatMap((id) => byId.get(id) ?? []),
    ...tail.filter(({ id }) => !retained.has(id)),
  ];
  return shown.filter(({ type }) => entryRoles[type] === "message");
}
