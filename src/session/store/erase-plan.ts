/**
 * The plan of an erasure in one log: the lines that change, and the entries that derive from erased ones. Bytes that
 * no entry owns (torn, joined and damaged lines, a tail) are searched for the erased texts, and lose the pieces that
 * have some.
 */

import type { BlobRef } from "../../content/index.js";
import { concatBytes, encodeUtf8, equalBytes } from "../../core/bytes.js";
import {
  type DerivedEntry,
  decodeLine,
  defaultLimits,
  findChecksum,
  formatVersion,
  parseEntryPrefix,
  type SessionEntry,
  stripBom,
  toEntryId,
  tombstoneLine,
} from "../../log/internal.js";
import type { LineReplacement, SessionLog } from "../api/backend.js";
import { type StoredLine, storedLines, withLineFeed } from "../runtime/log-lines.js";
import { type EntryTable, noRow } from "../tree/session-tree.js";
import { blobRefsInLine, closingQuote } from "./blob-roots.js";
import { append, type EntryErasure, ErasureLinks } from "./erase-links.js";

/** The changes of an erasure to one log. */
export interface ErasurePlan {
  readonly changes: readonly LineReplacement[];
  /** Ids of the entries whose bodies are erased: also those that edit, label or name the requested ones. */
  readonly erased: readonly string[];
  readonly derived: readonly DerivedEntry[];
  /** The blobs that the old lines name. */
  readonly refs: ReadonlySet<BlobRef>;
  /** Pieces of damaged lines that no entry owns and that have no erased text: they stay as they are. */
  readonly unread: number;
  /** Sessions that erased tool calls started. */
  readonly sessions: readonly string[];
  /** Whether an entry was erased before: the blobs that it named are no longer known. */
  readonly isRepeated: boolean;
  /** Whether memory blocks that sessions share may have content too: their texts are elsewhere. */
  readonly isShared: boolean;
}

const context = { version: formatVersion, ordinal: 0, maxDepth: defaultLimits.maxDepth };

/**
 * Plans an erasure. Reads the log twice, and keeps no bodies.
 *
 * @param rows the tree of the log
 * @param requested the entries, each with its erasure
 */
export async function planErasure(
  rows: EntryTable,
  log: Pick<SessionLog, "read" | "readAt">,
  requested: ReadonlyMap<string, EntryErasure>,
): Promise<ErasurePlan> {
  const { records, derived, sessions, isShared } = (await readLinks(rows, log, requested)).close(requested);
  const changes: LineReplacement[] = [];
  const damaged: DamagedLine[] = [];
  const refs = new Set<BlobRef>();
  let isRepeated = false;
  for await (const { bytes, stored, at } of linesWithoutBom(log)) {
    const [piece, ...others] = linePieces(bytes);
    if (piece === undefined) continue;
    if (others.length > 0 || piece.id === undefined || !piece.isWhole) {
      // A copy, which `slice` of a Buffer is not: the log may reuse the bytes.
      damaged.push({ bytes: new Uint8Array(stored), at });
      continue;
    }
    const record = records.get(piece.id);
    const line = record && tombstoneLine(bytes, record.erasure, record.part);
    if (record !== undefined && line === undefined) isRepeated = true;
    if (line === undefined) continue;
    for (const ref of blobRefsInLine(bytes)) refs.add(ref);
    changes.push({ at, length: stored.length, line: withLineFeed(line) });
  }
  const { lines, also, unread } = await eraseInDamaged(log, rows, damaged, records, changes);
  for (const { at, before, after } of lines) {
    for (const ref of blobRefsInLine(before)) refs.add(ref);
    changes.push({ at, length: before.length, line: withLineFeed(after) });
  }
  changes.sort((a, b) => a.at - b.at);
  const erased = [...new Set([...records.keys(), ...also.keys()])].sort((a, b) => rows.row(a) - rows.row(b));
  return { changes, erased, derived, sessions, refs, unread, isRepeated, isShared };
}

/** The lines of a log, those that are too long included; the first one without its byte order mark. */
async function* linesWithoutBom(
  log: Pick<SessionLog, "read" | "readAt">,
): AsyncGenerator<StoredLine & { readonly stored: Uint8Array }> {
  let isFirst = true;
  for await (const line of storedLines(log as SessionLog)) {
    yield { ...line, bytes: isFirst ? stripBom(line.bytes) : line.bytes, stored: line.bytes };
    isFirst = false;
  }
}

/** Bodies that are read at once. */
const chunkSize = 64;

