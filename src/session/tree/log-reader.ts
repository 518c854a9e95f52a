import { SessileError } from "../../errors/index.js";
import type { LinePlace } from "../api/backend.js";
import {
  type Diagnostic,
  DiagnosticList,
  type Diagnostics,
  extraHeader,
  isTerminatedTornLine,
  linesBeforeHeader,
  lineTooLong,
  newerVersion,
  tornLine,
  tornTail,
} from "../api/diagnostics.js";
import type { SessionEntry, SessionHeader, SessionInfoFields, UnknownEntry } from "../api/entries.js";
import {
  type DecodedLine,
  decodeHead,
  decodeLine,
  isNewer,
  LineDecoder,
  type LineDiagnostic,
} from "../format/decode.js";
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

/** How a {@link LogReader} reads. */
export interface LogReaderOptions {
  readonly maxDepth: number;
  /** Parse every line in whole, and hand each entry over. Can be turned on later by {@link LogReader.readInFull}. */
  readonly full: boolean;
  /** Called for each entry whose body was read, with its row. */
  readonly onEntry?: (row: number, entry: SessionEntry | UnknownEntry) => void;
  readonly onDiagnostic?: (diagnostic: Diagnostic) => void;
  /** Where problems are added. Default a list of its own. */
  readonly diagnostics?: Pick<DiagnosticList, "add" | "all">;
}

/**
 * Takes the lines of a log in order and keeps what a session is: header, tree, labels, leaf, name, and what is wrong.
 * Used for a whole parse, for opening by heads alone, and for lines that come later.
 */
export class LogReader {
  readonly tree = new SessionTree();
  header: SessionHeader | undefined;
  info: SessionInfoFields = {};
  /** Lines seen, blank ones too. */
  lines = 0;
  /** Entries that stand before the header. */
  #before = 0;
  /** The row of the last entry that says where the leaf is. */
  #tipRow = noRow;
  /** The leaf that a leaf entry names; undefined where the last entry is the leaf itself. */
  #target: string | null | undefined;
  #lineOf = new Map<number, { readonly line: number; readonly at: number }>();
  /** Of the entry that this program wrote last. */
  #own: { readonly id: string; readonly key: EntryKey } = { id: "", key: "" };
  #ownTime: { readonly timestamp: string; readonly time: number | string } = { timestamp: "", time: "" };
  #printed = { from: "", to: "" };
  readonly #options: LogReaderOptions;
  readonly #diagnostics: Pick<DiagnosticList, "add" | "all">;
  readonly #rows = entryTableOf(this.tree);
  /** Absent where every line is parsed in whole. It holds on to the bytes that it read last. */
  #heads: MessagePrefixReader | undefined;
  readonly #decoder: LineDecoder;
  #firstAt: number | undefined;

  constructor(options: LogReaderOptions) {
    this.#options = options;
    this.#decoder = new LineDecoder(options.maxDepth);
    this.#diagnostics = options.diagnostics ?? new DiagnosticList();
    if (!options.full) this.#heads = new MessagePrefixReader();
  }

  get diagnostics(): Diagnostics {
    return this.#diagnostics.all;
  }

  /** From here on every line is parsed in whole: what comes later is little, and its listeners want it. */
  readInFull(): void {
    this.#heads = undefined;
  }

  /** The version of the base format; a log without a header reads as the current one. */
  get version(): number | undefined {
    return this.#decoder.version;
  }

  /** Where the log's first line lies; undefined before it was read. */
  get firstAt(): number | undefined {
    return this.#firstAt;
  }

  /** The version that the line of a row was read as: what stands before the header was read without one. */
  versionAt(row: number): number | undefined {
    return row < this.#before ? undefined : this.version;
  }

