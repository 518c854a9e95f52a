/**
 * The source of a format's reader: loaded files, their records, findings and counts, and the builders of its
 * sessions.
 */

import { describe } from "../core/arguments.js";
import { decodeUtf8, encodeUtf8 } from "../core/bytes.js";
import { abortable } from "../core/concurrency.js";
import { isName, uuidOfDigest } from "../core/ids.js";
import { copyJson } from "../core/json.js";
import {
  defaultLimits,
  entryProblem,
  formatVersion,
  jsonProblem,
  parseLine,
  withoutStrayBytes,
} from "../log/internal.js";
import type { SessionEntry, SessionHeader } from "../session/index.js";
import { redacted } from "./redaction.js";
import type { ReportBuilder } from "./report.js";
import { derivedSessionId, EntryHash, textDigest, textUuid } from "./shared/ids.js";
import { formByPath, maxLineDepth, readLines } from "./shared/records.js";
import { assertStoredTables, withWriteAheadLog } from "./shared/sqlite.js";
import { readMilliseconds, readText } from "./shared/values.js";
import type {
  DraftEntry,
  EntryBuilder,
  ForeignFile,
  ForeignFormatName,
  ForeignRecord,
  ForeignSource,
  ImportFindingCode,
  ImportOptions,
  InteropFinding,
  Redaction,
  SqliteReader,
} from "./types.js";

const maxChildren = 2000;
/** Of a kept line. */
const maxKeptBytes = 64 * 1024;

/** The arguments of a {@link Source}. */
interface SourceInit extends Pick<ImportOptions, "sqlite" | "redact"> {
  readonly format: ForeignFormatName;
  readonly files: readonly LoadedFile[];
  /** The session to read. */
  readonly session?: string | undefined;
  readonly instructions: boolean;
  readonly maxLineBytes: number;
  readonly keepsLines: boolean;
  readonly report: ReportBuilder;
}

/** The {@link ForeignSource} of one import. */
export class Source implements ForeignSource {
  readonly files: ForeignSource["files"];
  readonly sessionId?: string;
  readonly instructions: boolean;
  readonly #init: SourceInit;
  readonly #byPath: ReadonlyMap<string, LoadedFile>;
  readonly #sessions = new Map<string, SessionEntries>();
  readonly #databases = new Map<string, Promise<SqliteReader | undefined>>();
  readonly #unmapped = new Map<string, { count: number; first: ForeignRecord | undefined }>();
  agentVersion: string | undefined;

  constructor(init: SourceInit) {
    const { files, instructions } = init;
    const readable = files.filter(({ bytes }) => bytes !== undefined);
    this.files = readable.map(({ path, modified, bytes, kind }) => {
      const form = kind === "text" ? formByPath(path, bytes ?? new Uint8Array()) : undefined;
      return {
        path,
        ...(modified === undefined ? {} : { modified }),
        ...(form === undefined ? {} : { form }),
      };
    });
    if (init.session !== undefined) this.sessionId = init.session;
    this.instructions = instructions;
    this.#init = init;
    this.#byPath = new Map(readable.map((file) => [file.path, file]));
  }

