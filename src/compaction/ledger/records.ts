/** What was done to a file. */
export type FileDeed = "read" | "created" | "modified" | "deleted" | "moved";

/** Every deed, in the order of the type. */
export const fileDeeds: readonly FileDeed[] = ["read", "created", "modified", "deleted", "moved"];

/** One file, and what the calls of a conversation did to it. Plain data that JSON keeps. */
export interface FileRecord {
  /** Relative to the working directory with `/` where the file lies inside it, else absolute. */
  readonly path: string;
  /** Each once, in the order in which they were first seen; never empty. */
  readonly operations: readonly FileDeed[];
  /** SHA-256 of the content as the latest operation saw or left it, 64 hex digits; absent where that one did not tell. */
  readonly contentSha256?: string;
  /** Deleted, or moved away, and not seen since. */
  readonly gone?: true;
  /** Where it went; only with `gone`. */
  readonly movedTo?: string;
  /** Where it came from; only without `gone`. */
  readonly movedFrom?: string;
  /**
   * Nobody knows whether the latest operation took place: its call has no result, or only pi's lists name the file,
   * which count failed calls too.
   */
  readonly unconfirmed?: true;
  /** How many operations the ledger had seen when the file's latest one came, itself included: the greater, the later. */
  readonly step: number;
}

/** Which files a conversation touched, in all compactions so far. Plain data that JSON keeps. */
export interface FileLedger {
  /** Sorted by path, by UTF-16 code units; each path once. */
  readonly files: readonly FileRecord[];
}
