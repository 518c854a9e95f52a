import type { EntryDraft, SessionEntry } from "./entries.js";

/** Whether a draft with an id is the entry that has it: then writing it again is a retry, and no second entry. */
export function isSameEntry(draft: EntryDraft, entry: SessionEntry): boolean {
  if (draft.type !== entry.type) return false;
  const { id: _draftId, ...wanted } = draft;
  const { id: _id, parentId: _parentId, timestamp: _timestamp, ...all } = entry;
  // A patch says only what it changes.
  const stored =
    draft.type === "session_info"
      ? Object.fromEntries(
          Object.keys(wanted).map((key) => [key, (all as Record<string, unknown>)[key] ?? null]),
        )
      : all;
  return JSON.stringify(sorted(wanted)) === JSON.stringify(sorted(stored));
}

/** The value with its keys in order, as a stored copy may have them in another. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      // An append leaves out `__proto__`.
      .filter(([key, member]) => member !== undefined && key !== "__proto__")
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sorted(member)]),
  );
}
