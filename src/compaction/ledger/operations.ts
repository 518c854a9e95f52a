import type { ToolCall, ToolResultMessage } from "../../content/index.js";

/** One thing that one call does to one file. */
export interface FileOperation {
  /** `write` is `create` where the ledger knows that the file is gone, else `modify`. */
  readonly operation: "read" | "write" | "create" | "modify" | "delete" | "move";
  /** As the call spells it. */
  readonly path: string;
  /** Where a moved file goes, as the call spells it. A `move` without it is left out. */
  readonly to?: string;
  /** SHA-256 of the content that was read or written, 64 hex digits. */
  readonly contentSha256?: string;
}

/** A tool that does the same thing to the files that its arguments name. */
export interface FileToolRow {
  /** `write` is `create` where the result's `details.created` is true. */
  readonly operation: FileOperation["operation"];
  /** Names of arguments; the first that is there counts. It holds a path, or an array of paths that all count. */
  readonly path: string | readonly string[];
  /** The same of where a `move` goes. With several paths it is the directory that they go into. */
  readonly to?: string | readonly string[];
}

/** Reads off a call what it does. It is not asked about calls that failed; without a result nobody knows whether they did. */
export type FileToolReader = (
  call: ToolCall,
  result: ToolResultMessage | undefined,
) => readonly FileOperation[];

/**
 * Tools that touch files, by name. A tool of yours tells the content that it read or wrote by `contentSha256` in its
 * result's `details`, and a new file by `created: true`.
 */
export type FileToolTable = Readonly<Record<string, FileToolRow | FileToolReader>>;
