/**
 * Sessions of other agents: the types of an import, an export and their reports, and the contract of an agent:
 * its row, and the port that its format implements.
 */

import type { BlobStore } from "../blobs/index.js";
import type { Session, SessionEntry, SessionHeader } from "../session/index.js";
import type { agents } from "./table.js";

/** The formats that `detectSession` tells apart. */
export type ForeignFormatName = (typeof agents)[number]["name"];

/** Formats that no agent reads: traces, and examples for training. */
export type DataSetName = "otlp" | "openai-finetune" | "sharegpt";

/** One file of an agent. */
export interface ForeignFile {
  /** Relative to the agent's home, with forward slashes. Only text: it is never opened. */
  readonly path: string;
  readonly bytes: Uint8Array | AsyncIterable<Uint8Array>;
  /** Milliseconds since 1970. */
  readonly modified?: number;
  /** It lies in the session's own folder, and the agent's row has no place for it: a finding, not read. */
  readonly unclaimed?: true;
}

/** The result of `detectSession`. */
export interface DetectedSession {
  readonly format: ForeignFormatName;
  /** The variant of the format, such as an era of the agent: `legacy`, `paginated`. */
  readonly variant?: string;
  readonly agentVersion?: string;
  /** Whether the content names the format; false for a guess by shape or path. */
  readonly sure: boolean;
}

/** Findings of an import. See docs/reference/interop.md. */
export type ImportFindingCode =
  | "unmapped" // records without a counterpart: one finding a type
  | "unreadable" // a line or file that is not JSON or not UTF-8
  | "tooLong" // a line over the limit
  | "superseded" // an older state of a record that was written again
  | "missingParent"
  | "missingBase" // the base of a fork
  | "missingChild" // the file of a subagent
  | "orphanResult" // a result without a call
  | "duplicateResult" // a second result of a call
  | "encryptedSummary" // only its provider can read it
  | "guessed" // usage or ends of messages were inferred
  | "moved" // the working directory changed
  | "newer" // an unknown version or type
  | "needsReader"; // zstd or SQLite without `decompress` or `sqlite`

/** Findings of an export. See docs/reference/interop.md. */
export type ExportFindingCode =
  | "branch" // left out: not on the path
  | "entry" // left out: no counterpart in the format
  | "edited" // a context_edit was carried out
  | "reasoning" // left out: of another maker, or unsigned
  | "opaque" // left out: of another maker
  | "missing" // bytes that are gone
  | "described" // bytes that the format cannot hold
  | "interrupted" // a made-up result closes an open call
  | "callId" // changed, so that the agent accepts it
  | "toolName" // changed, so that the agent accepts it
  | "id" // changed, so that the agent accepts it
  | "retimed"; // changed, so that the agent keeps the session

/** A loss, a guess or a change, with its place. */
export interface InteropFinding {
  readonly code: ImportFindingCode | ExportFindingCode;
  readonly file?: string;
  /** From 1. */
  readonly line?: number;
  readonly entryId?: string;
  readonly text: string;
}

/** Numbers of records of an import, or of entries of an export. */
export interface InteropReport {
  readonly format: ForeignFormatName | DataSetName | "atif";
  readonly agentVersion?: string;
  /**
   * US dollars that the agent itself counted for the session, its subagents included. It also has calls that no file
   * has, such as those of titles. Absent without such a record, and of an export.
   */
  readonly agentCost?: number;
  /** Export: whether the result begins with the very bytes of the import. Import: whether they are kept. */
  readonly exact: boolean;
  /** By type of record. `mapped` became entries; `kept` are verbatim in the session. */
  readonly counts: Readonly<Record<string, RecordCounts>>;
  /** At most 1,000. */
  readonly findings: readonly InteropFinding[];
}

/** Numbers of records of one type, by their outcome. */
export interface RecordCounts {
  readonly read: number;
  readonly mapped: number;
  readonly kept: number;
}

