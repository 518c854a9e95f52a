/**
 * The sessions that a command names or finds, what it opens of them, and their damage, always reported on
 * standard error.
 */

import type { ImportedSession, InteropReport } from "../agents/index.js";
import type { BlobStore } from "../blobs/index.js";
import { SessileError } from "../core/errors/index.js";
import { missingHeaderError } from "../log/internal.js";
import { type Diagnostics, type ParsedSession, parseSession, type Session } from "../session/index.js";
import type { CommandContext } from "./command.js";
import { chunksOfFile } from "./files.js";
import type { Output } from "./output.js";

/** How a session is imported: see `ImportOptions` of `sessile/interop`. */
export interface ReadOptions {
  readonly blobs: BlobStore;
  readonly keep: "blob" | "none";
  /** Does not report damaged lines. */
  readonly isQuiet?: boolean;
}

/** How a session is opened. */
export interface OpenNamedOptions {
  /** Whether the blobs have the original bytes of another agent's session, which take as much memory again. */
  readonly hasOriginal?: boolean;
}

/** A session that a word names, not yet read. */
export interface NamedSession {
  readonly agent: string;
  /** Its first file. */
  readonly path: string;
  /** The home of another agent, absolute. */
  readonly home?: string;
  /** ISO 8601; absent for a file that was named by its path. */
  readonly modified?: string;
  /** All files, if there are several. */
  readonly files?: readonly string[];
  /**
   * The files as they are now, with new ones of subagents; absent for this library's own.
   * @param isWhole with files that no import reads, such as outputs of tools beside the session
   */
  currentFiles?(isWhole?: boolean): Promise<readonly string[]>;
  open(options?: OpenNamedOptions): Promise<OpenedSession>;
  /** Imports a session of another agent; absent for this library's own. */
  read?(options: ReadOptions): Promise<ImportedSession>;
}

/** A session that was found, not yet read. */
export interface FoundSession extends NamedSession {
  readonly id: string;
  /** Of the store, if the session is in one. */
  readonly partition?: string;
  readonly title?: string | undefined;
  readonly cwd?: string | undefined;
  readonly created?: string | undefined;
  /** ISO 8601. */
  readonly modified: string;
  /** Bytes. */
  readonly size: number;
  readonly parent?: string | undefined;
  readonly isArchived?: boolean;
  /**
   * Reads the members that are not in the name of its file, such as the project; undefined for a file that is no such
   * session. Absent for a session that was read.
   *
   * @param isWhole with the files of sessions that it started. Default: without.
   */
  describe?(isWhole?: boolean): Promise<FoundSession | undefined>;
}

/** A session that a command reads. */
export interface OpenedSession {
  readonly agent: string;
  readonly path: string;
  readonly session: Session;
  /** The bytes of its attachments; undefined if there is no blob store. */
  readonly blobs: BlobStore | undefined;
  /** Sessions of subagents. */
  readonly children: readonly Session[];
  /** The number of damaged lines. */
  readonly damaged: number;
  /** The report of the import of another agent's session. */
  readonly report?: InteropReport;
  close(): Promise<void>;
}

/** The filters of a search for sessions. */
export interface SourceQuery {
  readonly agent?: string | undefined;
  readonly cwd?: string | undefined;
  readonly since?: Date | undefined;
  /** Receives what cannot be read. Default: the output of the command. */
  readonly notes?: SourceNotes;
}

/** Notes on files that are no session, and on those that this version of Node cannot read. */
export type SourceNotes = Pick<Output, "skip" | "warn">;

// Damage of the sessions that a command reads, always reported on standard error.

/** Codes of a line that is lost, or is not as it was written. */
const damagedCodes = new Set([
  ...["INVALID_JSON", "NOT_AN_OBJECT", "INVALID_UTF8", "LINE_TOO_LONG", "TOO_DEEP", "UNSAFE_KEY"],
  ...["INVALID_ENTRY", "INVALID_FIELDS", "DUPLICATE_ID", "MODIFIED", "TORN_TAIL"],
  ...["JOINED_LINE", "NUL_BYTES", "BYTE_ORDER_MARK"],
]);
/** Codes of a whole line that refers to a lost one. */
const strayCodes = new Set(["ORPHAN", "CYCLE"]);

/** Codes of records of another agent that are lost. The others report changes by the import. */
export const lossCodes: ReadonlySet<string> = new Set([
  ...["unreadable", "tooLong", "needsReader", "missingParent", "missingBase", "missingChild"],
  ...["orphanResult", "duplicateResult"],
]);

/** The number of damaged lines; without any, of those whose parent is lost. */
export function damagedLines(diagnostics: Diagnostics): number {
  const count = (codes: ReadonlySet<string>) =>
    new Set(diagnostics.filter(({ code }) => codes.has(code)).map(({ line }) => line)).size;
  const omitted = diagnostics.total - diagnostics.length;
  return count(damagedCodes) + omitted || count(strayCodes);
}

/** The number of damaged lines and files of another agent. */
export function damagedRecords({ findings }: InteropReport): number {
  return findings.filter(({ code }) => code === "unreadable" || code === "tooLong").length;
}

/** Reports the number of damaged lines of a session, if there are any. */
export function noteDamage(path: string, damaged: number, out: Output): void {
  if (damaged === 0) return;
  const lines = damaged === 1 ? "1 line is damaged" : `${damaged} lines are damaged`;
  out.warn({ code: "damaged", message: `${path}: ${lines}; sessile diagnose shows which`, path, damaged });
}

/** A file of this library's own session, read in full. */
interface ReadSession extends ParsedSession {
  readonly header: NonNullable<ParsedSession["header"]>;
  readonly damaged: number;
}

/**
 * Reads a session file in full.
 * @throws SessileError EMPTY, NO_HEADER, NOT_A_FILE
 */
export async function readOwn(path: string, { signal, out }: CommandContext): Promise<ReadSession> {
  let isEmpty = true;
  async function* chunks() {
    for await (const chunk of chunksOfFile(path, signal)) {
      isEmpty = false;
      yield chunk;
    }
  }
  const source = await parseSession(chunks());
  const { header, diagnostics } = source;
  if (header === undefined) throw isEmpty ? missingHeaderError(path, 0) : unknownSession(path);
  const damaged = damagedLines(diagnostics);
  noteDamage(path, damaged, out);
  return { ...source, header, damaged };
}

/** The error for a file that no reader knows. */
export function unknownSession(path: string): SessileError {
  const message = `${path} is no session of a known agent; sessile salvage recovers one whose first line is lost`;
  return new SessileError("NO_HEADER", message, { details: { path, lines: 1 } });
}
