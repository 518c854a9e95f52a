import { SessileError } from "../errors/index.js";
import { describe } from "../internal/arguments.js";
import { isRecord } from "../internal/shape.js";
import type { EntryDraft, SessionEntry, SessionInfoFields } from "./entries.js";
import { isEntryType, references } from "./entry-types.js";
import { patchedInfo } from "./info.js";

/** Where a new entry goes. */
export interface EntryPlace {
  readonly id: string;
  readonly parentId: string | null;
  readonly timestamp: string;
}

/** The unchecked entry of a draft at a place. The parent of a leaf entry is its target. */
export function entryOf(draft: EntryDraft, place: EntryPlace, info: SessionInfoFields): SessionEntry {
  const { type } = draft;
  const { id, timestamp } = place;
  const parentId = draft.type === "leaf" ? draft.targetId : place.parentId;
  const own = draft.type === "session_info" ? patchedInfo(info, draft) : draft;
  // The canonical keys come first. Their values in the draft are overwritten: the draft may be an entry from
  // elsewhere.
  const entry: Record<string, unknown> = { type, id, parentId, timestamp, ...own };
  entry.id = id;
  entry.parentId = parentId;
  entry.timestamp = timestamp;
  return entry as unknown as SessionEntry;
}

/** Throws INVALID_ENTRY for a value that is no draft, and ENTRY_NOT_FOUND for a dangling reference. */
export function checkDraft(draft: EntryDraft, at: number, known: (id: string) => boolean): void {
  if (!isRecord(draft)) throw invalid(`drafts[${at}]`, "an entry draft", describe(draft));
  if (typeof draft.type !== "string" || !isEntryType(draft.type)) {
    const hint = ephemeralTypes.has(draft.type as string) ? "; this one is ephemeral: publish it" : "";
    throw invalid(`drafts[${at}].type`, `an entry type${hint}`, describe(draft.type));
  }
  if (draft.id !== undefined && (typeof draft.id !== "string" || draft.id === "")) {
    throw invalid(`drafts[${at}].id`, "a non-empty string", describe(draft.id));
  }
  const named = references(draft);
  if (named.length === 0) return;
  for (const [field, id] of named) {
    if (typeof id === "string" && id !== draft.id && !known(id)) {
      throw new SessileError(
        "ENTRY_NOT_FOUND",
        `drafts[${at}].${field}: no entry has the id ${JSON.stringify(id)}`,
        {
          details: { entryId: id },
        },
      );
    }
  }
}

/** Whether a draft refers to one of these ids, or has one itself: an idempotent retry. */
export function namesAny(draft: EntryDraft, ids: ReadonlySet<string>): boolean {
  if (draft.id !== undefined && ids.has(draft.id)) return true;
  return references(draft).some(([, id]) => typeof id === "string" && ids.has(id));
}

const ephemeralTypes: ReadonlySet<string> = new Set([
  "text_delta",
  "thinking_delta",
  "tool_state",
  "status",
  "compacting",
]);

function invalid(path: string, expected: string, got: string): SessileError<"INVALID_ENTRY"> {
  return new SessileError("INVALID_ENTRY", `${path}: expected ${expected}, got ${got}`, {
    details: { path, expected },
  });
}