/** Replaces secrets in a text. Applied to every string of a foreign record before it is kept. */
export type Redaction = (text: string) => string;

/** A database that the caller opened: `node:sqlite`, `bun:sqlite`, better-sqlite3. */
export interface SqliteReader {
  /** Runs a query and returns its rows. */
  all(sql: string): readonly Readonly<Record<string, unknown>>[];
}

/** Options of `importSession`. */
export interface ImportOptions {
  /** The formats to choose from by content, or the one to read. */
  readonly from: ForeignFormat | readonly ForeignFormat[];
  /** Stores images and the original bytes. Without it images stay inline. */
  readonly blobs?: BlobStore;
  /**
   * The id of the session to read, if the files hold several, such as the database of opencode.
   * @default the newest that is no subagent's
   */
  readonly session?: string;
  /**
   * The original: `blob` keeps the files' bytes as blobs, so that an export can return them; `lines` keeps
   * unmapped records as entries. @default "blob" with `blobs`, else "lines"; "none" with `redact`
   */
  readonly keep?: "blob" | "lines" | "none";
  /** Whether the other harness's instructions are in context. @default false */
  readonly instructions?: boolean;
  /** Decompresses Zstandard. Must not return more than `maxBytes`. */
  readonly decompress?: (bytes: Uint8Array, maxBytes: number) => Uint8Array | Promise<Uint8Array>;
  /**
   * Opens a database, such as `opencode.db`: with its bytes, or as a file that the caller knows. With
   * `node:sqlite` it is `() => ({ all: (sql) => database.prepare(sql).all() })`, where `database` is a
   * `DatabaseSync` of a copy of the file.
   */
  readonly sqlite?: (bytes: Uint8Array) => SqliteReader | Promise<SqliteReader>;
  /** @default 64 MiB */
  readonly maxLineBytes?: number;
  /** Over all files. @default 1 GiB */
  readonly maxBytes?: number;
  readonly redact?: Redaction;
  readonly signal?: AbortSignal;
}

/** A session in this library's terms, ready for `SessionStore.adopt`. */
export interface ImportedSession {
  readonly header: SessionHeader;
  readonly entries: readonly SessionEntry[];
  readonly leafId: string | null;
  /** Sessions of subagents. */
  readonly children: readonly ImportedSession[];
  readonly report: InteropReport;
}

/** Options of `exportSession`. */
export interface ExportOptions extends Pick<ImportOptions, "decompress" | "sqlite"> {
  readonly to: ForeignFormat;
  /** @default the leaf of the source */
  readonly leafId?: string | null;
  /** Sessions of subagents, by the ids that `sessile.subagent` entries name. */
  readonly children?: readonly ExportSource[];
  /** The bytes of images and of the original. */
  readonly blobs?: BlobStore;
  /** The project's directory in the result. @default that of the source */
  readonly cwd?: string;
  /** Milliseconds since 1970. @default Date.now */
  readonly now?: () => number;
  /** The model under which a message of another maker is written. */
  readonly modelFor?: (message: { readonly provider: string; readonly model: string }) => string;
  /**
   * The provider of the agent's configuration with which the session goes on, for Codex and opencode. The
   * session is then written anew. @default that of the replies
   */
  readonly provider?: string;
  /**
   * Writes a file, such as to a disk. It gets the bytes in pieces, which are made as they are read: so a session that
   * is longer than the memory can be exported. `files` of the result is then empty. If it rejects, so does the export.
   */
  readonly write?: (file: {
    /** Relative to the agent's home. */
    readonly path: string;
    readonly bytes: AsyncIterable<Uint8Array>;
  }) => Promise<void>;
}

/** A session to export. A `ParsedSession`, an `ImportedSession` and an open session fit. */
export type ExportSource = Session | ExportableSession;

/** A session as its parts. The path ends at the leaf. */
export interface ExportableSession {
  readonly header: SessionHeader | undefined;
  readonly entries: readonly (SessionEntry | { readonly type: "unknown"; readonly id: string })[];
  readonly leafId: string | null;
}

