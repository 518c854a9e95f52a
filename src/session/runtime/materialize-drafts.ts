/** Entries from drafts: ids, parents, times, checks and lines. */

import { SessileError } from "../../errors/index.js";
import { describe } from "../../internal/arguments.js";
import { copyJsonObject } from "../../internal/json.js";
import { isRecord } from "../../internal/shape.js";
import type { EntryDraft, SessionEntry, SessionInfoFields } from "../api/entries.js";
import { type EphemeralDraft, ephemeralTypes } from "../api/events.js";
import { assertValidEntry, encodeValidLine } from "../format/encode.js";
import { isEntryType, references } from "../format/entry-types.js";
import { copyWithoutUnsafeKeys, unsafeKeyMessage } from "../format/line-json.js";
import { unsafeKeyExpected } from "../format/validate.js";
import type { LogReader } from "../tree/log-reader.js";
import type { SessionSettings } from "./loaded-log.js";
import { assertInline, hasInline } from "./recording.js";
import { patchedInfo } from "./session-info.js";
import type { SessionState } from "./session-state.js";

/** An entry and its line. */
export interface MaterializedEntry {
  readonly entry: SessionEntry;
  readonly line: Uint8Array;
}

/** Drafts as entries, each after its predecessor. */
export interface MaterializedDrafts {
  /** One per draft; undefined if an entry with the draft's id exists already. */
  readonly entries: (SessionEntry | undefined)[];
  /** The lines of `entries`; undefined for an entry whose images are not stored yet. */
  readonly lines: (Uint8Array | undefined)[];
  /** The parent of the next entry. */
  readonly leaf: string | null;
  /** Whether images must go to the blob store before the lines of their entries exist. */
  readonly inline: boolean;
}

/**
 * Gives drafts ids, parents after `leaf`, a time, and lines. Throws for the first invalid draft, at the call
 * and not at the write, so that an invalid append fails alone.
 * @param queued ids of entries that wait to be written
 * @param last the last entry of the log once those are written
 * @param staging refuses images, because staging cannot wait for a blob store
 */
export function materializeDrafts(
  drafts: readonly EntryDraft[],
  leaf: string | null,
  { settings, reader, log }: SessionState,
  queued: ReadonlySet<string>,
  last: string | undefined,
  staging = false,
): MaterializedDrafts {
  const { recording } = settings;
  const stores = recording.blobs !== undefined;
  const batch = drafts.length > 1 ? new Set<string>() : undefined;
  const isKnown = (id: string) => reader.tree.has(id) || queued.has(id) || batch?.has(id) === true;
  const timestamp = new Date(settings.now()).toISOString();
  const entries: (SessionEntry | undefined)[] = [];
  const lines: (Uint8Array | undefined)[] = [];
  let next = leaf;
  let before = last;
  let inline = false;
  for (let at = 0; at < drafts.length; at++) {
    const draft = drafts[at] as EntryDraft;
    checkDraft(draft, at, isKnown);
    if (draft.id !== undefined && isKnown(draft.id)) {
      next = draft.id;
      entries.push(undefined);
      inline ||= stores && hasInline(draft);
      continue;
    }
    const id = draft.id ?? newEntryId(settings, isKnown);
    const entry = validEntry(
      entryOf(draft, { id, parentId: next, timestamp, last: before }, reader.info),
      settings,
      reader,
    );
    batch?.add(id);
    before = id;
    next = entry.type === "leaf" ? entry.targetId : id;
    entries.push(entry);
    if (!hasInline(entry)) continue;
    if (!stores || staging) assertInline(entry, at, recording, stores ? 0 : undefined);
    else inline = true;
  }
  for (const entry of entries) {
    const waits = inline && entry !== undefined && hasInline(entry);
    lines.push(waits || entry === undefined ? undefined : encodeLine(entry, settings, log.crc32));
  }
  return { entries, lines, leaf: next, inline };
}

/**
 * Throws INVALID_ENTRY for an invalid entry. A `__proto__` key, as a model may send in a call, is omitted and
 * reported, as on reading.
 */
function validEntry(entry: SessionEntry, { maxDepth }: SessionSettings, reader: LogReader): SessionEntry {
  try {
    assertValidEntry(entry, maxDepth);
    return entry;
  } catch (error) {
    if (!SessileError.is(error, "INVALID_ENTRY") || error.details.expected !== unsafeKeyExpected) throw error;
    const clean = copyWithoutUnsafeKeys(entry, maxDepth);
    assertValidEntry(clean, maxDepth);
    const { id: entryId } = entry;
    reader.report({ code: "UNSAFE_KEY", line: 0, offset: 0, message: unsafeKeyMessage, entryId });
    return clean;
  }
}

