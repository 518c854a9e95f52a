/**
 * The file ledger: the operations of a context replayed in order, the state of each file as data and as
 * text, and its comparison with the files as they are now.
 */

import { type Context, type ContextItem, toolPairs } from "../../content/index.js";
import { integerOption } from "../../core/arguments.js";
import { untilAborted } from "../../core/concurrency.js";
import { isRecord } from "../../core/shape.js";
import {
  type FileToolTable,
  nestedSteps,
  type OperationStep,
  type PathKey,
  type Paths,
  pathsFrom,
  readSha256,
  stepsOfCall,
} from "./operations.js";
import { fileTools } from "./tool-table.js";

/** The options of {@link fileLedger}. */
export interface FileLedgerOptions {
  /**
   * The absolute directory that relative paths start from; on Windows with its drive or share. Without it
   * paths are only normalised, and a relative path never equals an absolute one.
   */
  readonly cwd?: string | undefined;
  /**
   * Tools in addition to those of known agents; see {@link FileToolTable}. A row of the same name replaces
   * theirs.
   */
  readonly tools?: FileToolTable | undefined;
}

/**
 * Lists the file operations of the calls of a context, in order, on top of the records in the `details` of
 * its summaries. A call that failed did nothing; a call without a result is `unconfirmed`. Calls that a tool
 * made itself, which pi records in the `nestedCalls` of its result, count like other calls. Deleting or
 * moving a directory applies to the files below it.
 *
 * The ledger sees the context that the model sees: a message that an edit removed is not in it. Retained
 * messages are skipped, because the summary before them has their operations.
 *
 * A path has one spelling: `a`, `./a`, `/cwd/a`, `b/../a` and `file:///cwd/a` are one file. Invalid paths are
 * skipped: empty, with a NUL, or longer than 4096 characters. Arguments may have any JSON shape; only a
 * reader of your own `tools` can throw.
 *
 * @example
 * ```ts
 * const call = { type: "toolCall", id: "c1", name: "save", arguments: { target: "src/a.ts" } } as const;
 * const asked = assistantMessage({ provider: "p", model: "m" }, call);
 * const ledger = fileLedger(contextFrom([asked, toolResult(call, "saved")]), {
 *   cwd: "/repo",
 *   tools: { save: { operation: "write", path: "target" } },
 * });
 * ledger.files; // [{ path: "src/a.ts", operations: ["modified"], step: 1 }]
 * ```
 */
export function fileLedger(context: Pick<Context, "items">, options: FileLedgerOptions = {}): FileLedger {
  const { items } = context;
  const tools = { ...fileTools, ...options.tools };
  const paths = pathsFrom(options.cwd);
  const steps: LedgerStep[] = [];
  const { pairs, orphans } = toolPairs(items.map(({ message }) => message));
  const orphaned = new Set(orphans);
  let next = 0;
  for (let at = 0; at < items.length; at++) {
    const { message, origin } = items[at] as ContextItem;
    const isRetained = origin === "retained";
    if ((message.role === "compactionSummary" || message.role === "branchSummary") && !isRetained) {
      steps.push(storedStep(message.details, paths));
    }
    if (message.role === "toolResult" && orphaned.has(at) && !isRetained) {
      for (const step of nestedSteps(message, tools, paths)) steps.push(step);
    }
    for (let pair = pairs[next]; pair?.callAt === at; pair = pairs[++next]) {
      // The details have the retained calls, except those that had no result when they were retained.
      if (pair.resultAt !== undefined && items[pair.resultAt]?.origin === "retained") continue;
      for (const step of stepsOfCall(pair.call, pair.result, tools, paths)) steps.push(step);
    }
  }
  const builder = new LedgerBuilder(steps, paths);
  for (const step of steps) {
    if ("records" in step) builder.applyStored(step);
    else builder.applyOperation(step);
  }
  return builder.ledger();
}

type LedgerStep = OperationStep | StoredStep;

