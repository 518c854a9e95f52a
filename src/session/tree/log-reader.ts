/** Fills the table of entries from the lines of a log, with diagnostics. */

import { SessileError } from "../../core/errors/index.js";
import {
  type DecodedLine,
  type Diagnostic,
  DiagnosticList,
  type Diagnostics,
  decodeParts,
  decodeUsualHeader,
  type EntryHead,
  type EntryKey,
  EntryPrefix,
  extraHeader,
  isNewer,
  isStructural,
  isTerminatedTornLine,
  isUsualEntry,
  LineDecoder,
  type LineDiagnostic,
  type LinePart,
  type LineRange,
  linesBeforeHeader,
  lineTooLong,
  newerVersion,
  ParentKeyFinder,
  parseTimestamp,
  parseUsualLine,
  type SessionEntry,
  type SessionHeader,
  type SessionInfoFields,
  toEntryId,
  toEntryKey,
  tornLine,
  tornTail,
  type UnknownEntry,
  type UsualLines,
} from "../../log/internal.js";
import type { KeptBytes, LinePlace } from "../api/backend.js";
import { noRow, SessionTree, setLabel, treeRows } from "./session-tree.js";

/** The fields of a session_info without those of every entry. */
export function entryInfoFields(entry: SessionEntry & { readonly type: "session_info" }): SessionInfoFields {
  const { type: _type, id: _id, parentId: _parentId, timestamp: _timestamp, ...rest } = entry;
  const { erased: _erased, prior: _prior, merges: _merges, ...fields } = rest;
  return fields;
}

const orphan = "the parent is not in the log; the entry follows the one before it";

/** Options of {@link LogReader}. */
export interface LogReaderOptions {
  readonly maxDepth: number;
  /** Whether to parse each line in whole and report each entry; see {@link LogReader.readInFull}. */
  readonly full: boolean;
  /** Called with each entry whose body was read, and its row. */
  readonly onEntry?: (row: number, entry: SessionEntry | UnknownEntry) => void;
  /** Called with a row that has only damaged lines so far, for a line that counts in their place. */
  readonly onRepaired?: (row: number) => void;
  readonly onDiagnostic?: (diagnostic: Diagnostic, damaged?: DamagedBytes) => void;
  /** Receives the problems. @default a new list */
  readonly diagnostics?: Pick<DiagnosticList, "add" | "all">;
}

/** The bytes of a line, or of a part of one, that a diagnostic concerns. */
export interface DamagedBytes {
  /** Absent for a line over the maximum. */
  readonly bytes?: Uint8Array;
  readonly length: number;
  /** Whether they give no entry a body. */
  readonly isLost: boolean;
}

/** The line of a row, and its part of it if it shares the line. */
export interface EntryPlace extends LinePlace {
  readonly part?: LineRange | undefined;
}

/**
 * Reads the lines of a log in order, and builds the state of a session: header, tree, labels, leaf, info and
 * diagnostics. Parses whole lines, or their canonical prefixes alone, which is enough to open a session.
 */