  /** The leaf that the log names: its last entry, or that one's target. */
  get leafId(): string | null {
    if (this.#tipRow === noRow || this.#target === null) return null;
    // A leaf entry whose target is gone says nothing; then it is a last entry like any other.
    if (this.#target !== undefined && this.tree.has(this.#target)) return this.#target;
    return this.#rows.id(this.#tipRow);
  }

  /** Takes the next line: the bytes from `start` up to `end`, without its line feed, which lies at `at` in the log. */
  line(bytes: Uint8Array, at: number, start = 0, end = bytes.length): void {
    this.lines++;
    const decoder = this.#decoder;
    if (decoder.isFirst) this.#firstAt = at;
    else if (start === end) return;
    // The head of a torn line is no entry, so that its body has to be looked at.
    const heads = isTerminatedTornLine(bytes, end) ? undefined : this.#heads;
    if (heads !== undefined && this.#message(heads, bytes, at, start, end)) return;
    const { context } = decoder;
    const decoded =
      heads === undefined
        ? decodeLine(bytes.subarray(start, end), context)
        : decodeHead(bytes, context, start, end);
    decoder.advance(decoded);
    if (decoded.kind === "entry" && decoded.diagnostics.length === 0) this.#add(decoded, at, end - start);
    else this.#take(decoded, bytes.subarray(start, end), at, end - start);
  }

  /** Takes a line as most are, if it is one. */
  #message(heads: MessagePrefixReader, bytes: Uint8Array, at: number, start: number, end: number): boolean {
    if ((this.version ?? 0) < 2 || !heads.read(bytes, start, end)) return false;
    const row = this.#rows.addMessage(heads, at, end - start);
    if (row === noRow) return false;
    this.#follows(row, heads.parentId, at);
    return true;
  }

  /** Takes note of a line that was too long to be handed over. */
  tooLong(at: number, length: number): void {
    this.lines++;
    if (this.#decoder.isFirst) this.#firstAt = at;
    this.#decoder.skip();
    this.#report(lineTooLong(length), at);
  }

  /**
   * Takes what follows the last line feed: a whole line that only lacks its own, or a torn one. True when whole. A torn
   * one is a problem of a log at rest; while another writes, it is a line that is on its way.
   */
  tail(bytes: Uint8Array, at: number, atRest = true): boolean {
    const decoder = this.#decoder;
    if (decoder.isFirst) this.#firstAt = at;
    const decoded = decodeLine(bytes, decoder.context);
    if (decoded.kind === "blank") return false;
    if (decoded.kind !== "bad") {
      if (!atRest && decoded.kind === "entry" && this.#isKnown(decoded.head.id, at, bytes.length))
        return true;
      this.lines++;
      decoder.advance(decoded);
      this.#take(decoded, bytes, at, bytes.length);
      return true;
    }
    if (!atRest) return false;
    this.lines++;
    this.#report(tornTail(bytes.length), at);
    return false;
  }

  /** Places what came out of order. Call it after the last line of a batch. */
  linkLateParents(): void {
    const { orphans, cycles } = this.#rows.linkLateParents();
    const late = [
      ...orphans.map((row) => ({ row, code: "ORPHAN" as const, message: "the parent is not in the log" })),
      ...cycles.map((row) => ({
        row,
        code: "CYCLE" as const,
        message: "the parents lead back to the entry",
      })),
    ].sort((a, b) => a.row - b.row);
    for (const { row, code, message } of late) {
      const place = this.#lineOf.get(row) ?? { line: 0, at: 0 };
      this.#note({ code, line: place.line, offset: place.at, message, entryId: this.#rows.id(row) });
    }
    this.#lineOf = new Map();
  }

  /** Says what is wrong with the log as a whole, once it was read to its end. */
  finish(): void {
    this.linkLateParents();
    if (this.header !== undefined) return;
    const code = this.lines === 0 ? "EMPTY" : "NO_HEADER";
    this.#note({
      code,
      line: 0,
      offset: 0,
      message: code === "EMPTY" ? "the log is empty" : "no line is a header",
    });
  }

  #take(decoded: DecodedLine, bytes: Uint8Array, at: number, length: number): void {
    switch (decoded.kind) {
      case "blank":
        return;
      case "header":
        this.#header(decoded, at);
        return;
      case "bad": {
        if (isTerminatedTornLine(bytes)) {
          this.#report(tornLine(length - 1), at);
          return;
        }
        const head = (this.version ?? 0) >= 2 ? parseEntryPrefix(bytes) : undefined;
        for (const note of decoded.diagnostics) this.#report(note, at, head && entryIdOf(head.id));
        // The body is lost; the place in the tree is not, and with it the history before.
        if (head !== undefined) this.#add({ kind: "entry", head, diagnostics: [] }, at, length, false);
        return;
      }
      case "entry":
        for (const note of decoded.diagnostics) this.#report(note, at, entryIdOf(decoded.head.id));
        this.#add(decoded, at, length);
    }
  }

  #header(decoded: DecodedLine & { kind: "header" }, at: number): void {
    for (const note of decoded.diagnostics) this.#report(note, at);
    if (this.header !== undefined) {
      this.#report(extraHeader, at);
      return;
    }
    this.header = decoded.header;
    this.#before = this.#rows.size;
    if (this.lines > 1) this.#report(linesBeforeHeader(this.lines - 1), at);
    if (isNewer(decoded.header)) this.#report(newerVersion, at);
  }