/** The result of `exportSession`. */
export interface ExportedSession {
  /** Paths are relative to the agent's home. Empty with the option `write`. */
  readonly files: readonly { readonly path: string; readonly bytes: Uint8Array }[];
  /** The words of the command that resumes the session, such as `["codex", "resume", "…"]`. */
  readonly resume: readonly string[];
  readonly report: InteropReport;
}

// The contract of an agent.

/**
 * The row of an agent in `table.ts`: what a list, a detection and the command line know of it. Plain data and
 * functions of a few records, which load neither Node nor the format.
 */
export interface AgentRow<Name extends string = string> {
  /** As stored sessions and options have it. The ids of entries are digests of it: it never changes. */
  readonly name: Name;
  /** As people write it. */
  readonly title: string;
  /**
   * Its home: the folder that the first of these variables of the environment names, else one in the user's home;
   * and a folder in there. Absent if its sessions have no common place.
   */
  readonly home?: {
    readonly variables: readonly string[];
    readonly folder: string;
    readonly inner?: string;
  };
  /** The files that may be sessions. */
  readonly sessions: readonly AgentPlace[];
  /**
   * The id of a session in the name of its file; undefined for the file of a part. With it a search lists sessions by
   * names. Absent if names have none, or if a session's time is not that of its file.
   */
  nameId?(path: string): string | undefined;
  /**
   * The folder of a session's own, relative to the home. A file there without a place is a finding.
   * @default the folder beside its file that has its id as name
   */
  folder?(path: string): string;
  /** The further files of a session, such as those of subagents in its folder. */
  parts?(session: AgentSession): readonly AgentPlace[];
  /** A file of the home with facts on sessions: their titles, their directories. */
  readonly index?: {
    readonly file: string;
    read(text: string): (path: string, id: string) => Pick<AgentDescription, "title" | "cwd">;
  };
  /** The sessions of its database, for those whose home has one. */
  rows?(database: SqliteReader): readonly AgentDatabaseRow[];
  /** Files of one session lie anywhere in the home, so that an import is told which session to read. */
  readonly isScattered?: true;
  /** The members at the start of a file that name another session, whose file has the history of this one. */
  readonly baseMembers?: readonly string[];
  /** The members at the start of a file that name the session which started this one, whose files are elsewhere. */
  readonly parentMembers?: readonly string[];
  /** Tells the agent by one of the first records of a file. */
  detect(record: Readonly<Record<string, unknown>>): Omit<DetectedSession, "format"> | undefined;
  /** Paths in its home, for files whose content tells nothing. */
  readonly path?: RegExp;
  /** Describes a session by the start and the end of its file; undefined if it is none. */
  describe(path: string, windows: AgentWindows): AgentDescription | undefined;
  /** How texts begin that it writes in the user's place: they name no session, and are no words of the user. */
  readonly harness?: RegExp;
  /** The words of the command that resumes a session in these files. */
  resume?(sessionId: string, files: readonly { readonly path: string }[]): readonly string[];
  /** Its sessions name a provider of its configuration, which an export can choose. */
  readonly hasProviders?: true;
}

/** Files of an agent. */
export interface AgentPlace {
  /** Relative to the home, with `*` for any one name; "" for the home itself. */
  readonly folder: string;
  /** Levels of folders below it. @default 0 */
  readonly depth?: number;
  /** The names of its files. */
  readonly name: RegExp;
  /** Further places that each file found has. */
  readonly parts?: (path: string) => readonly AgentPlace[];
}

/** A session in an agent's home. */
export interface AgentSession {
  readonly id: string;
  /** Its file and those related to it, relative to the home. */
  readonly paths: readonly string[];
  /** See `folder` of the row. */
  readonly folder: string;
}

/** The first and last bytes of a file; the same array for a short one. */
export interface AgentWindows {
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
}