export class LogReader {
  readonly tree = new SessionTree();
  /** The header. That of a log which this handle creates is set before its first line is written. */
  header: SessionHeader | undefined;
  #info: SessionInfoFields = {};
  #hasInfo = false;
  /** The number of lines so far, including blank ones. */
  lines = 0;
  #headerPlace: EntryPlace | undefined;
  /** The number of entries before the header. */
  #rowsBeforeHeader = 0;
  /** The row of the last entry with a body, or {@link noRow}. */
  leafRow: number = noRow;
  /** Its target if it is a leaf entry; undefined if it is the leaf itself. */
  #leafTarget: string | null | undefined;
  /** Rows that have only damaged lines, with the ids of their parents. */
  readonly #damaged = new Map<number, EntryKey | null>();
  /** Later lines with the ids of rows whose bodies were not read: they count if the first one is damaged. */
  readonly #repeats = new Map<number, EntryPlace>();
  /** The lines of rows without a parent so far. */
  #unlinked = new Map<number, { readonly line: number; readonly at: number; readonly parentId: EntryKey }>();
  /** The stored parents of rows that are linked to another, or to none. */
  readonly #lostParents = new Map<number, EntryKey>();
  /** The last message and its printable form: millions of lines may have the same problem. */
  #lastMessage = { raw: "", printable: "" };
  readonly #options: LogReaderOptions;
  readonly #diagnostics: Pick<DiagnosticList, "add" | "all">;
  readonly #table = treeRows(this.tree);
  /** Whether prefixes are read alone, and bodies only if they are at hand. */
  readsPrefixes: boolean;
  /** Retains the bytes of the last batch. */
  #prefix: EntryPrefix | undefined;
  #parentKeys: ParentKeyFinder | undefined;
  #usual: UsualLines | undefined;
  /** The last id of a line that was parsed, and its key: the next line mostly follows it. */
  #lastId = "";
  #lastKey: EntryKey = "";
  readonly #head: { -readonly [K in keyof EntryHead]: EntryHead[K] } = {
    type: "",
    id: 0,
    parentId: null,
    time: 0,
    role: undefined,
  };
  readonly #decoder: LineDecoder;
  #firstAt: number | undefined;
  #lastAt = -1;

  constructor(options: LogReaderOptions) {
    this.#options = options;
    this.#decoder = new LineDecoder(options.maxDepth);
    this.#diagnostics = options.diagnostics ?? new DiagnosticList();
    this.readsPrefixes = !options.full;
  }

  /** The place of the header's line; undefined before it was read. */
  get headerPlace(): EntryPlace | undefined {
    return this.#headerPlace;
  }

  /** The latest session_info. */
  get info(): SessionInfoFields {
    return this.#info;
  }

  /** Whether the latest session_info is known. */
  get hasInfo(): boolean {
    return this.#hasInfo;
  }

  /** The latest session_info, of the lines before those that were read; empty if the log has none. */
  setInfo(info: SessionInfoFields): void {
    this.#info = info;
    this.#hasInfo = true;
  }

  /** Rows that have a place in the tree, but no readable line. */
  get damagedRows(): ReadonlyMap<number, EntryKey | null> {
    return this.#damaged;
  }

  get diagnostics(): Diagnostics {
    return this.#diagnostics.all;
  }

  /**
   * Reads the lines of a log that was read at once.
   *
   * @param usual parses the usual lines, whose bodies the first context of a small log needs anyway. In a new process
   *   code that compares bytes runs interpreted: a plain reader of 1,000 prefixes and bodies takes 11 ms, of whole
   *   lines 7 (Node 24).
   */
  readAll({ bytes, at, end: stop }: KeptBytes, maxLineBytes: number, usual: UsualLines | undefined): void {
    this.readUsual(usual);
    // Among the first 1,000 calls that of the array takes 0.2 us and Buffer's 1.4; later it takes twice as long (Node 24).
    const search = usual === undefined ? bytes.indexOf : Uint8Array.prototype.indexOf;
    for (let start = 0, end = 0; start < stop; start = end + 1) {
      end = search.call(bytes, 10, start);
      if (end - start > maxLineBytes) this.tooLong(at + start, end - start);
      else this.line(bytes, at + start, start, end);
    }
    this.readUsual(undefined);
  }

  /** From now on, parses the usual lines at once; see {@link readAll}. */
  readUsual(usual: UsualLines | undefined): void {
    this.#usual = usual;
  }

  /** From now on, parses each line in whole: later lines are few, and listeners need them. */
  readInFull(): void {
    this.readsPrefixes = false;
    this.#prefix = undefined;
    this.#parentKeys = undefined;
  }

  /** Gives a row whose line turned out to be damaged the next line with its id. Returns whether it has one. */
  useRepeat(row: number): boolean {
    const repeat = this.#repeats.get(row);
    if (repeat === undefined) return false;
    this.#repeats.delete(row);
    this.#table.setLine(row, repeat, repeat.part);
    return true;
  }

  /** The version of the base format; undefined before the header. */
  get version(): number | undefined {
    return this.#decoder.version;
  }

  /** The position of the first line; undefined before it was read. */
  get firstAt(): number | undefined {
    return this.#firstAt;
  }

  /** The place of the last line that was read or written; -1 before the first. */
  get lastAt(): number {
    return this.#lastAt;
  }

  /** Whether the leaf is an entry that was read: a last leaf entry may name one that was not. */
  get isLeafKnown(): boolean {
    if (this.leafRow === noRow) return false;
    return typeof this.#leafTarget !== "string" || this.tree.has(this.#leafTarget);
  }

  /** Begins after lines that are not read: the next one is not the first after the header. */
  startAfter(decoded: DecodedLine & { readonly kind: "header" }, place: EntryPlace): void {
    this.#decoder.advance(decoded);
    this.header = decoded.header;
    this.#headerPlace = place;
    this.#firstAt = place.at;
    this.#table.setPartial();
  }

  /** The version that a row was decoded with: undefined for a row before the header. */
  versionAt(row: number): number | undefined {
    return row < this.#rowsBeforeHeader ? undefined : this.version;
  }

  /** The leaf: the last entry, or the target of a last leaf entry. */
  get leafId(): string | null {
    if (this.leafRow === noRow || this.#leafTarget === null) return null;
    // A leaf entry with an unknown target counts as an ordinary entry.
    if (this.#leafTarget !== undefined && this.tree.has(this.#leafTarget)) return this.#leafTarget;
    return this.#table.id(this.leafRow);
  }

  /** Reads the next line, at `at` in the log: the bytes from `start` up to `end`, without its line feed. */
  line(bytes: Uint8Array, at: number, start = 0, end = bytes.length): void {
    this.lines++;
    this.#lastAt = at;
    const decoder = this.#decoder;
    if (decoder.isFirst) this.#firstAt = at;
    else if (start === end) return;
    let value: unknown;
    if (decoder.version !== undefined && decoder.version >= 2) {
      const usual = this.#usual;
      let entry: SessionEntry | undefined;
      let head: EntryHead | undefined;
      // Messages and settings, by the first letter of the type: of other types few bodies are needed.
      if (usual !== undefined && (bytes[start + 9] === 0x6d || bytes[start + 9] === 0x74)) {
        const parsed = parseUsualLine(bytes, start, end, usual);
        value = parsed;
        if (parsed !== undefined && isUsualEntry(parsed)) {
          entry = parsed;
          head = this.#entryHead(parsed, parsed.timestamp);
        }
      }
      head ??= this.#readPrefix(bytes, at, start, end);
      if (head !== undefined) {
        const row = this.#table.add(head, at, end - start);
        if (row === noRow) {
          this.#add({ kind: "entry", head, diagnostics: [] }, { at, length: end - start });
          return;
        }
        if (head.parentId !== null && this.#table.parents[row] === noRow)
          this.#unlinked.set(row, { line: this.lines, at, parentId: head.parentId });
        this.leafRow = row;
        this.#leafTarget = undefined;
        if (entry !== undefined) this.#options.onEntry?.(row, entry);
        return;
      }
    } else if (decoder.isFirst && this.#usual !== undefined) {
      const header = decodeUsualHeader(this.#usual.text(bytes, start, end));
      if (header !== undefined) {
        decoder.advance(header);
        this.#applyHeader(header, { at, length: end - start });
        return;
      }
    }
    const line = bytes.subarray(start, end);
    const parts = decoder.decode(line, value === undefined ? undefined : { value });
    for (const part of parts) this.#apply(part, line, at);
  }

  /** The head of an entry, in an object that the next one overwrites. */
  #entryHead(entry: SessionEntry, time: number | string): EntryHead {
    const { id, parentId } = entry;
    const head = this.#head;
    head.type = entry.type;
    head.parentId =
      parentId !== null && parentId === this.#lastId ? this.#lastKey : parentId && toEntryKey(parentId);
    head.id = toEntryKey(id);
    head.time = time;
    head.role = entry.type === "message" ? entry.message.role : undefined;
    this.#lastId = id;
    this.#lastKey = head.id;
    return head;
  }

  #readPrefix(bytes: Uint8Array, at: number, start: number, end: number): EntryHead | undefined {
    if (!this.readsPrefixes) return undefined;
    this.#prefix ??= new EntryPrefix();
    this.#parentKeys ??= new ParentKeyFinder();
    const prefix = this.#prefix;
    if (!prefix.read(bytes, start, end)) return undefined;
    // Bodies of structural types are small, and opening a session needs them.
    if (prefix.type !== "message" && isStructural.has(prefix.type)) return undefined;
    // Another entry may be joined to it.
    const joined = this.#parentKeys.next(bytes, at - start, prefix.end);
    if (joined < end) return undefined;
    if (prefix.role === "hookMessage") prefix.role = "custom";
    return prefix;
  }

  /** Skips a line that exceeds the maximum length, and reports it. */
  tooLong(at: number, length: number): void {
    this.lines++;
    this.#lastAt = at;
    if (this.#decoder.isFirst) this.#firstAt = at;
    this.#decoder.skip();
    this.#reportLine(lineTooLong(length), at, undefined, { length, isLost: true });
  }

  /**
   * Reads the bytes after the last line feed: a whole line, or a torn tail. Returns whether the line is
   * whole. A torn tail is reported only if the log is at rest: otherwise it is a write in progress.
   */
  tail(bytes: Uint8Array, at: number, atRest = true): boolean {
    const decoder = this.#decoder;
    if (decoder.isFirst) this.#firstAt = at;
    const found = decodeParts(bytes, decoder.context);
    const { kind } = (found.at(-1) as LinePart).decoded;
    if (kind === "blank" || (kind === "bad" && !atRest)) return false;
    const isKnown = ({ start, decoded }: LinePart) =>
      decoded.kind === "entry" && this.#isKnown(decoded.head.id, at, start, bytes.length);
    // A torn tail may become a line, which is new then.
    if (kind !== "bad") this.#lastAt = at;
    if (!atRest && found.every(isKnown)) return true;
    this.lines++;
    // A torn tail is no line yet.
    const parts = found.length === 1 && kind === "bad" ? found : decoder.decode(bytes);
    for (const part of parts) this.#apply(part, bytes, at, part.end === bytes.length);
    return kind !== "bad";
  }

  /** Links entries that precede their parents, and reports the others. Call it after a batch. */
  linkLateParents(): void {
    const { orphans, cycles } = this.#table.linkLateParents();
    const late = [
      ...orphans.map((row) => ({ row, code: "ORPHAN" as const, message: orphan })),
      ...cycles.map((row) => ({
        row,
        code: "CYCLE" as const,
        message: "the parents form a cycle",
      })),
    ].sort((a, b) => a.row - b.row);
    for (const { row, code, message } of late) {
      const { line, at, parentId } = this.#unlinked.get(row) ?? { line: 0, at: 0, parentId: undefined };
      if (parentId !== undefined) this.#lostParents.set(row, parentId);
      this.report({ code, line, offset: at, message, entryId: this.#table.id(row) });
    }
    this.#unlinked = new Map();
  }

  /** Ends a whole read: links late parents, and reports a missing header. */
  finish(): void {
    if (this.#table.hasUnlinkedParents) this.linkLateParents();
    if (this.header !== undefined) return;
    if (this.lines === 0) this.report({ code: "EMPTY", line: 0, offset: 0, message: "the log is empty" });
    else this.report({ code: "NO_HEADER", line: 0, offset: 0, message: "no line is a header" });
  }

  /** @param isTail whether the part ends a log without a line feed */
  #apply(part: LinePart, line: Uint8Array, at: number, isTail = false): void {
    const { start, end, decoded } = part;
    const isWhole = start === 0 && end === line.length;
    const place: EntryPlace = { at, length: line.length, part: isWhole ? undefined : { start, end } };
    switch (decoded.kind) {
      case "blank":
        return;
      case "header":
        this.#applyHeader(decoded, place);
        return;
      case "bad": {
        const bytes = line.subarray(start, end);
        const lost = { bytes, length: end - start, isLost: true };
        if (isTail) {
          this.#reportLine(tornTail(end - start), at, undefined, lost);
          return;
        }
        if (end === line.length && isTerminatedTornLine(line)) {
          this.#reportLine(tornLine(end - start - 1), at, undefined, lost);
          return;
        }
        const { head } = part;
        for (const note of decoded.diagnostics)
          this.#reportLine(note, at, head && toEntryId(head.id), {
            ...lost,
            isLost: note === decoded.diagnostics.at(-1),
          });
        // The entry stays in the tree without its body, so that its descendants keep their history.
        if (head !== undefined) this.#add({ kind: "entry", head, diagnostics: [] }, place, line, false);
        return;
      }
      case "entry":
        for (const note of decoded.diagnostics)
          this.#reportLine(note, at, toEntryId(decoded.head.id), { length: end - start, isLost: false });
        this.#add(decoded, place, line);
    }
  }

  #applyHeader(decoded: DecodedLine & { kind: "header" }, place: EntryPlace): void {
    const { at, part } = place;
    const length = part === undefined ? place.length : part.end - part.start;
    const found = { length, isLost: false };
    for (const note of decoded.diagnostics) this.#reportLine(note, at, undefined, found);
    if (this.header !== undefined) {
      this.#reportLine(extraHeader, at, undefined, { length, isLost: true });
      return;
    }
    this.header = decoded.header;
    this.#headerPlace = place;
    this.#rowsBeforeHeader = this.#table.size;
    if (this.lines > 1) this.#reportLine(linesBeforeHeader(this.lines - 1), at, undefined, found);
    if (isNewer(decoded.header)) this.#reportLine(newerVersion, at, undefined, found);
  }

  /** @param hasBody false for a damaged body: such an entry is not a leaf, because other programs skip it */
  #add(decoded: DecodedLine & { kind: "entry" }, place: EntryPlace, line?: Uint8Array, hasBody = true): void {
    const { head, entry } = decoded;
    const { at, length, part } = place;
    let row = this.#table.add(head, at, length);
    if (row === noRow) {
      row = this.#table.rowOfKey(head.id);
      const isCopy = hasBody && this.#damaged.get(row) === head.parentId;
      // A last line is read again once it has its line feed.
      if (!isCopy && this.#isKnown(head.id, at, part?.start ?? 0, length)) return;
      this.#reportRepeat(head.id, isCopy, place, line);
      if (!isCopy) {
        if (hasBody && !this.#options.full && !this.#repeats.has(row) && this.#isParent(row, head.parentId))
          this.#repeats.set(row, place);
        return;
      }
      this.#damaged.delete(row);
      this.#table.setLine(row, place, part);
      this.#options.onRepaired?.(row);
      if (row > this.leafRow) this.setLeafRow(row, undefined);
    } else {
      if (part !== undefined) this.#table.setPart(row, part);
      if (!hasBody) this.#damaged.set(row, head.parentId);
      this.#added(row, head.parentId, at, hasBody);
    }
    if (entry === undefined) return;
    this.#applyStructure(entry);
    if (row === this.leafRow) this.#leafTarget = entry.type === "leaf" ? entry.targetId : undefined;
    this.#options.onEntry?.(row, entry);
  }

  #reportRepeat(key: EntryKey, isCopy: boolean, { at, part, length }: EntryPlace, line?: Uint8Array): void {
    const id = toEntryId(key);
    const message = isCopy
      ? `the earlier line of entry ${id} is damaged; this one counts`
      : `an earlier entry has the id ${id}; this one is ignored`;
    const { start, end } = part ?? { start: 0, end: length };
    const bytes = line === undefined ? {} : { bytes: line.subarray(start, end) };
    this.#reportLine({ code: "DUPLICATE_ID", message }, at, id, {
      ...bytes,
      length: end - start,
      isLost: !isCopy,
    });
  }

  /** Whether the stored parent of a row is this one. */
  #isParent(row: number, parentId: EntryKey | null): boolean {
    const stored = this.#unlinked.get(row)?.parentId ?? this.#lostParents.get(row);
    if (stored !== undefined) return stored === parentId;
    const parent = this.#table.parent(row);
    return (parent === noRow ? null : this.#table.key(parent)) === parentId;
  }

  #added(row: number, parentId: EntryKey | null, at: number, hasBody = true): void {
    if (parentId !== null && this.#table.parents[row] === noRow)
      this.#unlinked.set(row, { line: this.lines, at, parentId });
    if (hasBody) this.setLeafRow(row, undefined);
  }

  /** Corrects the last entry with a body, after bodies that follow it turned out to be damaged. */
  setLeafRow(row: number, entry: SessionEntry | UnknownEntry | undefined): void {
    this.leafRow = row;
    this.#leafTarget = entry?.type === "leaf" ? entry.targetId : undefined;
  }

  /**
   * Adds an entry that this handle writes. Returns its row, or -1 if the entry is in the tree already.
   *
   * @param time the entry's time in milliseconds, if the caller knows it
   */
  applyLocalEntry(entry: SessionEntry, line: LinePlace | undefined, time?: number): number {
    const head = this.#entryHead(entry, time ?? parseTimestamp(entry.timestamp));
    if (line !== undefined) this.#lastAt = line.at;
    const row = this.#table.add(head, line?.at, line?.length);
    if (row === noRow) return noRow;
    if (this.#table.hasUnlinkedParents) this.#table.linkLateParents();
    if (isStructural.has(entry.type)) {
      this.applySessionWideState(row, entry);
    } else {
      this.leafRow = row;
      this.#leafTarget = undefined;
    }
    return row;
  }

  /** Applies an entry's session-wide effect (leaf, label, session_info) as that of the newest entry. */
  applySessionWideState(row: number, entry: SessionEntry): void {
    this.setLeafRow(row, entry);
    this.#applyStructure(entry);
  }

  #applyStructure(entry: SessionEntry | UnknownEntry): void {
    if (entry.type === "label") {
      setLabel(this.tree, entry.targetId, entry.label, entry.timestamp);
    } else if (entry.type === "session_info") {
      this.#info = entryInfoFields(entry);
      this.#hasInfo = true;
    }
  }

  /** Whether the line was read before. The line of a staged entry is recorded with it. */
  #isKnown(id: EntryKey, at: number, start: number, length: number): boolean {
    const table = this.#table;
    const row = table.rowOfKey(id);
    if (row === noRow) return false;
    const place = table.line(row);
    if (place === undefined) table.setLine(row, { at, length });
    else if (place.at !== at || (table.part(row)?.start ?? 0) !== start) return false;
    // A program may have written on in the line.
    else if (place.length !== length)
      table.setLine(row, { at, length }, table.part(row) ?? { start, end: place.length });
    return true;
  }

  #reportLine({ code, message }: LineDiagnostic, at: number, entryId?: string, damaged?: DamagedBytes): void {
    // The number of lines that were not read is not known.
    const line = this.#table.isPartial ? 0 : this.lines;
    const diagnostic = { code, line, offset: at, message };
    this.report(entryId === undefined ? diagnostic : { ...diagnostic, entryId }, damaged);
  }

  /** Records a problem, with a printable message. */
  report(found: Diagnostic, damaged?: DamagedBytes): void {
    if (found.message !== this.#lastMessage.raw)
      this.#lastMessage = { raw: found.message, printable: SessileError.printable(found.message) };
    const message = this.#lastMessage.printable;
    const diagnostic = message === found.message ? found : { ...found, message };
    this.#diagnostics.add(diagnostic);
    this.#options.onDiagnostic?.(diagnostic, damaged);
  }
}