function newEntryId({ newEntryId }: SessionSettings, isKnown: (id: string) => boolean): string {
  for (let attempt = 0; attempt < 100; attempt++) {
    const id = newEntryId();
    if (!isKnown(id)) return id;
  }
  return crypto.randomUUID();
}

/** Stores the images of drafts in the blob store, and completes the entries and their lines. */
export async function externalizeDrafts(
  made: Pick<MaterializedDrafts, "entries" | "lines"> & { drafts: readonly EntryDraft[] },
  { settings, reader, log }: SessionState,
  signal?: AbortSignal,
): Promise<void> {
  const { entries, lines } = made;
  // The caller's own objects may change during the puts.
  const drafts = made.drafts.map((draft) =>
    hasInline(draft) ? (copyJsonObject(draft) as unknown as EntryDraft) : draft,
  );
  made.drafts = drafts;
  const { withoutInline } = await import("./inline-images.js");
  for (const [at, draft] of drafts.entries()) {
    if (!hasInline(draft)) continue;
    const entry = entries[at];
    const id = entry?.id ?? (draft.id as string);
    const moved = await withoutInline(draft, { id, at }, settings.recording, signal);
    drafts[at] = moved;
    if (entry === undefined) continue;
    const { parentId, timestamp, prior } = entry;
    const complete = entryOf(moved, { id, parentId, timestamp, last: prior }, reader.info);
    entries[at] = complete;
    lines[at] = encodeLine(complete, settings, log.crc32);
  }
}

/** The place of a new entry. */
export interface EntryPlace {
  readonly id: string;
  readonly parentId: string | null;
  readonly timestamp: string;
  /** The last entry of the log before this one; undefined if there is none, or if it is the parent. */
  readonly last?: string | undefined;
}

/** The `prior` of an entry after the last one of the log: undefined if that is the parent. */
export function priorOf(last: string | undefined, parentId: string | null): string | undefined {
  return last === parentId ? undefined : last;
}

/** The entry with this `prior`, which stands at the end, so that a reader finds it without the body. */
export function withPrior<T extends object>(entry: T, prior: string | undefined): T {
  const {
    prior: _prior,
    merges: _merges,
    ...rest
  } = entry as T & {
    readonly prior?: string;
    readonly merges?: unknown;
  };
  return (prior === undefined ? rest : { ...rest, prior }) as unknown as T;
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
  const prior = priorOf(place.last, parentId);
  const isPlain = prior === undefined && !("prior" in entry) && !("merges" in entry);
  return (isPlain ? entry : withPrior(entry, prior)) as unknown as SessionEntry;
}

/** Throws INVALID_ENTRY for what is no ephemeral event. */
export function checkEvent(event: EphemeralDraft): void {
  if (!isRecord(event)) throw invalid("event", "an ephemeral event", describe(event));
  const { type } = event as { readonly type: unknown };
  if (isEphemeral(type)) return;
  const hint = typeof type === "string" && isEntryType(type) ? "; this one is recorded: append it" : "";
  throw invalid("event.type", `a type of ephemeral events${hint}`, describe(type));
}

function isEphemeral(type: unknown): boolean {
  return typeof type === "string" && Object.hasOwn(ephemeralTypes, type);
}

/** Throws INVALID_ENTRY for an invalid draft, ENTRY_NOT_FOUND for a dangling reference. */
export function checkDraft(draft: EntryDraft, at: number, known: (id: string) => boolean): void {
  if (!isRecord(draft)) throw invalid(`drafts[${at}]`, "an entry draft", describe(draft));
  if (typeof draft.type !== "string" || !isEntryType(draft.type)) {
    const hint = isEphemeral(draft.type) ? "; this one is ephemeral: publish it" : "";
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

function invalid(path: string, expected: string, got: string): SessileError<"INVALID_ENTRY"> {
  return new SessileError("INVALID_ENTRY", `${path}: expected ${expected}, got ${got}`, {
    details: { path, expected },
  });
}

/** Whether a draft is the stored entry with its id: then the append is an idempotent retry. */
export function isSameEntry(draft: EntryDraft, entry: SessionEntry): boolean {
  if (draft.type !== entry.type) return false;
  const { id: _draftId, ...wanted } = withPrior(draft, undefined);
  const { id: _id, parentId: _parentId, timestamp: _timestamp, ...all } = withPrior(entry, undefined);
  // A patch has only the changed fields.
  const stored =
    draft.type === "session_info"
      ? Object.fromEntries(
          Object.keys(wanted).map((key) => [key, (all as Record<string, unknown>)[key] ?? null]),
        )
      : all;
  return JSON.stringify(sorted(wanted)) === JSON.stringify(sorted(stored));
}

/** The value with sorted keys: a stored copy may have another order. */
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
