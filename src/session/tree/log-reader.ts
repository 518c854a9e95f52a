/** Fills the table of entries from the lines of a log, with diagnostics. */

import { SessileError } from "../../errors/index.js";
import type { LinePlace } from "../api/backend.js";
import {
  type Diagnostic,
  DiagnosticList,
  type Diagnostics,
  extraHeader,
  isTerminatedTornLine,
  type LineDiagnostic,
  linesBeforeHeader,
  lineTooLong,
  newerVersion,
  tornLine,
  tornTail,
} from "../api/diagnostics.js";
import type { SessionEntry, SessionHeader, SessionInfoFields, UnknownEntry } from "../api/entries.js";
import { type DecodedLine, decodeHead, decodeLine, isNewer, LineDecoder } from "../format/decode.js";
import {
  type EntryKey,
  entryIdOf,
  entryKeyOf,
  parseEntryPrefix,
  parseTimestamp,
} from "../format/entry-prefix.js";
import { MessagePrefixReader } from "../format/message-prefix.js";
import { noRow } from "./entry-table.js";
import { entryTableOf, SessionTree, setLabel } from "./session-tree.js";

/** The fields of a session_info without those of every entry. */
export function infoFieldsOf(entry: SessionEntry & { readonly type: "session_info" }): SessionInfoFields {
  const { type: _type, id: _id, parentId: _parentId, timestamp: _timestamp, ...rest } = entry;
  const { erased: _erased, prior: _prior, merges: _merges, ...fields } = rest;
  return fields;
}

/** Options of {@link LogReader}. */
export interface LogReaderOptions {
  readonly maxDepth: number;
  /** Whether to parse each line in whole and report each entry; see {@link LogReader.readInFull}. */
  readonly full: boolean;
  /** Called with each entry whose body was read, and its row. */
  readonly onEntry?: (row: number, entry: SessionEntry | UnknownEntry) => void;
  readonly onDiagnostic?: (diagnostic: Diagnostic) => void;
  /** Receives the problems. @default a new list */
  readonly diagnostics?: Pick<DiagnosticList, "add" | "all">;
}

/**
 * Reads the lines of a log in order, and builds the state of a session: header, tree, labels, leaf, info and
 * diagnostics. Parses whole lines, or their canonical prefixes alone, which is enough to open a session.
 */
export class LogReader {
  readonly tree = new SessionTree();
  #header: SessionHeader | undefined;
  #info: SessionInfoFields = {};
  #lines = 0;
  /** The number of entries before the header. */
  #rowsBeforeHeader = 0;
  /** The row of the last entry with a body. */
  #leafRow = noRow;
  /** Its target if it is a leaf entry; undefined if it is the leaf itself. */
  #leafTarget: string | null | undefined;
  /** The lines of rows without a parent so far. */
  #lineOf = new Map<number, { readonly line: number; readonly at: number }>();
  /** The last message and its printable form: millions of lines may have the same problem. */
  #lastMessage = { raw: "", printable: "" };
  readonly #options: LogReaderOptions;
  readonly #diagnostics: Pick<DiagnosticList, "add" | "all">;
  readonly #table = entryTableOf(this.tree);
  /** Absent if lines are parsed in whole. Retains the bytes of the last batch. */
  #prefixReader: MessagePrefixReader | undefined;
  readonly #decoder: LineDecoder;
  #firstAt: number | undefined;

  constructor(options: LogReaderOptions) {
    this.#options = options;
    this.#decoder = new LineDecoder(options.maxDepth);
    this.#diagnostics = options.diagnostics ?? new DiagnosticList();
    if (!options.full) this.#prefixReader = new MessagePrefixReader();
  }

  get header(): SessionHeader | undefined {
    return this.#header;
  }

  /** Sets the header of a log that this handle creates, before its first line is written. */
  setHeader(header: SessionHeader): void {
    this.#header = header;
  }

  /** The latest session_info. */
  get info(): SessionInfoFields {
    return this.#info;
  }

  /** The number of lines so far, including blank ones. */
  get lines(): number {
    return this.#lines;
  }

  /** Uncounts the last line, before the entries in it are read as lines of their own. */
  uncountLine(): void {
    this.#lines--;
  }

  get diagnostics(): Diagnostics {
    return this.#diagnostics.all;
  }

  /** From now on, parses each line in whole: later lines are few, and listeners need them. */
  readInFull(): void {
    this.#prefixReader = undefined;
  }

  /** The version of the base format; undefined before the header. */
  get version(): number | undefined {
    return this.#decoder.version;
  }

  /** The position of the first line; undefined before it was read. */
  get firstAt(): number | undefined {
    return this.#firstAt;
  }

  /** The version that a row was decoded with: undefined for a row before the header. */
  versionAt(row: number): number | undefined {
    return row < this.#rowsBeforeHeader ? undefined : this.version;
  }