  /** The session itself, then those of subagents, in the order of their calls. */
  get sessions(): readonly SessionEntries[] {
    return [...this.#sessions.values()];
  }

  *records(path: string): Iterable<ForeignRecord> {
    const file = this.#byPath.get(path);
    if (file?.bytes === undefined || file.kind !== "text") return;
    const { maxLineBytes, redact } = this.#init;
    for (const found of readLines(file.bytes, maxLineBytes)) {
      const { line } = found;
      if (found.kind === "record") {
        const value = redact === undefined ? found.value : redactedRecord(found.value, redact);
        yield new LineRecord(path, line, value, found.bytes, found.part);
      } else if (found.kind === "tooLong") {
        const text = `the line has ${found.length} bytes, at most ${maxLineBytes}`;
        this.find({ code: "tooLong", file: path, line, text });
      } else {
        this.find({ code: "unreadable", file: path, line, text: found.reason });
      }
    }
  }

  json(path: string): unknown {
    const file = this.#byPath.get(path);
    if (file?.bytes === undefined || file.kind !== "text") return undefined;
    const { maxLineBytes, redact } = this.#init;
    if (file.bytes.length > maxLineBytes) {
      const text = `the file has ${file.bytes.length} bytes, at most ${maxLineBytes}`;
      this.find({ code: "tooLong", file: path, text });
      return undefined;
    }
    const text = decodeUtf8(file.bytes);
    const body = text?.startsWith("\ufeff") ? text.slice(1) : text;
    const parsed = parseLine(file.bytes, maxLineDepth, { text: body, unchecked: true });
    const clean = parsed.ok ? file.bytes : (withoutStrayBytes(file.bytes)?.bytes ?? file.bytes);
    const read = clean === file.bytes ? parsed : parseLine(clean, maxLineDepth, { unchecked: true });
    if (!parsed.ok) this.find({ code: "unreadable", file: path, text: parsed.message });
    if (!read.ok) return undefined;
    return redact === undefined ? read.value : redacted(read.value, redact);
  }

  sqlite(path: string): Promise<SqliteReader | undefined> {
    const known = this.#databases.get(path);
    if (known !== undefined) return known;
    const opened = this.#open(path);
    this.#databases.set(path, opened);
    return opened;
  }

  async #open(path: string): Promise<SqliteReader | undefined> {
    const file = this.#byPath.get(path);
    if (file?.bytes === undefined || file.kind !== "sqlite") return undefined;
    const { sqlite, redact } = this.#init;
    if (sqlite === undefined) {
      this.find({ code: "needsReader", file: path, text: "an SQLite database, and there is no `sqlite`" });
      return undefined;
    }
    const fail = (error: unknown): void => {
      const reason = error instanceof Error ? error.message : String(error);
      this.find({ code: "unreadable", file: path, text: `the database cannot be read: ${reason}` });
    };
    try {
      const log = this.#byPath.get(`${path}-wal`)?.bytes;
      const reader = await sqlite(log === undefined ? file.bytes : withWriteAheadLog(file.bytes, log));
      assertStoredTables(reader);
      return {
        all(sql) {
          try {
            const rows = reader.all(sql);
            return redact === undefined ? rows : rows.map((row) => redactedRecord(row, redact));
          } catch (error) {
            fail(error);
            return [];
          }
        },
      };
    } catch (error) {
      fail(error);
      return undefined;
    }
  }

  find(finding: InteropFinding & { readonly code: ImportFindingCode }): void {
    this.#init.report.find(finding);
  }

  countCost(dollars: number): void {
    this.#init.report.countCost(dollars);
  }

  count(type: string, outcome: "mapped" | "unmapped", record?: ForeignRecord): void {
    const mapped = outcome === "mapped";
    const kept = !mapped && record !== undefined && this.#keep(record);
    this.#init.report.count(type, { mapped, kept });
    if (mapped) return;
    const group = this.#unmapped.get(type) ?? { count: 0, first: record };
    if (this.#unmapped.size < 1000) this.#unmapped.set(type, group);
    group.count++;
  }

  session(init: Parameters<ForeignSource["session"]>[0]): EntryBuilder {
    const id = readText(init.id) ?? "";
    const known = this.#sessions.get(id);
    if (known !== undefined) return known;
    this.agentVersion ??= readText(init.agentVersion);
    const builder = new SessionEntries({
      ...init,
      id: this.#sharedId(id),
      parentSession: init.parentSession && this.#sharedId(init.parentSession),
      format: this.#init.format,
      find: (finding) => this.find(finding),
    });
    if (this.#sessions.size <= maxChildren) this.#sessions.set(id, builder);
    else this.find({ code: "missingChild", text: `session ${id}: more than ${maxChildren} children` });
    return builder;
  }

  /** An id of a session, which may be the name of a file; a digest of it if it has a secret. */
  #sharedId(id: string): string {
    const { redact, format } = this.#init;
    return redact === undefined || redact(id) === id ? id : textUuid(format, id);
  }

  /** Reports the unmapped records: one finding a type. */
  finish(): void {
    for (const [type, { count, first }] of this.#unmapped) {
      this.find({
        code: "unmapped",
        ...(first === undefined ? {} : { file: first.file, line: first.line }),
        text: `${count} ${count === 1 ? "record" : "records"} of type ${type}`,
      });
    }
  }

  /** Keeps the line of a record in the session. Returns whether it did. */
  #keep(record: ForeignRecord): boolean {
    if (!this.#init.keepsLines) return false;
    const bytes = record instanceof LineRecord ? record.bytes : encodeUtf8(JSON.stringify(record.value));
    const [main] = this.#sessions.values();
    if (main === undefined || bytes.length > maxKeptBytes) return false;
    const text = decodeUtf8(bytes) ?? "";
    main.addLine({ file: record.file, line: record.line, text });
    return true;
  }
}

/** A record with the bytes of its line, which may be kept. */
class LineRecord implements ForeignRecord {
  readonly file: string;
  readonly line: number;
  readonly value: ForeignRecord["value"];
  readonly bytes: Uint8Array;
  readonly part?: number;