  /** @param isTip false for an entry whose body is lost: other programs do not see it, and nothing is to follow it */
  #add(decoded: DecodedLine & { kind: "entry" }, at: number, length: number, isTip = true): void {
    const { head, entry } = decoded;
    const row = this.#rows.add(head, { at, length });
    if (row === noRow) {
      // A last line without its line feed is read again once it has one.
      if (this.#isKnown(head.id, at, length)) return;
      const id = entryIdOf(head.id);
      const message = `an earlier entry has the id ${id}: this one is ignored`;
      this.#report({ code: "DUPLICATE_ID", message }, at, id);
      return;
    }
    this.#follows(row, head.parentId, at, isTip);
    if (entry === undefined) return;
    this.#applyStructure(entry);
    this.#options.onEntry?.(row, entry);
  }

  /** A row that was read is the last one. */
  #follows(row: number, parentId: EntryKey | null, at: number, isTip = true): void {
    if (parentId !== null && this.#rows.parent(row) === noRow)
      this.#lineOf.set(row, { line: this.lines, at });
    if (isTip) this.setLeafRow(row, undefined);
  }

  /** The row of the entry that says where the leaf is, or {@link noRow}. */
  get leafRow(): number {
    return this.#tipRow;
  }

  /** The leaf is where this entry says: those behind it have lost their bodies, which was not seen by their heads. */
  setLeafRow(row: number, entry: SessionEntry | UnknownEntry | undefined): void {
    this.#tipRow = row;
    this.#target = entry?.type === "leaf" ? entry.targetId : undefined;
  }

  /** Takes an entry that this program wrote itself, or is about to; its row, or -1 where it was taken before. */
  applyLocalEntry(entry: SessionEntry, line: LinePlace | undefined): number {
    const { type, id, parentId } = entry;
    const key = entryKeyOf(id);
    const parent =
      parentId === null ? null : parentId === this.#own.id ? this.#own.key : entryKeyOf(parentId);
    const time = this.#timeOf(entry.timestamp);
    const head =
      type === "message"
        ? { type, id: key, parentId: parent, time, role: entry.message.role }
        : { type, id: key, parentId: parent, time };
    const row = this.#rows.add(head, line);
    if (row === noRow) return noRow;
    this.#own = { id, key };
    if (this.#rows.hasUnlinkedParents) this.#rows.linkLateParents();
    this.applySessionWideState(row, entry);
    return row;
  }

  /** What an entry of a row says of the session as a whole holds from now on: it is the last one. */
  applySessionWideState(row: number, entry: SessionEntry): void {
    this.#tipRow = row;
    this.#applyStructure(entry);
  }

  /** Entries of one millisecond share their timestamp, and reading it takes longer than the rest of adding a row. */
  #timeOf(timestamp: string): number | string {
    if (timestamp !== this.#ownTime.timestamp) this.#ownTime = { timestamp, time: parseTimestamp(timestamp) };
    return this.#ownTime.time;
  }

  /** Notes a problem that was found elsewhere than in a line's structure. */
  report(diagnostic: Diagnostic): void {
    this.#note(diagnostic);
  }

  /** What an entry changes besides the tree. */
  #applyStructure(entry: SessionEntry | UnknownEntry): void {
    this.#target = entry.type === "leaf" ? entry.targetId : undefined;
    if (entry.type === "label") {
      setLabel(this.tree, entry.targetId, entry.label, entry.timestamp);
    } else if (entry.type === "session_info") {
      const { type: _type, id: _id, parentId: _parentId, timestamp: _timestamp, ...info } = entry;
      this.info = info;
    }
  }

  /** Whether the line was seen before; one of an entry that was only staged becomes that entry's line. */
  #isKnown(id: EntryKey, at: number, length: number): boolean {
    const row = this.#rows.rowOfKey(id);
    if (row === noRow) return false;
    if (this.#rows.line(row) === undefined) this.#rows.setLine(row, at, length);
    return this.#rows.line(row)?.at === at;
  }

  #report({ code, message }: LineDiagnostic, at: number, entryId?: string): void {
    this.#note({
      code,
      line: this.lines,
      offset: at,
      message,
      ...(entryId === undefined ? {} : { entryId }),
    });
  }

  #note(found: Diagnostic): void {
    // Millions of lines may have the same problem.
    if (found.message !== this.#printed.from)
      this.#printed = { from: found.message, to: SessileError.printable(found.message) };
    const { to: message } = this.#printed;
    const diagnostic = message === found.message ? found : { ...found, message };
    this.#diagnostics.add(diagnostic);
    this.#options.onDiagnostic?.(diagnostic);
  }
}
