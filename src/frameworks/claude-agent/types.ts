/**
 * The types of the Claude Agent SDK that the store needs, structurally. A test compares them with the
 * official ones.
 */

/** The key of a transcript. */
export type ClaudeSessionKey = {
  projectKey: string;
  sessionId: string;
  /** The transcript of a subagent; absent for the main transcript. */
  subpath?: string;
};

/** A line of a transcript. */
export type ClaudeEntry = {
  type: string;
  /** An entry with the uuid of a stored one is ignored. */
  uuid?: string;
  timestamp?: string;
  [key: string]: unknown;
};

/** The summary of a main transcript, for lists. Its data belong to the SDK. */
export type ClaudeSummary = {
  sessionId: string;
  /** Milliseconds since 1970. */
  mtime: number;
  data: Record<string, unknown>;
};

/** The SDK's `foldSessionSummary`. */
export type FoldSessionSummary = (
  previous: ClaudeSummary | undefined,
  key: ClaudeSessionKey,
  entries: ClaudeEntry[],
  options?: { mtime?: number },
) => ClaudeSummary;

/** A `sessionStore` for `query` and the SDK's functions on sessions. */
export interface ClaudeAgentStore {
  /**
   * Appends entries, all or none; no entries make no transcript. A repeated append adds only the entries
   * without a uuid again.
   * @throws SessileError INVALID_ENTRY naming the member that cannot be stored; SESSION_LOCKED after 20 s;
   *   nothing was written
   */
  append(key: ClaudeSessionKey, entries: ClaudeEntry[]): Promise<void>;
  /**
   * The entries in the order of their appends, as new objects; null without any.
   * @throws SessileError BLOB_CORRUPT, ENTRY_NOT_FOUND if an entry is damaged
   */
  load(key: ClaudeSessionKey): Promise<ClaudeEntry[] | null>;
  /** The main transcripts of a project, last modified first. */
  listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]>;
  /**
   * The summaries of a project's main transcripts. Absent without `fold`: the SDK then loads every
   * transcript.
   */
  listSessionSummaries?(projectKey: string): Promise<ClaudeSummary[]>;
  /** The subpaths of a session. */
  listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]>;
  /**
   * Deletes a transcript; a main transcript after those of its subagents. Blobs go with a later collection.
   */
  delete(key: ClaudeSessionKey): Promise<void>;
  /** Releases the open sessions. A later call opens them again. */
  close(): Promise<void>;
}
