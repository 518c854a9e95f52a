/** Replays the operations of a context in order and records the state of each file. */
import { type Context, type ContextItem, toolPairs } from "../../content/index.js";
import { type FileAction, type FileLedger, type FileRecord, type StoredStep, storedStep } from "./details.js";
import { type FileToolTable, nestedSteps, type OperationStep, stepsOfCall } from "./operations.js";
import { type PathKey, type Paths, pathsFrom } from "./paths.js";
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
