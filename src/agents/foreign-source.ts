/** The source of a format's reader: records, findings, counts, and the builders of its sessions. */

import { decodeUtf8, encodeUtf8 } from "../core/bytes.js";
import { assertStoredTables } from "../core/stored-tables.js";
import { parseLine, withoutStrayBytes } from "../log/internal.js";
import { SessionEntries } from "./entry-builder.js";
import type { LoadedFile } from "./load-files.js";
import type { ReportBuilder } from "./report.js";
import { textUuid } from "./shared/ids.js";
import { formByPath, maxLineDepth, readLines } from "./shared/lines.js";
import { redacted } from "./shared/redact.js";
import { withWriteAheadLog } from "./shared/sqlite-log.js";
import { readText } from "./shared/values.js";
import type {
  EntryBuilder,
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
export interface SourceInit extends Pick<ImportOptions, "sqlite" | "redact"> {
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
