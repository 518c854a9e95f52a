/** The plan of an erasure: the entries that go, what links to them, and the lines that take their place. */

import type { BlobRef } from "../../content/index.js";
import { concatBytes, encodeUtf8, equalBytes } from "../../core/bytes.js";
import { isRecord } from "../../core/shape.js";
import {
  bareFields,
  type DerivedEntry,
  decodeLine,
  defaultLimits,
  type ErasedPart,
  type Erasure,
  entryErasure,
  findChecksum,
  formatVersion,
  hasText,
  isCall,
  memberAt,
  parseEntryPrefix,
  type Relation,
  readOwnership,
  type SessionEntry,
  type Source,
  stringsIn,
  stripBom,
  toEntryId,
  tombstoneLine,
  valueDetails,
} from "../../log/internal.js";
import type { LineReplacement, SessionLog } from "../api/backend.js";
import { type StoredLine, storedLines, withLineFeed } from "../runtime/log-lines.js";
import { type EntryTable, noRow } from "../tree/session-tree.js";
import { blobRefsInLine, closingQuote } from "./blob-roots.js";

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
      if (head?.type === "message" && head.role !== "toolResult" && !isRequested && !hasDetails(line))
        continue;
      const entry = entryOfLine(line);
      if (entry !== undefined) links.add(entry);
    }
  }
  return links;
}

const detailsText = '"details":{"of":"';

