import { integerOption } from "../../internal/arguments.js";
import { isOnlyRead } from "./details.js";
import type { FileLedger, FileRecord } from "./records.js";

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
  const leftOut = Math.max(0, files.length - maxFiles);
  const latest = new Set(files.toSorted((a, b) => b.step - a.step).slice(0, maxFiles));
  const lines = files.filter((file) => latest.has(file)).map(line);
  if (leftOut > 0) lines.push(`(${leftOut} ${leftOut === 1 ? "file" : "files"} touched earlier left out)`);
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
