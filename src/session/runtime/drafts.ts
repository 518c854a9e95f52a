/** Drafts at the call of an append: their checks, the entry that a draft makes, and the text of its fields. */

import { describe } from "../../core/arguments.js";
import { SessileError } from "../../core/errors/index.js";
import { isRecord, type Problem } from "../../core/shape.js";
import {
  copyWithoutUnsafeKeys,
  type EntryDraft,
  encodePlaced,
  entryTypesWith,
  invalidEntry,
  isEntryType,
  isUsualMessage,
  jsonProblem,
  printPlaced,
  references,
  referencingTypes,
  type SessionEntry,
  type SessionInfoFields,
  unplacedProblem,
  unsafeKeyExpected,
} from "../../log/internal.js";
import { type EphemeralDraft, ephemeralTypes } from "../api/events.js";
import type { LogReader } from "../tree/log-reader.js";
import type { SessionSettings } from "./loaded-log.js";
import { assertInline, hasInline } from "./recording.js";
import { patchedInfo } from "./session-info.js";
import { turnSettings } from "./turn-settings.js";

/** A draft of a queued append. */
export interface CheckedDraft {
  /** The draft; without inline images once those are stored. */
  draft: EntryDraft;
  /** Its entry, without a place until it is written; undefined if an entry with the draft's id exists. */
  entry: SessionEntry | undefined;
  /** The JSON of the entry's fields; see {@link entryBody}. */
  body: string;
  /** Whether the entry is in the log already. */
  isStored: boolean;
  /** Whether `__proto__` keys were omitted. */
  readonly isCleaned: boolean;
  /** Whether it has inline images, or media in a provider's block. */
  readonly hasMedia: boolean;
}

/** The place of an entry that is not written yet. */
export const unplaced: EntryPlace = { id: "", parentId: null, timestamp: "" };

/** Lines that may exceed the maximum are encoded at the call too: one character has at most three bytes. */
const maxHeadBytes = 4096;

/**
 * {@link checkedDraft} for a message of a usual shape without an id; undefined for any other draft. Saves 5 of 59 ms
 * of 1,000 appends, 23 of 202 of 10,000 that are not awaited (Node 24, fresh process).
 */
export function usualMessage(
  draft: EntryDraft,
  { maxDepth, maxLineBytes, recording }: SessionSettings,
): CheckedDraft | undefined {
  if (draft?.type !== "message") return undefined;
  const { message } = draft;
  if (recording.truncate !== undefined && message?.role === "toolResult") return undefined;
  if (!isUsualMessage(message, false)) return undefined;
  for (const key in draft) if (key !== "type" && key !== "message") return undefined;
  if (jsonProblem(message, maxDepth - 1) !== undefined) return undefined;
  const body = `,"message":${JSON.stringify(message)}`;
  if (body.length * 3 + maxHeadBytes > maxLineBytes) return undefined;
  const entry: SessionEntry = { type: "message", id: "", parentId: null, timestamp: "", message };
  return { draft, entry, body, isStored: false, isCleaned: false, hasMedia: false };
}

/**
 * Checks a draft and encodes its fields, at the call and not at the write, so that an invalid append fails
 * alone, and a later change of the caller's object does not reach the log.
 *
 * @param staging refuses images, because staging cannot wait for a blob store
 */
export function checkedDraft(
  draft: EntryDraft,
  at: number,
  isKnown: (id: string) => boolean,
  settings: SessionSettings,
  reader: LogReader,
  staging: boolean,
): CheckedDraft {
  checkDraft(draft, at, isKnown);
  if (draft.id !== undefined && isKnown(draft.id)) {
    const hasMedia = hasInline(draft);
    return { draft, entry: undefined, body: "", isStored: false, isCleaned: false, hasMedia };
  }
  const given = draftEntry(draft, unplaced, reader.info);
  const problem = unplacedProblem(given, settings.maxDepth);
  const entry = problem === undefined ? given : withoutUnsafeKeys(given, problem, settings.maxDepth);
  const { recording } = settings;
  const hasMedia = hasInline(entry);
  if (hasMedia && (recording.blobs === undefined || staging))
    assertInline(entry, at, recording, recording.blobs === undefined ? undefined : 0);
  const body = entryBody(entry);
  if (body.length * 3 + maxHeadBytes > settings.maxLineBytes && !hasMedia)
    assertFits({ ...entry, id: draft.id ?? "00000000", parentId: reader.leafId }, body, settings);
  return { draft, entry, body, isStored: false, isCleaned: problem !== undefined, hasMedia };
}

