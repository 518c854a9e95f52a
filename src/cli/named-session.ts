/** The sessions that a command names or finds, and what it opens of them. */

import type { ImportedSession, InteropReport } from "../agents/index.js";
import type { BlobStore } from "../blobs/index.js";
import type { Session } from "../session/index.js";

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
  /** All files, if there are several. */
  readonly files?: readonly string[];
  /** The files as they are now, with new ones of subagents; absent for this library's own. */
  currentFiles?(): Promise<readonly string[]>;
  open(options?: OpenNamedOptions): Promise<OpenedSession>;
  /** Imports a session of another agent; absent for this library's own. */
  read?(options: ReadOptions): Promise<ImportedSession>;
}

/** A session that was found, not yet read. */
export interface FoundSession extends NamedSession {
  readonly id: string;
  readonly title?: string | undefined;
  readonly cwd?: string | undefined;
  readonly created?: string | undefined;
  /** ISO 8601. */
  readonly modified: string;
  /** Bytes. */
  readonly size: number;
  readonly parent?: string | undefined;
  readonly isArchived?: boolean;
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
  /** Whether files that are no session are named, as in a list. A name of one session needs only that one. */
  readonly isList?: boolean;
}