async function readLinks(
  rows: EntryTable,
  log: Pick<SessionLog, "read" | "readAt">,
  requested: ReadonlyMap<string, EntryErasure>,
): Promise<ErasureLinks> {
  const links = new ErasureLinks(rows);
  const found = [...requested.keys()].map((id) => rows.row(id)).filter((row) => row !== noRow);
  for (let at = 0; at < found.length; at += chunkSize)
    for (const line of await rows.read(log, found.slice(at, at + chunkSize))) {
      const entry = line && entryOfLine(line);
      if (entry !== undefined) links.addTexts(entry);
    }
  for await (const { bytes, tooLong } of linesWithoutBom(log)) {
    if (tooLong) continue;
    for (const { start, end } of linePieces(bytes)) {
      const line = bytes.subarray(start, end);
      const head = parseEntryPrefix(line);
      const isRequested = head !== undefined && requested.has(toEntryId(head.id));
      if (head?.type === "message" && head.role !== "toolResult" && !isRequested) continue;
      const entry = entryOfLine(line);
      if (entry !== undefined) links.add(entry);
    }
  }
  return links;
}

function entryOfLine(line: Uint8Array): SessionEntry | undefined {
  const decoded = decodeLine(line, context, { unchecked: true });
  if (decoded.kind !== "entry" || decoded.entry === undefined || decoded.entry.type === "unknown")
    return undefined;
  return decoded.entry;
}

/** A part of a stored line: an entry, or bytes beside one. */
interface LinePiece {
  readonly start: number;
  readonly end: number;
  /** The id of the entry, also of a torn one; undefined if it cannot be read, and "" of a header. */
  readonly id: string | undefined;
  /** Whether it is an entry or a header that readers accept. */
  readonly isWhole: boolean;
}

/** A line that is not one whole entry, with its byte order mark. */
interface DamagedLine {
  readonly bytes: Uint8Array;
  readonly at: number;
}

/** A damaged line before and after an erasure. */
interface ChangedLine {
  readonly at: number;
  readonly before: Uint8Array;
  readonly after: Uint8Array;
}

/** The start of a line as every writer prints it. Within a JSON string its quotes would be escaped. */
const startText = '{"type":"';
const startBytes = encodeUtf8(startText);
const lineStart = /^\{"type":"(?:session"|[^"\\]{0,200}","id":"([^"\\]{0,4096})")/;
const maxStart = 4400;
const binary = new TextDecoder("latin1");

/**
 * The pieces of a line, in order and without gaps; empty for a blank line. More than one if lines were joined: a
 * line feed was lost, or a program without locks appended to a torn line.
 */
function linePieces(line: Uint8Array): readonly LinePiece[] {
  const starts = startsIn(line);
  const id = idOfWhole(line, starts.length > 0);
  if (id !== undefined) return [{ start: 0, end: line.length, id, isWhole: true }];
  if (isBlank(line)) return [];
  const bounds = [0, ...starts];
  return bounds.map((start, index): LinePiece => {
    const end = bounds[index + 1] ?? line.length;
    const piece = line.subarray(start, end);
    const whole = bounds.length === 1 ? undefined : idOfWhole(piece, false);
    return { start, end, id: whole ?? idAtStart(piece), isWhole: whole !== undefined };
  });
}

/** The id of a whole entry, "" of a header; undefined for anything else. A line with a checksum is not parsed. */
function idOfWhole(line: Uint8Array, isJoined: boolean): string | undefined {
  const head = isJoined || findChecksum(line) < 0 ? undefined : parseEntryPrefix(line);
  if (head !== undefined) return toEntryId(head.id);
  const decoded = decodeLine(line, context, { unchecked: true });
  if (decoded.kind === "entry") return toEntryId(decoded.head.id);
  return decoded.kind === "header" ? "" : undefined;
}

/** The starts of lines within a line. */
function startsIn(line: Uint8Array): readonly number[] {
  const starts: number[] = [];
  const brace = startBytes[0] as number;
  for (let at = line.indexOf(brace, 1); at >= 0; at = line.indexOf(brace, at + 1)) {
    // A value within a truncated line is a copy of an entry, and not an entry of this session.
    if (":,[".includes(String.fromCharCode(line[at - 1] as number))) continue;
    if (startBytes.some((byte, index) => line[at + index] !== byte)) continue;
    if (lineStart.test(binary.decode(line.subarray(at, at + maxStart)))) starts.push(at);
  }
  return starts;
}

function idAtStart(piece: Uint8Array): string | undefined {
  const found = lineStart.exec(binary.decode(piece.subarray(0, maxStart)));
  return found?.[1];
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0 || byte === 0x20 || byte === 0x0d || byte === 0x09);
}

/**
 * Erases in damaged lines: the pieces of erased entries, and pieces that are no entry and have a text of one. An
 * entry of the tree whose body cannot be read becomes a tombstone.
 *
 * @param changed the places of the whole lines that are erased
 * @returns the lines that change, ids of entries that are erased besides, and the number of pieces that stay
 */
