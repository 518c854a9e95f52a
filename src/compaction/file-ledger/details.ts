/** A file ledger as data: in the `details` of a summary, and as text in its footer. */
import { integerOption } from "../../core/arguments.js";
import { isRecord } from "../../core/shape.js";
import { readSha256 } from "./operations.js";
import type { PathKey, Paths } from "./paths.js";

/** An action on a file. */
export type FileAction = "read" | "created" | "modified" | "deleted" | "moved";

const fileActions: readonly unknown[] = [
  "read",
  "created",
  "modified",
  "deleted",
  "moved",
] satisfies FileAction[];

/** The record of one file, as plain JSON data. */
export interface FileRecord {
  /** Relative to the working directory, with `/`, if the file is inside it, else absolute. */
  readonly path: string;
  /** Each action once, in the order of first occurrence; never empty. */
  readonly operations: readonly FileAction[];
  /** SHA-256 of the content after the latest operation, 64 hex digits; absent if unknown. */
  readonly contentSha256?: string;
  /** Deleted or moved away, and not seen since. */
  readonly gone?: true;
  /** The new path; only with `gone`. */
  readonly movedTo?: string;
  /** The old path; only without `gone`. */
  readonly movedFrom?: string;
  /**
   * Whether the file is there, and with which content, is unknown: the call has no result, only pi's lists
   * name the file, or it was gone before a directory was moved to a place above it.
   */
  readonly unconfirmed?: true;
  /** The number of operations up to and including the file's latest one; orders the files by time. */
  readonly step: number;
}

/** The files that a conversation touched, across all compactions, as plain JSON data. */
export interface FileLedger {
  /** Sorted by path in UTF-16 code units; each path once. */
  readonly files: readonly FileRecord[];
}

/**
 * A ledger in the `details` of a compaction or branch summary: the two lists that pi reads there, and the
 * records.
 */
export interface FileLedgerDetails {
  /** Paths of files that were only read, sorted. */
  readonly readFiles: readonly string[];
  /** Paths of files that were created, modified, deleted or moved, sorted. */
  readonly modifiedFiles: readonly string[];
  /** Every file. */
  readonly files: readonly FileRecord[];
}

/**
 * The details to store, so that {@link fileLedger} continues from the summary. pi 0.73.1 reads only its two
 * lists, and stores only those in summaries of its own.
 */
export function ledgerDetails(ledger: FileLedger): FileLedgerDetails {
  const { files } = ledger;
  return {
    readFiles: files.filter(isOnlyRead).map(({ path }) => path),
    modifiedFiles: files.filter((file) => !isOnlyRead(file)).map(({ path }) => path),
    files,
  };
}

function isOnlyRead({ operations }: FileRecord): boolean {
  return operations.every((action) => action === "read");
}

/** The files in the details of a summary. */
export interface StoredStep {
  readonly records: readonly { readonly key: PathKey; readonly record: FileRecord }[];
  /** Files that only pi's lists name, without an order. */
  readonly listed: readonly { readonly key: PathKey; readonly action: FileAction }[];
}

/** Reads details of any shape: the records, and the files that only pi's lists name. Never throws. */
export function storedStep(details: unknown, paths: Paths): StoredStep {
  if (!isRecord(details)) return { records: [], listed: [] };
  const records = readList(details.files).flatMap((value) => {
    const record = readRecord(value, paths);
    const key = record && paths.keyByPath(record.path);
    return record && key ? [{ key, record }] : [];
  });
  const known = new Set<string>();
  const changed = new Set<string>();
  for (const { key, record } of records) {
    known.add(key.full);
    if (!isOnlyRead(record)) changed.add(key.full);
  }
  const listed = (value: unknown, action: FileAction, except: Set<string>) =>
    readList(value).flatMap((path) => {
      const key = typeof path === "string" ? paths.keyByPath(path) : undefined;
      return key === undefined || except.has(key.full) ? [] : [{ key, action }];
    });
  return {
    records,
    listed: [
      ...listed(details.readFiles, "read", known),
      ...listed(details.modifiedFiles, "modified", changed),
    ],
  };
}

