import { integerOption } from "../../internal/arguments.js";
import { isRecord } from "../../internal/shape.js";
import type { StoredStep } from "./ledger-builder.js";
import { sha256Of } from "./operations.js";
import type { Paths } from "./paths.js";

/** A ledger in the `details` of a compaction or branch summary: the two lists that pi writes and reads there, and the records beside them. */
export interface FileLedgerDetails {
  /** Paths of files that were only read, sorted. */
  readonly readFiles: readonly string[];
  /** Paths of files that were created, modified, deleted or moved, sorted. */
  readonly modifiedFiles: readonly string[];
  /** Every file. */
  readonly files: readonly FileRecord[];
}

/**
 * What to store of a ledger, so that {@link fileLedger} finds it in the summary. pi 0.73.1 reads its own two lists in it,
 * and where it writes a summary later they are all that is left.
 */
export function ledgerDetails(ledger: FileLedger): FileLedgerDetails {
  const { files } = ledger;
  return {
    readFiles: files.filter(isOnlyRead).map(({ path }) => path),
    modifiedFiles: files.filter((file) => !isOnlyRead(file)).map(({ path }) => path),
    files,
  };
}

/** Whether nothing but reading was done to a file. */
export function isOnlyRead({ operations }: FileRecord): boolean {
  return operations.every((deed) => deed === "read");
}

/** What `details` of any shape tell of files: our records, and of pi's lists what the records do not have. Never throws. */
export function storedStep(details: unknown, paths: Paths): StoredStep {
  if (!isRecord(details)) return { records: [], listed: [] };
  const records = list(details.files).flatMap((value) => {
    const record = recordOf(value, paths);
    const place = record && paths.place(record.path);
    return record && place ? [{ place, record }] : [];
  });
  const known = new Set<string>();
  const changed = new Set<string>();
  for (const { place, record } of records) {
    known.add(place.full);
    if (!isOnlyRead(record)) changed.add(place.full);
  }
  const named = (value: unknown, deed: FileAction, except: Set<string>) =>
    list(value).flatMap((path) => {
      const place = typeof path === "string" ? paths.place(path) : undefined;
      return place === undefined || except.has(place.full) ? [] : [{ place, deed }];
    });
  return {
    records,
    listed: [
      ...named(details.readFiles, "read", known),
      ...named(details.modifiedFiles, "modified", changed),
    ],
  };
}

function recordOf(value: unknown, paths: Paths): FileRecord | undefined {
  if (!isRecord(value)) return undefined;
  const key = (path: unknown) => (typeof path === "string" ? paths.place(path)?.key : undefined);
  const operations = list(value.operations).filter((each) =>
    fileActions.includes(each as FileAction),
  ) as FileAction[];
  const path = key(value.path);
  if (path === undefined || operations.length === 0) return undefined;
  const gone = value.gone === true;
  const unconfirmed = value.unconfirmed === true;
  const contentSha256 = gone || unconfirmed ? undefined : sha256Of(value.contentSha256);
  const movedTo = gone ? key(value.movedTo) : undefined;
  const movedFrom = gone ? undefined : key(value.movedFrom);
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

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** What was done to a file. */
export type FileAction = "read" | "created" | "modified" | "deleted" | "moved";

/** Every deed, in the order of the type. */
export const fileActions: readonly FileAction[] = ["read", "created", "modified", "deleted", "moved"];

/** One file, and what the calls of a conversation did to it. Plain data that JSON keeps. */
export interface FileRecord {
  /** Relative to the working directory with `/` where the file lies inside it, else absolute. */
  readonly path: string;
  /** Each once, in the order in which they were first seen; never empty. */
  readonly operations: readonly FileAction[];
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

/** Lines of files in a block of {@link ledgerText}. */
const defaultMaxFiles = 100;
/** A longer path loses its middle. */
const maxShownCharacters = 400;
const blocks = ["read-files", "modified-files"] as const;

/** How much of a ledger is told. */
export interface LedgerTextOptions {
  /** Files in each block; at least 0, by default 100. */
  readonly maxFiles?: number;
}

/**
 * The blocks that close a summary, `<read-files>` and `<modified-files>` as pi writes them: a path on each line, sorted.
 * Where there are more than `maxFiles` the ones touched last stay, and a line says how many were left out. What was deleted
 * or moved says so behind its path. A path that could break a line, end a block or hide its letters stands in quotes, with
 * such characters as `\u{a}`. An empty line stands before each block, so that the text can follow a summary as it is; without
 * files it is empty.
 *
 * @example
 * ```ts
 * ledgerText({ files: [{ path: "a.ts", operations: ["deleted"], gone: true, step: 1 }] });
 * // "\n\n<modified-files>\na.ts (deleted)\n</modified-files>"
 * ```
 * @throws RangeError for a `maxFiles` that is no integer of at least 0.
 */
export function ledgerText(ledger: FileLedger, options: LedgerTextOptions = {}): string {
  const maxFiles = integerOption("maxFiles", options.maxFiles, defaultMaxFiles, 0);
  const read = ledger.files.filter(isOnlyRead);
  const modified = ledger.files.filter((file) => !isOnlyRead(file));
  return block("read-files", read, maxFiles) + block("modified-files", modified, maxFiles);
}

/**
 * A summary without the blocks that close it, ours or pi's, and without the space before them; a summary without any as it
 * is. For an earlier summary that is to be brought up to date.
 */
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
  if (movedTo !== undefined) return `${shown(path)} (moved to ${shown(movedTo)})`;
  if (gone) return `${shown(path)} (${operations.includes("deleted") ? "deleted" : "moved away"})`;
  return movedFrom === undefined ? shown(path) : `${shown(path)} (moved from ${shown(movedFrom)})`;
}

/** Controls, line separators, marks that are not seen or turn the writing round, halves of characters, and what makes a tag. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}<>"\\]/gu;

function shown(path: string): string {
  const half = maxShownCharacters / 2;
  const short = path.length <= maxShownCharacters ? path : `${path.slice(0, half)}…${path.slice(-half)}`;
  // A parenthesis at its start or behind a space would read as one of our remarks.
  const plain = short.trim() === short && !/^\(| \(/.test(short) && short.search(unsafe) < 0;
  if (plain) return short;
  return `"${short.replace(unsafe, (each) => `\\u{${each.codePointAt(0)?.toString(16)}}`)}"`;
}