async function eraseInDamaged(
  log: Pick<SessionLog, "readAt">,
  rows: EntryTable,
  damaged: readonly DamagedLine[],
  records: ReadonlyMap<string, EntryErasure>,
  changed: readonly { readonly at: number; readonly length: number }[],
): Promise<{
  readonly lines: readonly ChangedLine[];
  readonly also: ReadonlyMap<string, EntryErasure>;
  readonly unread: number;
}> {
  const also = new Map<string, EntryErasure>();
  const [anyRecord] = records.values();
  const split = damaged.map(({ bytes, at }) => ({ bytes, at, pieces: linePieces(bytes) }));
  const isOwned = ({ id, isWhole }: LinePiece) => isWhole || (id !== undefined && records.has(id));
  const searched = split.flatMap(({ bytes, pieces }) =>
    pieces.filter((piece) => !isOwned(piece)).map(({ start, end }) => bytes.subarray(start, end)),
  );
  const found = await withErasedText(log, searched, changed, function* () {
    for (const { bytes, pieces } of split)
      for (const { id, start, end } of pieces)
        if (id !== undefined && records.has(id)) yield bytes.subarray(start, end);
  });
  let next = 0;
  let unread = 0;
  const lines: ChangedLine[] = [];
  for (const { bytes, at, pieces } of split) {
    const parts = pieces.map((piece) => {
      const { start, end, id, isWhole } = piece;
      const part = bytes.subarray(start, end);
      const isFound = !isOwned(piece) && found.has(next++);
      const record = (id === undefined ? undefined : records.get(id)) ?? (isFound ? anyRecord : undefined);
      if (record === undefined) {
        if (!isWhole && !isBlank(part)) unread++;
        return part;
      }
      const isInTree = id !== undefined && rows.line(rows.row(id))?.at === at + start;
      if (!isWhole && !isInTree) return none;
      if (id !== undefined && isFound) also.set(id, record);
      return tombstoneLine(part, record.erasure, record.part) ?? part;
    });
    const after = concatBytes(parts);
    if (!equalBytes(after, bytes)) lines.push({ at, before: bytes, after });
  }
  return { lines, also, unread };
}

const none = new Uint8Array();

/** Bytes that two texts share if one is a part of the other, and texts that are looked for whole. */
const [shared, minWhole] = [12, 6] as const;
/** The indexes of the pieces that share a part of a text with an erased line. */
async function withErasedText(
  log: Pick<SessionLog, "readAt">,
  pieces: readonly Uint8Array[],
  changed: readonly { readonly at: number; readonly length: number }[],
  others: () => Iterable<Uint8Array>,
): Promise<ReadonlySet<number>> {
  const found = new Set<number>();
  if (pieces.length === 0) return found;
  const texts = pieces.map((piece) => binary.decode(piece));
  /** The pieces with each part of `shared` bytes. */
  const parts = new Map<string, number[]>();
  for (const [index, text] of texts.entries())
    for (let at = 0; at + shared <= text.length; at++) {
      const part = text.slice(at, at + shared);
      if (parts.get(part)?.at(-1) !== index) append(parts, part, index);
    }
  const search = (line: Uint8Array): void => {
    for (const text of textsIn(binary.decode(line))) {
      if (text.length < shared) {
        if (text.length >= minWhole)
          for (const [index, each] of texts.entries()) if (each.includes(text)) found.add(index);
        continue;
      }
      for (let at = 0; at + shared <= text.length; at++)
        for (const index of parts.get(text.slice(at, at + shared)) ?? []) found.add(index);
    }
  };
  for (const line of others()) search(line);
  for (let at = 0; at < changed.length; at += chunkSize)
    for (const line of await log.readAt(changed.slice(at, at + chunkSize)))
      if (line !== undefined) search(line);
  return found;
}

/** Members whose values name types and places, and no text. */
const nameless: ReadonlySet<string> = new Set([
  ...["type", "id", "parentId", "timestamp", "role", "targetId", "toolCallId", "toolName", "customType"],
  ...["api", "provider", "model", "modelId", "stopReason", "mimeType", "mediaType", "resourceId", "crc"],
]);

/** The strings of a line of JSON as they stand there, without keys and names; also of a torn line. */
function* textsIn(line: string): Generator<string> {
  let key = "";
  for (let at = line.indexOf('"'); at >= 0; ) {
    const quote = closingQuote(line, at);
    const end = quote < 0 ? line.length : quote;
    const text = line.slice(at + 1, end);
    if (line[end + 1] === ":") key = text;
    else if (!nameless.has(key)) yield text;
    at = line.indexOf('"', end + 1);
  }
}