/** A session by the ends of its file. */
export interface AgentDescription {
  readonly id: string;
  readonly cwd?: string | undefined;
  readonly title?: string | undefined;
  /** Texts in the user's place, oldest first. The first that is no harness text is the title of one without. */
  readonly questions?: Iterable<string> | undefined;
  /** Milliseconds since 1970. */
  readonly created?: number | undefined;
  /** A later time than that of the file. */
  readonly updated?: number | undefined;
  readonly parent?: string | undefined;
  /** The session that this one was forked from, whose file it continues. */
  readonly base?: string | undefined;
  /** The file is a part of another session, and none of its own. */
  readonly readPart?: string | undefined;
}

/** A session in a database, for a list. Its texts are another program's. */
export interface AgentDatabaseRow {
  readonly id: string;
  readonly cwd?: string;
  readonly title?: string;
  readonly parent?: string;
  readonly created: number;
  readonly modified: number;
  readonly bytes: number;
}

/** The session format of an agent. Each agent's subpath exports one. */
export interface ForeignFormat {
  readonly name: ForeignFormatName | DataSetName;
  /**
   * Reads the records of a session into a builder. Throws only for a fault of its own. Absent for pi, whose
   * files are read as this library's own.
   */
  read?(source: ForeignSource): void | Promise<void>;
  /** Writes a session anew. */
  write(source: WriteSource): WrittenSession | Promise<WrittenSession>;
  /** As in the row. @default that of the row of the name */
  resume?(sessionId: string, files: readonly { readonly path: string }[]): readonly string[];
  /**
   * Continues the original bytes: lines for later entries, or for a leaf that moved back. Returns
   * undefined if the format cannot express it; then the session is written anew.
   */
  append?(source: AppendSource): WrittenSession | undefined | Promise<WrittenSession | undefined>;
}

/** A record of a file: a line of JSON Lines, or a member of a larger object. */
export interface ForeignRecord {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** The index among the records of a damaged line, unless it is the first. */
  readonly part?: number;
  readonly value: Readonly<Record<string, unknown>>;
}

/** The files of one session as a format reads them. Decompressed, bounded, redacted. */
export interface ForeignSource {
  /** By path. Files that cannot be read are missing, with a finding each. */
  readonly files: readonly {
    readonly path: string;
    readonly modified?: number;
    /** By content: objects of JSON one a line, or one value of JSON. Absent for other files. */
    readonly form?: "lines" | "value";
  }[];
  /** The id of the session to read, if the files hold several. An export gives that of the header. */
  readonly sessionId?: string;
  /** Whether instructions of the other harness belong into the context. */
  readonly instructions: boolean;
  /** The records of a JSON Lines file. Lines that are no object are findings, and stop nothing. */
  records(path: string): Iterable<ForeignRecord>;
  /** The value of a JSON file; undefined, with a finding, if it is not readable. */
  json(path: string): unknown;
  /**
   * The database in a file, with the changes in the file `<path>-wal`; undefined, with a finding, without a
   * reader.
   */
  sqlite(path: string): Promise<SqliteReader | undefined>;
  /** Adds a finding to the report. */
  find(finding: InteropFinding & { readonly code: ImportFindingCode }): void;
  /** Sets the report's `agentCost`. */
  countCost(dollars: number): void;
  /** Counts a record of a type, by its outcome. */
  count(type: string, outcome: "mapped" | "unmapped", record?: ForeignRecord): void;
  /**
   * Starts the session itself (the first call), or the session of a subagent. A repeated id returns the first
   * builder. Members that are no text are ignored.
   */
  session(init: {
    readonly id: string;
    readonly cwd?: string | undefined;
    /** ISO 8601, or milliseconds since 1970. @default that of the first entry */
    readonly timestamp?: unknown;
    readonly agentVersion?: string | undefined;
    readonly parentSession?: string | undefined;
  }): EntryBuilder;
}