/** Whether a message may have the details of a framework's value, which can have texts of other entries. */
function hasDetails(line: Uint8Array): boolean {
  return binary.decode(line).includes(detailsText);
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

// The closure of an erasure: the entries that are erased with the requested ones, and those that derive from them,
// by the table of ownership. Linear in the entries and the links between them.

/** The erasure of one entry: its record, and the parts of the body that it is of. */
export interface EntryErasure {
  readonly erasure: Erasure;
  readonly part: ErasedPart;
}

/** The entries of an erasure. */
interface Closure {
  readonly records: ReadonlyMap<string, EntryErasure>;
  readonly derived: readonly DerivedEntry[];
  /** Sessions that erased tool calls started. */
  readonly sessions: readonly string[];
  /** Whether one of them is a value of a memory block whose text is kept by a source of the caller. */
  readonly isShared: boolean;
}

/** An entry that depends on others: it is erased with them, or derives from them. */
interface Dependent {
  readonly row: number;
  /** undefined: it is erased with them. */
  readonly kind: DerivedEntry["kind"] | undefined;
}

/** A dependent by its place in the tree. */
interface Placed extends Dependent {
  readonly relation: Relation;
  /** The entry that a summary names. */
  readonly namedId: string;
  readonly customType: string;
}

const idKey = "id ";
/** Characters from which on a text tells that an entry is a copy. */
const minCopied = 8;
/** Texts that are searched for within others. Equal ones are found of any number. */
const maxSearched = 64;

/** Collects the entries of a log, and closes erasures over them. */
class ErasureLinks {
  readonly #rows: EntryTable;
  readonly #dependents = new Map<string, Dependent[]>();
  /** The keys that a row answers to, beside its id. */
  readonly #keys = new Map<number, string[]>();
  readonly #placed: Placed[] = [];
  /** Rows of notes by the rows of their entries. */
  readonly #notes = new Map<number, number[]>();
  readonly #persons = new Set<number>();
  readonly #held = new Map<number, readonly string[]>();
  readonly #shared = new Set<number>();
  /** Sessions by the keys of the calls that started them. */
  readonly #sessions = new Map<string, string[]>();
  /** Texts of the requested entries, each with the id of one. */
  readonly #texts = new Map<string, string>();
  readonly #copies: { readonly row: number; readonly from: string }[] = [];

  constructor(rows: EntryTable) {
    this.#rows = rows;
  }

  /** Adds the texts of a requested entry. Call it before {@link add}. */
  addTexts(entry: SessionEntry): void {
    if (entryErasure(entry) !== undefined) return;
    const kept = new Set(stringsIn(bareFields(entry)));
    const { id: _id, parentId: _parentId, timestamp: _timestamp, ...fields } = entry;
    for (const text of stringsIn(fields))
      if (text.length >= minCopied && !kept.has(text)) this.#texts.set(text, entry.id);
  }

  /** Adds an entry. Of messages, only requested ones and results are needed. */
  add(entry: SessionEntry): void {
    const row = this.#rows.row(entry.id);
    if (row === noRow) return;
    const { erasedWith = [], derived, isOfPerson, holds, startedSession, mayQuote } = readOwnership(entry);
    const isErased = entryErasure(entry) !== undefined;
    for (const key of keysIn(entry)) append(this.#keys, row, key);
    if (
      erasedWith.length > 0 &&
      (isErased || hasText(entry, entry.type === "session_info" ? "names" : "body"))
    )
      for (const source of erasedWith) this.#depend(entry, { row, kind: undefined }, source);
    if (derived !== undefined && !isErased)
      for (const source of derived.from) this.#depend(entry, { row, kind: derived.kind }, source);
    if (valueDetails(entry) !== undefined)
      this.#addCopy(entry, [memberAt(entry, "message"), memberAt(entry, "details")]);
    const data = entry.type === "custom" && isRecord(entry.data) ? entry.data : undefined;
    if (data === undefined) return;
    if (isOfPerson?.(data) === true) this.#persons.add(row);
    if (holds !== undefined) this.#held.set(row, holds(data));
    const { toolCallId, sessionId } = startedSession?.(data) ?? {};
    if (typeof sessionId === "string") append(this.#sessions, `call ${toolCallId}`, sessionId);
    if (derived?.kind === "memory" && typeof data.version === "string") this.#shared.add(row);
    if (mayQuote === true) this.#addCopy(entry, data);
  }

  /** Adds an entry that may repeat a text of a requested one. */
  #addCopy(entry: SessionEntry, data: unknown): void {
    const from = entryErasure(entry) === undefined ? this.#quotedIn(data) : undefined;
    if (from !== undefined) this.#copies.push({ row: this.#rows.row(entry.id), from });
  }

  #depend(entry: SessionEntry, dependent: Dependent, source: Source): void {
    const { row } = dependent;
    if (typeof source === "string") {
      const namedId =
        entry.type === "compaction"
          ? entry.firstKeptEntryId
          : entry.type === "branch_summary"
            ? entry.fromId
            : "";
      const customType = entry.type === "custom" ? entry.customType : "";
      this.#placed.push({ ...dependent, relation: source, namedId, customType });
    } else if ("reply" in source) {
      const named = memberAt(entry, source.reply);
      const start = typeof named === "string" ? this.#rows.row(named) : noRow;
      if (start !== noRow) append(this.#notes, start, row);
    } else {
      for (const key of entryKeys(entry, source))
        if (!key.startsWith(idKey) || this.#rows.row(key.slice(idKey.length)) !== noRow)
          append(this.#dependents, key, dependent);
    }
  }

  /** The requested entry that one of the strings repeats, is a part of, or has a part of. */
  #quotedIn(data: unknown): string | undefined {
    if (this.#texts.size === 0) return undefined;
    const searched = [...this.#texts.keys()].slice(0, maxSearched);
    for (const text of stringsIn(data)) {
      if (text.length < minCopied) continue;
      const isIn = (each: string) =>
        text.includes(each) || (text.length >= 2 * minCopied && each.includes(text));
      const found = this.#texts.get(text) ?? this.#texts.get(searched.find(isIn) ?? "");
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Closes an erasure of requested entries. */
  close(requested: ReadonlyMap<string, EntryErasure>): Closure {
    const records = new Map(requested);
    const erased: number[] = [];
    const isErased = new Set<number>();
    const add = (row: number, record: EntryErasure): void => {
      if (isErased.has(row)) return;
      isErased.add(row);
      erased.push(row);
      records.set(this.#rows.id(row), record);
    };
    for (const [id, record] of requested) {
      const row = this.#rows.row(id);
      if (row !== noRow) add(row, record);
    }
    const placed = this.#dependentsByPlace();
    const names = this.#placed.filter(({ relation }) => relation === "firstMessage");
    const walked = new Set<number>();
    // The list grows while it is read.
    for (const row of erased) {
      const { erasure } = records.get(this.#rows.id(row)) as EntryErasure;
      const record = { erasure, part: "body" } as const;
      for (const dependent of this.#rowDependents(row))
        if (dependent.kind === undefined) add(dependent.row, record);
      for (const dependent of placed.get(row) ?? []) add(dependent, record);
      for (const note of this.#rowNotes(row, walked)) add(note, record);
      if (this.#isFirstMessage(row)) for (const info of names) add(info.row, { erasure, part: "names" });
    }
    const derived = this.#derivedFrom(isErased);
    const reached = [...erased, ...derived.map(({ entryId }) => this.#rows.row(entryId))];
    const sessions = erased.flatMap((row) =>
      (this.#keys.get(row) ?? []).flatMap((key) => this.#sessions.get(key) ?? []),
    );
    return { records, derived, sessions, isShared: reached.some((row) => this.#shared.has(row)) };
  }

  #rowDependents(row: number): readonly Dependent[] {
    const keys = [idKey + this.#rows.id(row), ...(this.#keys.get(row) ?? [])];
    return keys.flatMap((key) => this.#dependents.get(key) ?? []);
  }

  #isOfPerson(row: number): boolean {
    return this.#rows.kind(row) === "message/user" || this.#persons.has(row);
  }

  /** Whether names of the session are made from the entry: a message of a person with none above. */
  #isFirstMessage(row: number): boolean {
    if (!this.#isOfPerson(row)) return false;
    let above = this.#rows.parent(row);
    while (above !== noRow && !this.#isOfPerson(above)) above = this.#rows.parent(above);
    return above === noRow;
  }

  /** The notes of the message or reply that an entry is a part of. */
  #rowNotes(row: number, walked: Set<number>): readonly number[] {
    // A label or an update stands anywhere, and its target decides.
    if (!this.#rows.kind(row).startsWith("message/")) return [];
    for (let at = row; at !== noRow && !walked.has(at); at = this.#rows.parent(at)) {
      walked.add(at);
      const notes = this.#notes.get(at);
      if (notes !== undefined) return notes;
      if (this.#isOfPerson(at)) return [];
    }
    return [];
  }

  /** The rows that are erased with a row, by their places. */
  #dependentsByPlace(): ReadonlyMap<number, readonly number[]> {
    const found = new Map<number, number[]>();
    const rows = this.#rows;
    const same = new Map(this.#placed.map((each) => [each.row, each.customType]));
    for (const { row, relation, customType } of this.#placed) {
      if (relation === "replyBefore") {
        let at = rows.parent(row);
        while (at !== noRow && rows.kind(at) !== "message/assistant" && !this.#isOfPerson(at))
          at = rows.parent(at);
        if (at !== noRow) append(found, at, row);
      } else if (relation === "sinceSame") {
        for (let at = rows.parent(row); at !== noRow; at = rows.parent(at)) {
          append(found, at, row);
          if (same.get(at) === customType) break;
        }
      }
    }
    return found;
  }

  #derivedFrom(isErased: ReadonlySet<number>): readonly DerivedEntry[] {
    const rows = this.#rows;
    const found = new Map<number, { readonly kind: DerivedEntry["kind"]; readonly from: Set<string> }>();
    const open: number[] = [...isErased];
    const rowSources = (row: number): Iterable<string> => found.get(row)?.from ?? [rows.id(row)];
    const add = (row: number, kind: DerivedEntry["kind"], from: Iterable<string>): void => {
      if (row === noRow || isErased.has(row)) return;
      const known = found.get(row);
      if (known === undefined) open.push(row);
      const entry = known ?? { kind, from: new Set<string>() };
      for (const id of from) entry.from.add(id);
      if (entry.from.size > 0) found.set(row, entry);
    };
    const follow = (): void => {
      for (let row = open.pop(); row !== undefined; row = open.pop()) {
        for (const dependent of this.#rowDependents(row))
          if (dependent.kind !== undefined) add(dependent.row, dependent.kind, rowSources(row));
        if (isErased.has(row))
          for (const id of this.#held.get(row) ?? []) add(rows.row(id), "copy", rowSources(row));
      }
    };
    follow();
    for (const { row, from } of this.#copies) add(row, "copy", [from]);
    const above = new MarkedAbove(rows, [...isErased, ...found.keys()]);
    const all = [...isErased].sort((a, b) => a - b).map((row) => rows.id(row));
    const imports: (readonly [row: number, entry: DerivedEntry])[] = [];
    for (const { row, kind, relation, namedId } of this.#placed) {
      if (kind === undefined || isErased.has(row)) continue;
      // All of them have one list: an import may have as many entries as it has lines.
      if (relation === "anything") imports.push([row, { entryId: rows.id(row), kind, from: all }]);
      else {
        const sources = above.of(relation, row, rows.row(namedId));
        const from = sources.flatMap((each) => [...rowSources(each)]);
        if (sources.length > 0) add(row, kind, from);
      }
    }
    follow();
    const derived = Array.from(found, ([row, { kind, from }]): (typeof imports)[number] => {
      const ids = [...from].sort((a, b) => rows.row(a) - rows.row(b));
      return [row, { entryId: rows.id(row), kind, from: ids }];
    });
    if (all.length > 0) for (const each of imports) derived.push(each);
    return derived.sort(([a], [b]) => a - b).map(([, entry]) => entry);
  }
}

/** Finds marked rows above others. */
class MarkedAbove {
  readonly #rows: EntryTable;
  readonly #marked: ReadonlySet<number>;
  /** The nearest marked row at or above each row; -2 if it is not known. */
  readonly #nearest: Int32Array;

  constructor(rows: EntryTable, marked: readonly number[]) {
    this.#rows = rows;
    this.#marked = new Set(marked);
    this.#nearest = new Int32Array(rows.size).fill(-2);
  }

  /** The marked rows that an entry is of, oldest first. */
  of(relation: Relation, row: number, named: number): readonly number[] {
    if (relation === "above") return this.#above(row);
    if (relation === "covered") return this.#covered(row, named);
    return relation === "abandoned" ? this.#abandoned(row, named) : [];
  }

  #above(row: number): readonly number[] {
    const found: number[] = [];
    const next = (below: number) => this.#nearestRow(this.#rows.parent(below));
    for (let at = next(row); at !== noRow; at = next(at)) found.push(at);
    return found.reverse();
  }

  #nearestRow(row: number): number {
    const passed: number[] = [];
    let at = row;
    while (at !== noRow && this.#nearest[at] === -2 && !this.#marked.has(at)) {
      passed.push(at);
      at = this.#rows.parent(at);
    }
    const nearest = at === noRow || this.#marked.has(at) ? at : (this.#nearest[at] as number);
    for (const each of passed) this.#nearest[each] = nearest;
    return nearest;
  }

  /** Those above a compaction that are not kept, and system messages, which it repeats. */
  #covered(row: number, firstKept: number): readonly number[] {
    const kept = new Set<number>();
    let at = this.#rows.parent(row);
    for (; at !== noRow && at !== firstKept; at = this.#rows.parent(at)) kept.add(at);
    const isKept = (each: number) => at !== noRow && (each === firstKept || kept.has(each));
    const above = this.#above(row);
    const system = above.filter((each) => this.#rows.kind(each) === "message/system");
    return [...new Set([...above.filter((each) => !isKept(each)), ...system])];
  }

  /** Those of the branch that was left. */
  #abandoned(row: number, left: number): readonly number[] {
    const path = new Set(this.#rows.path(row));
    if (left !== noRow && !path.has(left))
      return [...this.#rows.path(left)].filter((each) => this.#marked.has(each) && !path.has(each));
    // pi writes the target of the branch: then it is unknown which branch was left.
    return [...this.#marked].filter(
      (each) => !path.has(each) && (left === noRow || this.#rows.path(each).includes(left)),
    );
  }
}

/** Adds a value to the list of a key. */
export function append<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}

/** The keys of the entries that a source of an entry means. */
function entryKeys(
  entry: SessionEntry,
  source: Exclude<Source, Relation | { readonly reply: string }>,
): string[] {
  if ("ids" in source) return source.ids(entry).map((id) => idKey + id);
  if ("id" in source) return stringsIn(memberAt(entry, source.id)).map((id) => idKey + id);
  if ("resource" in source) return stringsIn(memberAt(entry, source.resource)).map((id) => `resource ${id}`);
  if ("call" in source) return stringsIn(memberAt(entry, source.call)).map((id) => `call ${id}`);
  const value = stringsIn(memberAt(entry, source.same));
  return value.filter((text) => text !== "").map((text) => sameKey(entry, text));
}

function sameKey(entry: SessionEntry, value: string): string {
  return `same ${entry.type === "custom" ? entry.customType : entry.type} ${value}`;
}

/** The keys that an entry answers to: its resources, its calls, and the value that copies of it have. */
function* keysIn(entry: SessionEntry): Generator<string> {
  for (const source of readOwnership(entry).erasedWith ?? [])
    if (typeof source === "object" && "same" in source) yield* entryKeys(entry, source);
  for (const open: unknown[] = [entry]; open.length > 0; ) {
    const value = open.pop();
    if (Array.isArray(value)) for (const item of value) open.push(item);
    if (!isRecord(value)) continue;
    if (typeof value.resourceId === "string" && value !== (entry as unknown))
      yield `resource ${value.resourceId}`;
    if (isCall(value) && entry.type !== "custom") yield `call ${value.id}`;
    for (const member of Object.values(value)) open.push(member);
  }
}