  constructor(
    file: string,
    line: number,
    value: ForeignRecord["value"],
    bytes: Uint8Array,
    part: number | undefined,
  ) {
    this.file = file;
    this.line = line;
    this.value = value;
    this.bytes = bytes;
    if (part !== undefined) this.part = part;
  }
}

function redactedRecord(
  value: Readonly<Record<string, unknown>>,
  redact: Redaction,
): Readonly<Record<string, unknown>> {
  return redacted(value, redact) as Readonly<Record<string, unknown>>;
}

// The entries of one imported session: ids by hash, parents that exist, times that go on.

/** The arguments of {@link EntryBuilder.add} beside the draft. */
type Place = Parameters<EntryBuilder["add"]>[1];

/** The parts of an import that a builder uses. */
interface BuilderInit {
  readonly format: ForeignFormatName;
  readonly id: unknown;
  readonly cwd?: unknown;
  readonly timestamp?: unknown;
  readonly parentSession?: unknown;
  find(finding: { readonly code: ImportFindingCode; readonly entryId?: string; readonly text: string }): void;
}

/** An {@link EntryBuilder} with its result. */
export class SessionEntries implements EntryBuilder {
  readonly sessionId: string;
  readonly #init: BuilderInit;
  /** The id as the agent has it, which the hashes are of. */
  readonly #foreignId: string;
  readonly #entries: SessionEntry[] = [];
  readonly #hash: EntryHash;
  /** Entry ids by record id, of entries without a part. */
  readonly #byRecord = new Map<string, string>();
  /** Entry ids by record id and part. */
  readonly #byPart = new Map<string, string>();
  readonly #ids = new Set<string>();
  /** The last entry of the verbatim lines, a branch of their own. */
  #lastLine: string | null = null;
  #last: string | null = null;
  #leaf: string | null | undefined;
  #time: number | undefined;
  #created: number | undefined;

  constructor(init: BuilderInit) {
    this.#init = init;
    this.#foreignId = readText(init.id) ?? "";
    this.#hash = new EntryHash(init.format, this.#foreignId);
    this.sessionId = derivedSessionId(init.format, this.#foreignId);
    this.#created = readMilliseconds(init.timestamp);
  }

  get last(): string | null {
    return this.#last;
  }

  time(timestamp: unknown): number {
    return readMilliseconds(timestamp) ?? this.#time ?? this.#created ?? 0;
  }

  idByRecordId(recordId: string, part: string | number = ""): string | undefined {
    return part === "" ? this.#byRecord.get(recordId) : this.#byPart.get(keyByRecordId(recordId, part));
  }

  has(entryId: string): boolean {
    return this.#ids.has(entryId);
  }

  setLeaf(entryId: string | null): void {
    if (entryId === null || this.#ids.has(entryId)) this.#leaf = entryId;
  }

  add(draft: DraftEntry, place: Place): string {
    const known = this.idByRecordId(place.recordId, place.part);
    if (known !== undefined) return known;
    const { recordId, part = "" } = place;
    const parentId = this.#placeParent(place);
    // A later import of a grown file gives other ids to the changed entries and all after them.
    const id = this.#isFree(place.id)
      ? place.id
      : this.#newId([recordId, String(part), parentId ?? ""], draftContent(draft));
    this.#register(id, recordId, part);
    const entry = this.#placed(draft, id, parentId, place.timestamp);
    this.#entries.push(entry);
    this.#last = id;
    return id;
  }

  /** Adds an unmapped line, on a branch of such lines. */
  addLine(data: { readonly file: string; readonly line: number; readonly text: string }): void {
    const recordId = `${data.file}\0${data.line}`;
    if (this.idByRecordId(recordId, "line") !== undefined) return;
    const id = this.#newId([recordId, "line"]);
    this.#register(id, recordId, "line");
    const draft: DraftEntry = { type: "custom", customType: "sessile.foreign_line", data };
    const time = this.#time;
    this.#entries.push(this.#placed(draft, id, this.#lastLine, undefined));
    this.#time = time;
    this.#lastLine = id;
  }

  /** The entry that names the files, with an id of its own for each state of them. A root of its own. */
  addForeign(data: unknown, digests: readonly string[]): void {
    const id = this.#newId(["sessile.foreign", digests.join(" ")]);
    const timestamp = new Date(this.#created ?? this.#time ?? 0).toISOString();
    this.#entries.unshift({
      type: "custom",
      id,
      parentId: null,
      timestamp,
      customType: "sessile.foreign",
      data,
    });
  }

  finish(): {
    readonly header: SessionHeader;
    readonly entries: readonly SessionEntry[];
    readonly leafId: string | null;
  } {
    const { cwd, parentSession, format } = this.#init;
    const created = this.#created ?? 0;
    const parent = readText(parentSession);
    const header: SessionHeader = {
      type: "session",
      version: formatVersion,
      id: this.sessionId,
      timestamp: new Date(created).toISOString(),
      cwd: readCwd(cwd),
      ...(parent === undefined || parent === ""
        ? {}
        : { parentSession: isName(parent) ? parent : derivedSessionId(format, parent) }),
      sessile: 1,
    };
    return { header, entries: this.#entries, leafId: this.#leaf === undefined ? this.#last : this.#leaf };
  }

  #register(id: string, recordId: string, part: string | number): void {
    this.#ids.add(id);
    if (part === "") this.#byRecord.set(recordId, id);
    else this.#byPart.set(keyByRecordId(recordId, part), id);
  }

  #isFree(id: string | undefined): id is string {
    return isName(id) && !this.#ids.has(id);
  }