/** Makes the entries of one session. */
export interface EntryBuilder {
  /** The last entry that was added; null before the first. */
  readonly last: string | null;
  /** The id in the header. */
  readonly sessionId: string;
  /**
   * A time in milliseconds since 1970: that of the record, or of the last entry if it is absent or invalid.
   * For the `timestamp` of messages.
   */
  time(timestamp: unknown): number;
  /**
   * Adds an entry and returns its id: a digest of agent, session, record id and part, so that equal input has
   * equal ids. A repeated `recordId` with the same part returns the id of the first and adds nothing. A
   * compaction with an empty `firstKeptEntryId` gets its own id there: it keeps nothing but `retain`. Inline
   * images of messages move to the blob store later. A draft of an invalid shape becomes a custom
   * entry `sessile.unreadable`, with a finding.
   * @param place `parentId`: default `last`; an unknown one counts as `last`, with a finding. `timestamp`:
   *   ISO 8601 or milliseconds; default that of the entry before
   */
  add(
    draft: DraftEntry,
    place: {
      readonly recordId: string;
      readonly part?: string | number;
      readonly parentId?: string | null;
      readonly timestamp?: unknown;
      /** An id that this library gave earlier and the record carries. Used if it is a free name. */
      readonly id?: string | undefined;
    },
  ): string;
  /** The id of the entry of a record, if it was added. */
  idByRecordId(recordId: string, part?: string | number): string | undefined;
  /** Whether an entry of this id was added. */
  has(entryId: string): boolean;
  /** The leaf of the result. @default the last entry that was added */
  setLeaf(entryId: string | null): void;
}

/** An entry without its place: a `SessionEntry` without id, parent and time. */
export type DraftEntry = SessionEntry extends infer E
  ? E extends SessionEntry
    ? Omit<E, "id" | "parentId" | "timestamp">
    : never
  : never;

/** A session as a format writes it. No string has half of a surrogate pair. */
export interface WriteSource {
  readonly header: SessionHeader;
  /**
   * The path from the root to the leaf, oldest first, to plan with: a session may be longer than the memory, so that
   * texts of more than 256 characters are cut, and arguments and details may be empty. Updates and edits are
   * carried out. A custom entry `sessile.removed` replaces each entry that is left out and reported, with its id:
   * messages that an edit removed, and entries without a counterpart, such as labels, pins, views,
   * observations, usage, reverts.
   */
  readonly outline: readonly SessionEntry[];
  /**
   * An entry of the outline, whole. Fast in the order of the path. @throws SessileError ENTRY_NOT_FOUND if it was
   * erased since
   */
  entry(id: string): Promise<SessionEntry>;
  readonly leafId: string | null;
  readonly children: readonly WriteSource[];
  readonly cwd: string;
  /** Milliseconds since 1970. */
  now(): number;
  /** The model under which a message of another maker is written; undefined for its own. */
  modelFor(message: { readonly provider: string; readonly model: string }): string | undefined;
  /** The provider in the agent's configuration, if the caller names one. */
  readonly provider?: string;
  /** The bytes of an inline image or a stored resource; undefined, with a finding, if they are gone. */
  media(block: unknown, entryId: string): Promise<{ bytes: Uint8Array; mediaType: string } | undefined>;
  /** Adds a finding to the report. */
  find(finding: InteropFinding & { readonly code: ExportFindingCode }): void;
}

/** The original bytes, and the changes since the import. */
export interface AppendSource extends WriteSource {
  readonly files: readonly { readonly path: string; readonly bytes: Uint8Array }[];
  /** The import of those bytes: its entries have the ids of the source. */
  readonly original: ImportedSession;
  /** The last entry of the original that stays on the path; null for before the first. */
  readonly from: string | null;
  /** The entries of the outline after it, oldest first. */
  readonly added: readonly SessionEntry[];
}

/** The files of a session as a format writes it, and the words of the command that resumes it. */
export interface WrittenSession {
  /** Bytes in pieces are made as they are read: once, and file after file. */
  readonly files: readonly ForeignFile[];
  readonly resume: readonly string[];
}