  /** The leaf: the last entry, or the target of a last leaf entry. */
  get leafId(): string | null {
    if (this.#leafRow === noRow || this.#leafTarget === null) return null;
    // A leaf entry with an unknown target counts as an ordinary entry.
    if (this.#leafTarget !== undefined && this.tree.has(this.#leafTarget)) return this.#leafTarget;
    return this.#table.id(this.#leafRow);
  }

  /** Reads the next line, at `at` in the log: the bytes from `start` up to `end`, without its line feed. */
  line(bytes: Uint8Array, at: number, start = 0, end = bytes.length): void {
    this.#lines++;
    const decoder = this.#decoder;
    if (decoder.isFirst) this.#firstAt = at;
    else if (start === end) return;
    // A torn line may have a whole prefix and is not an entry, so it is parsed in whole.
    const prefixReader = isTerminatedTornLine(bytes, end) ? undefined : this.#prefixReader;
    if (prefixReader !== undefined && this.#addMessage(prefixReader, bytes, at, start, end)) return;
    const { context } = decoder;
    const decoded =
      prefixReader === undefined
        ? decodeLine(bytes.subarray(start, end), context)
        : decodeHead(bytes, context, start, end);
    decoder.advance(decoded);
    if (decoded.kind === "entry" && decoded.diagnostics.length === 0) this.#add(decoded, at, end - start);
    else this.#apply(decoded, bytes.subarray(start, end), at, end - start);
  }

  /** Adds a message by its prefix. Returns false if the line must be decoded. */
  #addMessage(
    prefix: MessagePrefixReader,
    bytes: Uint8Array,
    at: number,
    start: number,
    end: number,
  ): boolean {
    if ((this.version ?? 0) < 2 || !prefix.read(bytes, start, end)) return false;
    const row = this.#table.addMessage(prefix, at, end - start);
    if (row === noRow) return false;
    this.#added(row, prefix.parentId, at);
    return true;
  }

  /** Skips a line that exceeds the maximum length, and reports it. */
  tooLong(at: number, length: number): void {
    this.#lines++;
    if (this.#decoder.isFirst) this.#firstAt = at;
    this.#decoder.skip();
    this.#reportLine(lineTooLong(length), at);
  }

  /**
   * Reads the bytes after the last line feed: a whole line, or a torn tail. Returns whether the line is
   * whole. A torn tail is reported only if the log is at rest: otherwise it is a write in progress.
   */
  tail(bytes: Uint8Array, at: number, atRest = true): boolean {
    const decoder = this.#decoder;
    if (decoder.isFirst) this.#firstAt = at;
    const decoded = decodeLine(bytes, decoder.context);
    if (decoded.kind === "blank") return false;
    if (decoded.kind !== "bad") {
      if (!atRest && decoded.kind === "entry" && this.#isKnown(decoded.head.id, at, bytes.length))
        return true;
      this.#lines++;
      decoder.advance(decoded);
      this.#apply(decoded, bytes, at, bytes.length);
      return true;
    }
    if (!atRest) return false;
    this.#lines++;
    this.#reportLine(tornTail(bytes.length), at);
    return false;
  }

  /** Links entries that precede their parents, and reports the others. Call it after a batch. */
  linkLateParents(): void {
    const { orphans, cycles } = this.#table.linkLateParents();
    const late = [
      ...orphans.map((row) => ({ row, code: "ORPHAN" as const, message: "the parent is not in the log" })),
      ...cycles.map((row) => ({
        row,
        code: "CYCLE" as const,
        message: "the parents form a cycle",
      })),
    ].sort((a, b) => a.row - b.row);
    for (const { row, code, message } of late) {
      const { line, at } = this.#lineOf.get(row) ?? { line: 0, at: 0 };
      this.report({ code, line, offset: at, message, entryId: this.#table.id(row) });
    }
    this.#lineOf = new Map();
  }

  /** Ends a whole read: links late parents, and reports a missing header. */
  finish(): void {
    this.linkLateParents();
    if (this.header !== undefined) return;
    if (this.lines === 0) this.report({ code: "EMPTY", line: 0, offset: 0, message: "the log is empty" });
    else this.report({ code: "NO_HEADER", line: 0, offset: 0, message: "no line is a header" });
  }

  #apply(decoded: DecodedLine, bytes: Uint8Array, at: number, length: number): void {
    switch (decoded.kind) {
      case "blank":
        return;
      case "header":
        this.#applyHeader(decoded, at);
        return;
      case "bad": {
        if (isTerminatedTornLine(bytes)) {
          this.#reportLine(tornLine(length - 1), at);
          return;
        }
        const head = (this.version ?? 0) >= 2 ? parseEntryPrefix(bytes) : undefined;
        for (const note of decoded.diagnostics) this.#reportLine(note, at, head && entryIdOf(head.id));
        // The entry stays in the tree without its body, so that its descendants keep their history.
        if (head !== undefined) this.#add({ kind: "entry", head, diagnostics: [] }, at, length, false);
        return;
      }
      case "entry":
        for (const note of decoded.diagnostics) this.#reportLine(note, at, entryIdOf(decoded.head.id));
        this.#add(decoded, at, length);
    }
  }

  #applyHeader(decoded: DecodedLine & { kind: "header" }, at: number): void {
    for (const note of decoded.diagnostics) this.#reportLine(note, at);
    if (this.header !== undefined) {
      this.#reportLine(extraHeader, at);
      return;
    }
    this.#header = decoded.header;
    this.#rowsBeforeHeader = this.#table.size;
    if (this.lines > 1) this.#reportLine(linesBeforeHeader(this.lines - 1), at);
    if (isNewer(decoded.header)) this.#reportLine(newerVersion, at);
  }

  /** @param hasBody false for a damaged body: such an entry is not a leaf, because other programs skip it */
  #add(decoded: DecodedLine & { kind: "entry" }, at: number, length: number, hasBody = true): void {
    const { head, entry } = decoded;
    const row = this.#table.add(head, { at, length });
    if (row === noRow) {
      // A last line is read again once it has its line feed.
      if (this.#isKnown(head.id, at, length)) return;
      const id = entryIdOf(head.id);
      const message = `an earlier entry has the id ${id}; this one is ignored`;
      this.#reportLine({ code: "DUPLICATE_ID", message }, at, id);
      return;
    }
    this.#added(row, head.parentId, at, hasBody);
    if (entry === undefined) return;
    this.#applyStructure(entry);
    this.#options.onEntry?.(row, entry);
  }

  #added(row: number, parentId: EntryKey | null, at: number, hasBody = true): void {
    if (parentId !== null && this.#table.parent(row) === noRow)
      this.#lineOf.set(row, { line: this.lines, at });
    if (hasBody) this.setLeafRow(row, undefined);
  }

  /** The row of the last entry with a body, or {@link noRow}. */
  get leafRow(): number {
    return this.#leafRow;
  }

  /** Corrects the last entry with a body, after bodies that follow it turned out to be damaged. */
  setLeafRow(row: number, entry: SessionEntry | UnknownEntry | undefined): void {
    this.#leafRow = row;
    this.#leafTarget = entry?.type === "leaf" ? entry.targetId : undefined;
  }

  /** Adds an entry that this handle writes. Returns its row, or -1 if the entry is in the tree already. */
  applyLocalEntry(entry: SessionEntry, line: LinePlace | undefined): number {
    const { type, id, parentId } = entry;
    const head = {
      type,
      id: entryKeyOf(id),
      parentId: parentId === null ? null : entryKeyOf(parentId),
      time: parseTimestamp(entry.timestamp),
      role: type === "message" ? entry.message.role : undefined,
    };
    const row = this.#table.add(head, line);
    if (row === noRow) return noRow;
    if (this.#table.hasUnlinkedParents) this.#table.linkLateParents();
    this.applySessionWideState(row, entry);
    return row;
  }

  /** Applies an entry's session-wide effect (leaf, label, session_info) as that of the newest entry. */
  applySessionWideState(row: number, entry: SessionEntry): void {
    this.#leafRow = row;
    this.#applyStructure(entry);
  }

  #applyStructure(entry: SessionEntry | UnknownEntry): void {
    this.#leafTarget = entry.type === "leaf" ? entry.targetId : undefined;
    if (entry.type === "label") {
      setLabel(this.tree, entry.targetId, entry.label, entry.timestamp);
    } else if (entry.type === "session_info") {
      this.#info = infoFieldsOf(entry);
    }
  }

  /** Whether the line was read before. The line of a staged entry is recorded with it. */
  #isKnown(id: EntryKey, at: number, length: number): boolean {
    const row = this.#table.rowOfKey(id);
    if (row === noRow) return false;
    if (this.#table.line(row) === undefined) this.#table.setLine(row, at, length);
    return this.#table.line(row)?.at === at;
  }

  #reportLine({ code, message }: LineDiagnostic, at: number, entryId?: string): void {
    const diagnostic = { code, line: this.lines, offset: at, message };
    this.report(entryId === undefined ? diagnostic : { ...diagnostic, entryId });
  }

  /** Records a problem, with a printable message. */
  report(found: Diagnostic): void {
    if (found.message !== this.#lastMessage.raw)
      this.#lastMessage = { raw: found.message, printable: SessileError.printable(found.message) };
    const message = this.#lastMessage.printable;
    const diagnostic = message === found.message ? found : { ...found, message };
    this.#diagnostics.add(diagnostic);
    this.#options.onDiagnostic?.(diagnostic);
  }
}
