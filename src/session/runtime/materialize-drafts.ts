import { SessileError } from "../../errors/index.js";
import { describe } from "../../internal/arguments.js";
import { copyJsonObject } from "../../internal/json.js";
import { isRecord } from "../../internal/shape.js";
import type { EntryDraft, SessionEntry, SessionInfoFields } from "../api/entries.js";
import { assertValidEntry, encodeValidLine } from "../format/encode.js";
import { isEntryType, references } from "../format/entry-types.js";
import { copyWithoutUnsafeKeys, unsafeKeyMessage } from "../format/line-json.js";
import { unsafeKeyExpected } from "../format/validate.js";
import { assertInline, hasInline } from "./recording.js";
import { patchedInfo } from "./session-info.js";
import type { SessionState } from "./session-state.js";

/** Drafts at the places that they take if all goes well. */
export interface Placed {
  /** One for each draft; undefined where an entry with the draft's id is there already. */
  readonly entries: (SessionEntry | undefined)[];
  /** The lines of `entries`. */
  readonly lines: (Uint8Array | undefined)[];
  /** What comes next follows it. */
  readonly leaf: string | null;
  /** Images have to go to the blob store before the lines of their entries are made. */
  readonly inline: boolean;
}

/** Makes entries of drafts: an id, a parent, a time, and the line. */
export class Placing {
  readonly #core: SessionState;
  /** Ids of entries that wait to be written. */
  readonly #waiting: ReadonlySet<string>;
  #stamp = { time: Number.NaN, text: "" };

  constructor(core: SessionState, waiting: ReadonlySet<string>) {
    this.#core = core;
    this.#waiting = waiting;
  }

  /**
   * Places drafts one after the other behind `leaf`. Throws on the first that cannot be written, here and not when it is
   * written, so that it fails alone. Staging cannot wait for a blob store.
   */
  place(drafts: readonly EntryDraft[], leaf: string | null, staging = false): Placed {
    const { settings, reader } = this.#core;
    const { recording } = settings;
    const stores = recording.blobs !== undefined;
    const batch = drafts.length > 1 ? new Set<string>() : undefined;
    const known = (id: string) => reader.tree.has(id) || this.#waiting.has(id) || batch?.has(id) === true;
    const timestamp = this.#timestamp();
    const entries: (SessionEntry | undefined)[] = [];
    let next = leaf;
    let inline = false;
    for (let at = 0; at < drafts.length; at++) {
      const draft = drafts[at] as EntryDraft;
      checkDraft(draft, at, known);
      if (draft.id !== undefined && known(draft.id)) {
        next = draft.id;
        entries.push(undefined);
        inline ||= stores && hasInline(draft);
        continue;
      }
      const id = draft.id ?? this.#newId(known);
      const entry = this.#checked(entryOf(draft, { id, parentId: next, timestamp }, reader.info));
      if (hasInline(entry)) {
        if (!stores || staging) assertInline(entry, at, recording, stores ? 0 : undefined);
        else inline = true;
      }
      batch?.add(id);
      next = entry.type === "leaf" ? entry.targetId : id;
      entries.push(entry);
    }
    const lines: (Uint8Array | undefined)[] = [];
    for (const entry of entries) {
      const waits = inline && entry !== undefined && hasInline(entry);
      lines.push(waits ? undefined : entry && this.encode(entry));
    }
    return { entries, lines, leaf: next, inline };
  }

  /**
   * Throws INVALID_ENTRY for an entry that cannot be written. A `__proto__` key, as a model may send in a call, is left out
   * and reported, as it is on reading.
   */
  #checked(entry: SessionEntry): SessionEntry {
    const { reader, settings } = this.#core;
    try {
      assertValidEntry(entry, settings.maxDepth);
      return entry;
    } catch (error) {
      if (!SessileError.is(error, "INVALID_ENTRY") || error.details.expected !== unsafeKeyExpected)
        throw error;
      const clean = copyWithoutUnsafeKeys(entry, settings.maxDepth);
      assertValidEntry(clean, settings.maxDepth);
      const { id: entryId } = entry;
      reader.report({ code: "UNSAFE_KEY", line: 0, offset: 0, message: unsafeKeyMessage, entryId });
      return clean;
    }
  }

  /** Puts the images of placed drafts into the blob store, and completes the entries and their lines. */
  async externalize(
    placed: Pick<Placed, "entries" | "lines"> & { drafts: readonly EntryDraft[] },
    signal?: AbortSignal,
  ): Promise<void> {
    const { settings, reader } = this.#core;
    const { entries, lines } = placed;
    // The caller's own objects may change while the blob store works.
    const drafts = placed.drafts.map((draft) =>
      hasInline(draft) ? (copyJsonObject(draft) as unknown as EntryDraft) : draft,
    );
    placed.drafts = drafts;
    const { withoutInline } = await import("./inline-images.js");
    for (const [at, draft] of drafts.entries()) {
      if (!hasInline(draft)) continue;
      const entry = entries[at];
      const id = entry?.id ?? (draft.id as string);
      const moved = await withoutInline(draft, { id, at }, settings.recording, signal);
      drafts[at] = moved;
      if (entry === undefined) continue;
      const { parentId, timestamp } = entry;
      const complete = entryOf(moved, { id, parentId, timestamp }, reader.info);
      entries[at] = complete;
      lines[at] = this.encode(complete);
    }
  }

  /** The line of an entry. Throws LINE_TOO_LONG. */
  encode(entry: SessionEntry): Uint8Array {
    return encodeLine(entry, this.#core.settings, this.#core.log.crc32);
  }

  /** Many entries are written in one millisecond, and its text takes longer than any other part of their lines. */
  #timestamp(): string {
    const time = this.#core.settings.now();
    if (time !== this.#stamp.time) this.#stamp = { time, text: new Date(time).toISOString() };
    return this.#stamp.text;
  }

  #newId(known: (id: string) => boolean): string {
    for (let attempt = 0; attempt < 100; attempt++) {
      const id = this.#core.settings.newEntryId();
      if (!known(id)) return id;
    }
    return crypto.randomUUID();
  }
}

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

/** Encodes the line of a checked entry, with its line feed. Throws LINE_TOO_LONG. */
export function encodeLine(
  entry: SessionEntry,
  { checksum, maxLineBytes: maxBytes }: { readonly checksum: boolean; readonly maxLineBytes: number },
  crc32?: (bytes: Uint8Array) => number,
): Uint8Array {
  const line = encodeValidLine(entry, checksum, crc32);
  const bytes = line.length - 1;
  if (bytes <= maxBytes) return line;
  throw new SessileError("LINE_TOO_LONG", `the entry takes ${bytes} bytes, at most ${maxBytes}`, {
    details: { bytes, maxBytes },
  });
}