  #newId(texts: readonly string[], content?: DraftEntry): string {
    let id = this.#hash.textId(texts, content);
    if (!this.#ids.has(id)) return id;
    // A record may carry the id that another one would get.
    let next = textDigest(this.#init.format, this.#foreignId, ...texts, id);
    for (; this.#ids.has(id); next = textDigest(next)) id = uuidOfDigest(next);
    return id;
  }

  #placeParent({ parentId, recordId }: Place): string | null {
    if (parentId === undefined) return this.#last;
    if (parentId === null || parentId === this.#last || this.#ids.has(parentId)) return parentId;
    this.#init.find({ code: "missingParent", text: `record ${recordId}: its parent is missing` });
    return this.#last;
  }

  #placed(draft: DraftEntry, id: string, parentId: string | null, timestamp: unknown): SessionEntry {
    const time = this.time(timestamp);
    this.#time = time;
    this.#created ??= readMilliseconds(timestamp);
    const { type, ...fields } = withOwnId(draft, id);
    const place = { id, parentId, timestamp: new Date(time).toISOString() };
    const entry = { type, ...place, ...fields } as SessionEntry;
    const problem = entryProblem(entry) ?? jsonProblem(entry, defaultLimits.maxDepth);
    if (problem === undefined) return entry;
    if (problem.expected === "a finite number") {
      // JSON.parse reads 1e999 as infinite.
      const finite = copyJson(entry) as unknown as SessionEntry;
      if (entryProblem(finite) === undefined) return finite;
    }
    const text = `${type}: ${problem.path}: expected ${problem.expected}`;
    this.#init.find({ code: "unreadable", entryId: id, text });
    return { type: "custom", ...place, customType: "sessile.unreadable", data: { text } };
  }
}

/** The draft of an entry, if it counts: the opening of a harness may be another text after each resume. */
function draftContent(draft: DraftEntry): DraftEntry | undefined {
  const isOpening = draft.type === "custom_message" && draft.customType === "sessile.initial_context";
  return isOpening ? undefined : draft;
}

/** The draft of a compaction that keeps nothing, with its own id. */
function withOwnId(draft: DraftEntry, id: string): DraftEntry {
  return draft.type === "compaction" && draft.firstKeptEntryId === ""
    ? { ...draft, firstKeptEntryId: id }
    : draft;
}

/** The directory of a header: text that a path can be. */
export function readCwd(value: unknown): string {
  const cwd = readText(value);
  return cwd === undefined || cwd === "" || cwd.includes("\0") ? "/" : cwd;
}

function keyByRecordId(recordId: string, part: string | number): string {
  return `${recordId}\0${part}`;
}

// The bytes of foreign files: collected within a limit, decompressed, distinguished by their first bytes.

/** A file that was read. */
export interface LoadedFile {
  readonly path: string;
  readonly modified?: number;
  /** As it lies there. */
  readonly stored: Uint8Array;
  /** Decompressed; undefined if that is not possible. */
  readonly bytes: Uint8Array | undefined;
  readonly kind: "text" | "sqlite";
}

/** Reads files in order. A file beyond the limit of all bytes is left out, with a finding. */
export async function loadFiles(
  files: Iterable<ForeignFile>,
  maxBytes: number,
  options: Pick<ImportOptions, "decompress" | "signal">,
  report: ReportBuilder,
): Promise<readonly LoadedFile[]> {
  const loaded = new Map<string, LoadedFile>();
  let left = maxBytes;
  for (const file of files) {
    options.signal?.throwIfAborted();
    const path = filePath(file);
    if (loaded.has(path)) throw new TypeError(`files: two of them have the path ${describe(path)}`);
    const stored = await collect(file.bytes, left, options.signal);
    if (stored === undefined) {
      report.find({ code: "tooLong", file: path, text: `the files have more than ${maxBytes} bytes` });
      continue;
    }
    const bytes = isZstandard(stored) ? await decompressed(path, stored, left, options, report) : stored;
    left -= Math.max(stored.length, bytes?.length ?? 0);
    const modified = typeof file.modified === "number" ? { modified: file.modified } : {};
    loaded.set(path, { path, ...modified, stored, bytes, kind: isSqlite(bytes) ? "sqlite" : "text" });
  }
  return [...loaded.values()];
}

function filePath(file: ForeignFile): string {
  if (typeof file?.path === "string" && file.path !== "") return file.path;
  throw new TypeError(`files: expected a path and bytes, got ${describe(file?.path)} for a path`);
}

/** The bytes of a source; undefined if they are more than `maxBytes`. */
async function collect(
  source: ForeignFile["bytes"],
  maxBytes: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array | undefined> {
  if (source instanceof Uint8Array) return source.length > maxBytes ? undefined : source;
  if (typeof source !== "object" || source === null || !(Symbol.asyncIterator in source)) {
    throw new TypeError(`files: expected bytes or an async iterable of them, got ${describe(source)}`);
  }
  // One buffer that grows: a list of parts would have the file in memory twice. A reader may reuse its own.
  let bytes = new Uint8Array();
  let total = 0;
  for await (const part of abortable(source, signal)) {
    const end = total + part.length;
    if (end > maxBytes) return undefined;
    if (end > bytes.length) {
      const grown = new Uint8Array(Math.max(end, Math.min(maxBytes, 2 * bytes.length)));
      grown.set(bytes.subarray(0, total));
      bytes = grown;
    }
    bytes.set(part, total);
    total = end;
  }
  return bytes.subarray(0, total);
}

async function decompressed(
  file: string,
  bytes: Uint8Array,
  maxBytes: number,
  { decompress }: Pick<ImportOptions, "decompress">,
  report: ReportBuilder,
): Promise<Uint8Array | undefined> {
  if (decompress === undefined) {
    report.find({ code: "needsReader", file, text: "Zstandard, and there is no `decompress`" });
    return undefined;
  }
  const most = Math.min(maxBytes, Math.max(minDecompressed, maxRatio * bytes.length));
  const tooLong = () =>
    report.find({ code: "tooLong", file, text: `decompressed, it has more than ${most} bytes` });
  try {
    const whole = await decompress(bytes, most);
    if (whole instanceof Uint8Array && whole.length <= most) return whole;
    tooLong();
  } catch (error) {
    // Node's error of `maxOutputLength`.
    if ((error as { readonly code?: unknown } | undefined)?.code === "ERR_BUFFER_TOO_LARGE") tooLong();
    else {
      const reason = error instanceof Error ? error.message : String(error);
      report.find({ code: "unreadable", file, text: `it cannot be decompressed: ${reason}` });
    }
  }
  return undefined;
}

/** Rollouts shrink to a tenth or a twentieth. A file that grows by more than this was made to fill memory. */
const maxRatio = 200;
/** In bytes: a short session of one word again and again shrinks more. */
const minDecompressed = 16 * 1024 * 1024;

/** https://www.rfc-editor.org/rfc/rfc8878 section 3.1.1 (read 2026-11-23) */
function isZstandard(bytes: Uint8Array): boolean {
  return startsWith(bytes, [0x28, 0xb5, 0x2f, 0xfd]);
}

const sqliteMagic = [..."SQLite format 3\0"].map((character) => character.charCodeAt(0));

/** https://www.sqlite.org/fileformat.html section 1.3 (read 2026-11-23) */
function isSqlite(bytes: Uint8Array | undefined): boolean {
  return bytes !== undefined && startsWith(bytes, sqliteMagic);
}

function startsWith(bytes: Uint8Array, magic: readonly number[]): boolean {
  return magic.every((byte, at) => bytes[at] === byte);
}
