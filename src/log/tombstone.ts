/**
 * Tombstones: entries whose bodies were erased. A tombstone keeps type, id, parent and time, and the fields
 * that the tree and tool pairs need. Texts become a placeholder, so that every context stays valid.
 */

import { encodeUtf8, equalBytes } from "../core/bytes.js";
import { decodeLine } from "./decode.js";
import {
  type Erasure,
  entryErasure,
  formatVersion,
  type SessionEntry,
  type UnknownEntry,
} from "./entries.js";
import { parseEntryPrefix, printTimestamp, toEntryId } from "./entry-prefix.js";
import { appendChecksum, parseLine } from "./line-json.js";
import { defaultLimits } from "./line-splitter.js";
import { bareFields, defined } from "./ownership.js";

const { maxDepth } = defaultLimits;

/** The parts of a body that are erased: all of it, or the names of a session alone. */
export type ErasedPart = "body" | "names";

/** The erasure that a stored line records; undefined if it is no tombstone, or has more than one. */
export function erasureOfLine(
  line: Uint8Array,
): { readonly erasure: Erasure; readonly part: ErasedPart } | undefined {
  const parsed = parseLine(line, maxDepth, { unchecked: true });
  const erasure = parsed.ok ? entryErasure(parsed.value) : undefined;
  if (!parsed.ok || erasure === undefined) return undefined;
  const text = JSON.stringify(parsed.value);
  const parts = ["body", "names"] as const;
  const part = parts.find((each) => printedTombstone(line, erasure, each) === text);
  return part && { erasure, part };
}

/**
 * The tombstone of a stored line, without a line feed; undefined if there is nothing left to erase. A line
 * that is no entry, such as a torn one, becomes an empty line.
 */
export function tombstoneLine(line: Uint8Array, erased: Erasure, part: ErasedPart): Uint8Array | undefined {
  if (line.length === 0) return undefined;
  const text = printedTombstone(line, erased, part);
  if (text === undefined) return new Uint8Array();
  const bytes = encodeUtf8(appendChecksum(text));
  return equalBytes(bytes, line) ? undefined : bytes;
}

function printedTombstone(line: Uint8Array, erased: Erasure, part: ErasedPart): string | undefined {
  const decoded = decodeLine(line, { version: formatVersion, ordinal: 0, maxDepth }, { unchecked: true });
  if (decoded.kind === "entry" && decoded.entry !== undefined) {
    const { entry } = decoded;
    if (entry.type === "unknown") return unknownTombstone(entry, decoded.head.role, erased);
    const isComplete = isBare(entry, part);
    return JSON.stringify(entryTombstone(entry, (isComplete && entryErasure(entry)) || erased, part));
  }
  // The entry stays in the tree without its body, as a damaged line does.
  const head = parseEntryPrefix(line);
  if (head === undefined) return undefined;
  const { type, role } = head;
  const id = toEntryId(head.id);
  const parentId = head.parentId === null ? null : toEntryId(head.parentId);
  const message = role === undefined ? {} : { message: { role } };
  return JSON.stringify({ type, id, parentId, timestamp: printTimestamp(head.time), ...message, erased });
}

/** Whether an entry has no more than its tombstone: an erasure that is repeated keeps its first record. */
function isBare(entry: SessionEntry, part: ErasedPart): boolean {
  const known = entryErasure(entry);
  if (known === undefined) return false;
  return JSON.stringify(entryTombstone(entry, known, part)) === JSON.stringify(entry);
}

function unknownTombstone(
  { entryType: type, id, parentId, timestamp, raw }: UnknownEntry,
  role: string | undefined,
  erased: Erasure,
): string {
  const message = role === undefined ? {} : { message: { role } };
  const place = { type, id, parentId, timestamp, ...message };
  const parsed = parseLine(encodeUtf8(raw), maxDepth, { unchecked: true });
  const known = parsed.ok ? entryErasure(parsed.value) : undefined;
  const prior = parsed.ok ? (parsed.value as { readonly prior?: unknown }).prior : undefined;
  return JSON.stringify({ ...place, erased: known ?? erased, ...(typeof prior === "string" && { prior }) });
}

/** The tombstone of an entry. */
function entryTombstone(entry: SessionEntry, erased: Erasure, part: ErasedPart): SessionEntry {
  const { type, id, parentId, timestamp, prior, merges } = entry;
  const place = { type, id, parentId, timestamp };
  const after = { erased, prior, merges };
  if (part === "names" && entry.type === "session_info") {
    const { archivedAt, share, permission, stats } = entry;
    return defined({ ...place, archivedAt, share, permission, stats, ...after }) as SessionEntry;
  }
  return defined({ ...place, ...bareFields(entry), ...after }) as unknown as SessionEntry;
}

/** Whether an entry has more than its tombstone, such as a label that clears none. */
export function hasText(entry: SessionEntry, part: ErasedPart): boolean {
  const erased = entryErasure(entry) ?? { at: "", reason: "" };
  const { type, id, parentId, timestamp, ...fields } = entry;
  const whole = { type, id, parentId, timestamp, ...fields, erased };
  return canonical(entryTombstone(entry, erased, part)) !== canonical(whole as SessionEntry);
}

/** A text of an entry for comparisons, without empty members. */
function canonical(entry: SessionEntry): string {
  const members = Object.entries(entry).filter(([, value]) => value !== undefined && value !== "");
  return JSON.stringify(members.sort(([a], [b]) => (a < b ? -1 : 1)));
}