function readRecord(value: unknown, paths: Paths): FileRecord | undefined {
  if (!isRecord(value)) return undefined;
  const checkedPath = (path: unknown) => (typeof path === "string" ? paths.keyByPath(path)?.path : undefined);
  const operations = readList(value.operations).filter((each): each is FileAction =>
    fileActions.includes(each),
  );
  const path = checkedPath(value.path);
  if (path === undefined || operations.length === 0) return undefined;
  const gone = value.gone === true;
  const unconfirmed = value.unconfirmed === true;
  const contentSha256 = gone || unconfirmed ? undefined : readSha256(value.contentSha256);
  const movedTo = gone ? checkedPath(value.movedTo) : undefined;
  const movedFrom = gone ? undefined : checkedPath(value.movedFrom);
  const step = Number.isSafeInteger(value.step) ? Math.max(0, value.step as number) : 0;
  return {
    path,
    operations,
    ...(contentSha256 !== undefined && { contentSha256 }),
    ...(gone && { gone }),
    ...(movedTo !== undefined && { movedTo }),
    ...(movedFrom !== undefined && { movedFrom }),
    ...(unconfirmed && { unconfirmed }),
    step,
  };
}

function readList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The options of {@link ledgerText}. */
export interface LedgerTextOptions {
  /** The most files in each block; at least 0. Default 100. */
  readonly maxFiles?: number | undefined;
}

const defaultMaxFiles = 100;
/** The middle of a longer path is omitted. */
const maxPathCharacters = 400;
const blocks = ["read-files", "modified-files"] as const;

/**
 * Prints the blocks at the end of a summary, `<read-files>` and `<modified-files>` as pi writes them, with a
 * path on each line, sorted. Lists the `maxFiles` latest files and the number of the others. A deleted or
 * moved file has a note after its path.
 *
 * A path that could break a line, close a block or hide characters is quoted, with such characters as
 * `\u{a}`. A blank line precedes each block, so that the text can follow a summary. Without files the text is
 * empty.
 *
 * @throws RangeError if `maxFiles` is not an integer from 0 on
 */
export function ledgerText(ledger: FileLedger, options: LedgerTextOptions = {}): string {
  const maxFiles = integerOption("maxFiles", options.maxFiles, defaultMaxFiles, 0);
  const read = ledger.files.filter(isOnlyRead);
  const modified = ledger.files.filter((file) => !isOnlyRead(file));
  return block("read-files", read, maxFiles) + block("modified-files", modified, maxFiles);
}

/** Removes the blocks at the end of a summary, ours or pi's, and the space before them. */
export function stripLedgerText(summary: string): string {
  let text = summary;
  for (;;) {
    const end = text.trimEnd();
    const name = blocks.find((each) => end.endsWith(`\n</${each}>`));
    if (name === undefined) return text;
    const opening = `<${name}>\n`;
    const inner = end.lastIndexOf(`\n${opening}`);
    if (inner < 0 && !end.startsWith(opening)) return text;
    text = end.slice(0, Math.max(inner, 0)).trimEnd();
  }
}

function block(name: (typeof blocks)[number], files: readonly FileRecord[], maxFiles: number): string {
  if (files.length === 0) return "";
  const omitted = Math.max(0, files.length - maxFiles);
  const latest = new Set(files.toSorted((a, b) => b.step - a.step).slice(0, maxFiles));
  const lines = files.filter((file) => latest.has(file)).map(line);
  if (omitted > 0) lines.push(`(${omitted} ${omitted === 1 ? "file" : "files"} touched earlier left out)`);
  return `\n\n<${name}>\n${lines.join("\n")}\n</${name}>`;
}

function line({ path, gone, movedTo, movedFrom, operations }: FileRecord): string {
  if (movedTo !== undefined) return `${printPath(path)} (moved to ${printPath(movedTo)})`;
  if (gone) return `${printPath(path)} (${operations.includes("deleted") ? "deleted" : "moved away"})`;
  return movedFrom === undefined
    ? printPath(path)
    : `${printPath(path)} (moved from ${printPath(movedFrom)})`;
}

/**
 * Controls, line separators, invisible and bidirectional marks, lone surrogates, and the characters of tags.
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}<>"\\]/gu;

function printPath(path: string): string {
  const half = maxPathCharacters / 2;
  const short = path.length <= maxPathCharacters ? path : `${path.slice(0, half)}…${path.slice(-half)}`;
  // A parenthesis at its start or after a space would look like one of the notes.
  const isPlain = short.trim() === short && !/^\(| \(/.test(short) && short.search(unsafe) < 0;
  if (isPlain) return short;
  return `"${short.replace(unsafe, (each) => `\\u{${each.codePointAt(0)?.toString(16)}}`)}"`;
}