/** Throws LINE_TOO_LONG. */
function assertFits(entry: SessionEntry, body: string, settings: SessionSettings): void {
  encodePlaced(printPlaced(entry, body, settings.checksum), settings, undefined, []);
}

/**
 * The JSON of an entry's fields after its timestamp, from their comma up to the closing brace: all of its line
 * that does not depend on its place.
 */
export function entryBody(entry: SessionEntry): string {
  const { parentId } = entry;
  (entry as { parentId: string | null }).parentId = null;
  const text = JSON.stringify(entry);
  (entry as { parentId: string | null }).parentId = parentId;
  return text.slice(emptyHeadLength + entry.type.length, -1);
}

const emptyHeadLength = JSON.stringify({ type: "", ...unplaced }).length - 1;

/** An invalid entry without `__proto__` keys, as a model may send in a call. Throws INVALID_ENTRY for another problem. */
function withoutUnsafeKeys(entry: SessionEntry, problem: Problem, maxDepth: number): SessionEntry {
  if (problem.expected !== unsafeKeyExpected) throw invalidEntry(problem);
  const clean = copyWithoutUnsafeKeys(entry, maxDepth);
  const left = unplacedProblem(clean, maxDepth);
  if (left !== undefined) throw invalidEntry(left);
  return clean;
}

/** The place of a new entry. */
export interface EntryPlace {
  readonly id: string;
  readonly parentId: string | null;
  readonly timestamp: string;
}

/** The entry with this `prior`, which stands at the end, so that a reader finds it without the body. */
export function withPrior<T extends object>(entry: T, prior: string | undefined): T {
  const {
    prior: _prior,
    merges: _merges,
    crc: _crc,
    ...rest
  } = entry as T & {
    readonly prior?: string;
    readonly merges?: unknown;
    readonly crc?: unknown;
  };
  return (prior === undefined ? rest : { ...rest, prior }) as unknown as T;
}

/** The unchecked entry of a draft at a place. The parent of a leaf entry is its target. */
export function draftEntry(draft: EntryDraft, place: EntryPlace, info: SessionInfoFields): SessionEntry {
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
  // Of another path, if the draft is an entry from elsewhere.
  if (type === "compaction" && entry.inForce !== undefined) delete entry.inForce;
  const isPlain = !("prior" in entry || "merges" in entry || "crc" in entry);
  return (isPlain ? entry : withPrior(entry, undefined)) as unknown as SessionEntry;
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
    const { role } = draft as { readonly role?: unknown };
    const hint = isEphemeral(draft.type)
      ? "; this one is ephemeral: publish it"
      : typeof role === "string"
        ? "; this one is a message: call appendMessage"
        : "";
    throw invalid(`drafts[${at}].type`, `an entry type${hint}`, describe(draft.type));
  }
  if (draft.id !== undefined && (typeof draft.id !== "string" || draft.id === "")) {
    throw invalid(`drafts[${at}].id`, "a non-empty string", describe(draft.id));
  }
  if (!referencingTypes.has(draft.type)) return;
  for (const [field, id] of references(draft)) {
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

/** An entry without what an append adds to a compaction. */
function withoutState<T extends EntryDraft | SessionEntry>(entry: T): T {
  if (entry.type !== "compaction" || entry.inForce === undefined) return entry;
  const { inForce: _inForce, ...rest } = entry;
  return rest as T;
}

/** Whether a draft is the stored entry with its id: then the append is an idempotent retry. */
export function isSameEntry(draft: EntryDraft, entry: SessionEntry): boolean {
  if (draft.type !== entry.type) return false;
  const { id: _draftId, ...wanted } = withoutState(withPrior(draft, undefined));
  const {
    id: _id,
    parentId: _parentId,
    timestamp: _timestamp,
    ...all
  } = withoutState(withPrior(entry, undefined));
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

/** Types that do not create the file of a session without messages. */
const settings = entryTypesWith("setting");

export function isSetting(draft: EntryDraft | SessionEntry): boolean {
  return (
    settings.has(draft.type) || (draft.type === "custom" && draft.customType === turnSettings.customType)
  );
}

/** The leaf after an entry was appended. */
export function leafAfter(entry: SessionEntry): string | null {
  return entry.type === "leaf" ? entry.targetId : entry.id;
}