/** A record under construction. */
type Draft = { -readonly [K in Exclude<keyof FileRecord, "path" | "operations">]?: FileRecord[K] } & {
  readonly operations: FileAction[];
  step: number;
};

const readAction = {
  read: "read",
  create: "created",
  modify: "modified",
  delete: "deleted",
  move: "moved",
} as const;

class LedgerBuilder {
  readonly #paths: Paths;
  /** Every path of a step, sorted by `full`, so that the paths below a directory follow it. */
  readonly #keys: readonly PathKey[];
  readonly #index = new Map<string, number>();
  /** For each path the nearest tracked directory above it, or -1. */
  readonly #parent: Int32Array;
  readonly #drafts: (Draft | undefined)[];
  /** Whether the path is known and not gone. */
  readonly #isPresent: Uint8Array;
  /**
   * The number of present paths below each path: deleting a directory again does not scan its files again.
   */
  readonly #presentBelow: Int32Array;
  #count = 0;

  constructor(steps: readonly LedgerStep[], paths: Paths) {
    this.#paths = paths;
    const keys = new Map<string, PathKey>();
    const add = (key: PathKey) => keys.set(key.full, key);
    for (const step of steps) {
      if ("records" in step) {
        for (const { key } of step.records) add(key);
        for (const { key } of step.listed) add(key);
      } else {
        add(step.key);
        if (step.to !== undefined) add(step.to);
      }
    }
    this.#keys = [...keys.values()].sort((a, b) => (a.full < b.full ? -1 : 1));
    this.#parent = new Int32Array(this.#keys.length);
    this.#isPresent = new Uint8Array(this.#keys.length);
    this.#presentBelow = new Int32Array(this.#keys.length);
    const open: number[] = [];
    this.#keys.forEach(({ full }, at) => {
      this.#index.set(full, at);
      while (open.length > 0 && !full.startsWith(`${this.#keys[open.at(-1) as number]?.full}\0`)) open.pop();
      this.#parent[at] = open.at(-1) ?? -1;
      open.push(at);
    });
    this.#drafts = new Array(this.#keys.length);
  }

  applyOperation({ operation, key, to, contentSha256, confirmed }: OperationStep): void {
    const at = this.#at(key);
    if (operation === "move" && (to === undefined || to.full === key.full)) return;
    this.#count = Math.min(this.#count + 1, Number.MAX_SAFE_INTEGER);
    const gone = this.#drafts[at]?.gone === true;
    const resolved = operation === "write" ? (gone ? "create" : "modify") : operation;
    if (!confirmed) {
      this.#unconfirmed(at, readAction[resolved]);
      if (to !== undefined) this.#unconfirmed(this.#at(to), "moved");
    } else if (resolved === "delete") {
      this.#remove(at, "deleted");
    } else if (resolved === "move" && to !== undefined) {
      const content = contentSha256 ?? this.#drafts[at]?.contentSha256;
      this.#remove(at, "moved", to);
      const target = this.#at(to);
      const draft = this.#present(target, "moved", content);
      draft.movedFrom = key.path;
      this.#doubtBelow(target);
    } else {
      const draft = this.#present(at, readAction[resolved], contentSha256);
      if (resolved === "create" && draft.movedFrom !== undefined) delete draft.movedFrom;
    }
  }

  applyStored({ records, listed }: StoredStep): void {
    const before = this.#count;
    for (const { key, record } of records) {
      if (record.gone !== true && record.unconfirmed !== true) this.#restoreParents(this.#at(key));
    }
    for (const { key, record } of records) {
      const at = this.#at(key);
      const { path: _, operations, ...state } = record;
      const draft: Draft = { ...state, operations: this.#drafts[at]?.operations ?? [], step: 0 };
      for (const action of operations) addAction(draft, action);
      draft.step = Math.min(before + record.step, Number.MAX_SAFE_INTEGER);
      this.#count = Math.max(this.#count, draft.step);
      this.#drafts[at] = draft;
      this.#track(at);
    }
    if (listed.length > 0) this.#count = Math.min(this.#count + 1, Number.MAX_SAFE_INTEGER);
    for (const { key, action } of listed) this.#unconfirmed(this.#at(key), action);
  }

  ledger(): FileLedger {
    const files: FileRecord[] = [];
    this.#drafts.forEach((draft, at) => {
      if (draft !== undefined) files.push({ path: (this.#keys[at] as PathKey).path, ...draft });
    });
    return { files: files.sort((a, b) => (a.path < b.path ? -1 : 1)) };
  }

  #at(key: PathKey): number {
    return this.#index.get(key.full) as number;
  }

  #draft(at: number, action: FileAction): Draft {
    const draft = this.#drafts[at] ?? { operations: [], step: 0 };
    this.#drafts[at] = draft;
    addAction(draft, action);
    draft.step = this.#count;
    return draft;
  }

  /**
   * Records an operation without a result: the content is no longer known, and the file stays present or
   * gone.
   */
  #unconfirmed(at: number, action: FileAction): void {
    const draft = this.#draft(at, action);
    delete draft.contentSha256;
    draft.unconfirmed = true;
    this.#track(at);
  }

  /** Records that the file exists, and so do its directories. */
  #present(at: number, action: FileAction, contentSha256: string | undefined): Draft {
    const draft = this.#draft(at, action);
    // Deleting absent members would turn the object into a slow dictionary.
    if (draft.gone !== undefined) delete draft.gone;
    if (draft.movedTo !== undefined) delete draft.movedTo;
    if (draft.unconfirmed !== undefined) delete draft.unconfirmed;
    if (draft.contentSha256 !== undefined) delete draft.contentSha256;
    if (contentSha256 !== undefined) draft.contentSha256 = contentSha256;
    this.#track(at);
    this.#restoreParents(at);
    return draft;
  }

  #restoreParents(at: number): void {
    for (const above of this.#parents(at)) {
      const draft = this.#drafts[above];
      if (draft?.gone !== true) continue;
      delete draft.gone;
      delete draft.movedTo;
      this.#track(above);
    }
  }

  /** Records that gone files below a path may be back: a directory was moved there, perhaps with them. */
  #doubtBelow(at: number): void {
    const inside = `${(this.#keys[at] as PathKey).full}\0`;
    for (let below = at + 1; this.#keys[below]?.full.startsWith(inside); below++) {
      const draft = this.#drafts[below];
      if (draft?.gone !== true) continue;
      delete draft.gone;
      delete draft.movedTo;
      draft.unconfirmed = true;
      this.#track(below);
    }
  }

  /** Records that the file and everything below it is gone. */
  #remove(at: number, action: "deleted" | "moved", to?: PathKey): void {
    const { full } = this.#keys[at] as PathKey;
    this.#removeOne(at, action, to);
    for (let below = at + 1; (this.#presentBelow[at] ?? 0) > 0; below++) {
      if (this.#isPresent[below] === 0) continue;
      const key = this.#keys[below] as PathKey;
      this.#removeOne(below, action, to && this.#paths.keyOfFull(to.full + key.full.slice(full.length)));
    }
  }

  #removeOne(at: number, action: FileAction, to: PathKey | undefined): void {
    const draft = this.#draft(at, action);
    draft.gone = true;
    delete draft.contentSha256;
    delete draft.movedFrom;
    delete draft.movedTo;
    delete draft.unconfirmed;
    if (to !== undefined) draft.movedTo = to.path;
    this.#track(at);
  }

  /** Updates the counts above a path whose draft changed. */
  #track(at: number): void {
    const isPresent = this.#drafts[at]?.gone === true ? 0 : 1;
    if (this.#isPresent[at] === isPresent) return;
    this.#isPresent[at] = isPresent;
    for (const above of this.#parents(at)) {
      this.#presentBelow[above] = (this.#presentBelow[above] ?? 0) + (isPresent === 1 ? 1 : -1);
    }
  }

  *#parents(at: number): Iterable<number> {
    for (let above = this.#parent[at] ?? -1; above >= 0; above = this.#parent[above] ?? -1) yield above;
  }
}

