import type { SessionStore } from "../types.js";

/** What the conformance cases are run against: one empty storage, and ways to it. */
export interface ConformanceSubject {
  /** A store over the subject's one storage. Each call gives an independent handle, as another process would have. */
  open(): Promise<SessionStore> | SessionStore;
  /** Adds half a line to the end of the stored log, as a crash would. Absent where the storage cannot tear. */
  tear?(id: string): Promise<void>;
  /**
   * Stores a log of these lines as they are, as another program or a newer version would have. Each comes without its
   * line feed, the header first. Absent where nobody else writes.
   */
  put?(id: string, lines: readonly string[]): Promise<void>;
  /** The `maxLineBytes` that the stores were opened with; at least 2 MiB. Absent for the default, 64 MiB. */
  readonly maxLineBytes?: number;
}

/** One promise of a session store, as a program that fails where it is not kept. */
export interface ConformanceCase {
  /** What is promised; unique in the suite. */
  readonly name: string;
  /**
   * Rejects with an Error that says what was expected and what came. Each run wants a fresh subject, its storage empty.
   * Gives why, where the subject cannot show what is promised.
   */
  run(subject: ConformanceSubject): Promise<undefined | { readonly skipped: string }>;
}