function addAction(draft: Draft, action: FileAction): void {
  if (!draft.operations.includes(action)) draft.operations.push(action);
}

// A file ledger as data: in the `details` of a summary, and as text in its footer.

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
interface FileLedgerDetails {
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
interface StoredStep {
  readonly records: readonly { readonly key: PathKey; readonly record: FileRecord }[];
  /** Files that only pi's lists name, without an order. */
  readonly listed: readonly { readonly key: PathKey; readonly action: FileAction }[];
}

/** Reads details of any shape: the records, and the files that only pi's lists name. Never throws. */
function storedStep(details: unknown, paths: Paths): StoredStep {
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
interface LedgerTextOptions {
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

// Compares a file ledger with the files as they are now.

/** Concurrent probes of {@link staleFiles}. */
const defaultConcurrency = 8;

/** A file that changed since the conversation last saw it. */
interface StaleFile {
  readonly record: FileRecord;
  /**
   * `changed`: the content differs. `missing`: the file does not exist although it was not deleted or moved
   * away. `back`: it exists although it was. `unknown`: the probe threw.
   */
  readonly reason: "changed" | "missing" | "back" | "unknown";
  /** The error of the probe, with `unknown`. */
  readonly cause?: unknown;
}

/** The options of {@link staleFiles}. */
export interface StaleFilesOptions {
  /** If it aborts, its reason is thrown at once. */
  readonly signal?: AbortSignal | undefined;
  /** Concurrent probes; at least 1. Default 8. */
  readonly concurrency?: number | undefined;
}

/**
 * Finds the files that changed since the conversation last saw them, so that a harness can ask the model to
 * read them again. `probe` receives a record's path and returns the SHA-256 of its content now, 64 hex
 * digits. It returns undefined if the path does not exist, and "" for a path without a hash, such as a
 * directory. Unconfirmed files are skipped. The result is in the order of the ledger.
 *
 * @example
 * ```ts
 * const files = [{ path: "a.ts", operations: ["read"], step: 1 }] as const;
 * const stale = await staleFiles({ files }, () => undefined);
 * stale[0]?.reason; // "missing"
 * ```
 * @throws RangeError if `concurrency` is not an integer from 1 on
 * @throws the signal's reason if it aborts
 */
export async function staleFiles(
  ledger: FileLedger,
  probe: (path: string) => Promise<string | undefined> | string | undefined,
  options: StaleFilesOptions = {},
): Promise<readonly StaleFile[]> {
  const concurrency = integerOption("concurrency", options.concurrency, defaultConcurrency, 1);
  const { signal } = options;
  const asked = ledger.files.filter(({ unconfirmed }) => unconfirmed !== true);
  const found: (StaleFile | undefined)[] = new Array(asked.length);
  let next = 0;
  const work = async () => {
    while (next < asked.length && signal?.aborted !== true) {
      const at = next++;
      found[at] = await check(asked[at] as FileRecord, probe);
    }
  };
  const all = Promise.all(Array.from({ length: Math.min(concurrency, asked.length) }, work));
  await (signal === undefined ? all : untilAborted(all, signal));
  return found.filter((each) => each !== undefined);
}

async function check(
  record: FileRecord,
  probe: (path: string) => Promise<string | undefined> | string | undefined,
): Promise<StaleFile | undefined> {
  let now: string | undefined;
  try {
    now = await probe(record.path);
  } catch (cause) {
    return { record, reason: "unknown", cause };
  }
  if (record.gone) return now === undefined ? undefined : { record, reason: "back" };
  if (now === undefined) return { record, reason: "missing" };
  const { contentSha256 } = record;
  if (contentSha256 === undefined || now === "" || now.toLowerCase() === contentSha256) return undefined;
  return { record, reason: "changed" };
}
