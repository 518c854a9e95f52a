import { type Context, type ContextItem, toolPairs } from "../../content/index.js";
import { type FileAction, type FileLedger, type FileRecord, storedStep } from "./details.js";
import { nestedSteps, stepsOfCall } from "./operations.js";
import { type Paths, type Place, pathsFrom } from "./paths.js";
import { type FileOperation, type FileToolTable, fileTools } from "./tool-table.js";

/** How calls are read. */
export interface FileLedgerOptions {
  /**
   * The absolute directory that relative paths start from; on Windows with its drive or share. Without it paths are only
   * tidied, and a relative one and an absolute one never meet.
   */
  readonly cwd?: string;
  /** By default {@link fileTools}. */
  readonly tools?: FileToolTable;
}

/**
 * What the calls of a context did to which files, in their order, on top of what its summaries carry in `details`. A call
 * that failed did nothing; one without a result is `unconfirmed`. Calls that a tool made while it ran, which pi records in
 * the `nestedCalls` of its result, count as calls of their own. A deleted or moved directory takes the files below it
 * along. The ledger sees what the model sees: a message that a context edit took out is not in it, so its paths reach no
 * summary. Retained messages are skipped, since the summary before them has them already.
 *
 * Paths are one however they are spelled: `a`, `./a`, `/cwd/a`, `b/../a` and `file:///cwd/a`. What no file can be called
 * is skipped: an empty path, one with a NUL, or of more than 4096 characters. Arguments of any JSON shape are taken; only
 * a reader of your own `tools` can throw.
 *
 * @example
 * ```ts
 * const call = { type: "toolCall", id: "c1", name: "save", arguments: { target: "/repo/src/a.ts" } } as const;
 * const asked = assistantMessage({ provider: "p", model: "m" }, call);
 * const ledger = fileLedger(contextOf([asked, toolResult(call, "saved")]), {
 *   cwd: "/repo",
 *   tools: { ...fileTools, save: { operation: "write", path: "target" } },
 * });
 * ledger.files; // [{ path: "src/a.ts", operations: ["modified"], step: 1 }]
 * ```
 */
export function fileLedger(context: Pick<Context, "items">, options: FileLedgerOptions = {}): FileLedger {
  const { items } = context;
  const tools = options.tools ?? fileTools;
  const paths = pathsFrom(options.cwd);
  const steps: LedgerStep[] = [];
  const { pairs, orphans } = toolPairs(items.map(({ message }) => message));
  const orphaned = new Set(orphans);
  let next = 0;
  for (let at = 0; at < items.length; at++) {
    const { message, origin } = items[at] as ContextItem;
    if (message.role === "compactionSummary" || message.role === "branchSummary") {
      if (origin !== "retained") {
        steps.push(storedStep(message.details, paths));
      }
    }
    if (message.role === "toolResult" && orphaned.has(at) && origin !== "retained") {
      for (const step of nestedSteps(message, tools, paths)) steps.push(step);
    }
    for (let pair = pairs[next]; pair?.callAt === at; pair = pairs[++next]) {
      // What a compaction retained it has in its details, but for calls that had no result there yet.
      if (pair.resultAt !== undefined && items[pair.resultAt]?.origin === "retained") continue;
      for (const step of stepsOfCall(pair.call, pair.result, tools, paths)) steps.push(step);
    }
  }
  return buildLedger(steps, paths);
}

/** One thing done to one file, its places found. */
export interface OperationStep {
  readonly operation: FileOperation["operation"];
  readonly place: Place;
  readonly to?: Place;
  readonly contentSha256?: string;
  /** Whether a result says that it was done. */
  readonly confirmed: boolean;
}

/** What a summary carries. */
export interface StoredStep {
  readonly records: readonly { readonly place: Place; readonly record: FileRecord }[];
  /** Files that only pi's lists name; all of them at once, since nobody knows their order. */
  readonly listed: readonly { readonly place: Place; readonly deed: FileAction }[];
}

export type LedgerStep = OperationStep | StoredStep;

/** A record that is still written. */
type Draft = { -readonly [K in Exclude<keyof FileRecord, "path" | "operations">]?: FileRecord[K] } & {
  readonly operations: FileAction[];
  step: number;
};

const deedOf = {
  read: "read",
  create: "created",
  modify: "modified",
  delete: "deleted",
  move: "moved",
} as const;

/** Plays steps in order. In its time a directory costs what lies below it and is there, each file once until it is back. */
export function buildLedger(steps: readonly LedgerStep[], paths: Paths): FileLedger {
  const book = new Book(steps, paths);
  for (const step of steps) {
    if ("records" in step) book.carry(step);
    else book.do(step);
  }
  return book.ledger();
}

class Book {
  readonly #paths: Paths;
  /** Every place that a step names, sorted by `full`: what lies below a place stands right behind it. */
  readonly #places: readonly Place[];
  readonly #index = new Map<string, number>();
  /** For each place the nearest one that it lies below, or -1. */
  readonly #above: Int32Array;
  readonly #drafts: (Draft | undefined)[];
  /** Which have a draft that is not gone. */
  readonly #live: LiveSet;
  #count = 0;

  constructor(steps: readonly LedgerStep[], paths: Paths) {
    this.#paths = paths;
    const places = new Map<string, Place>();
    const add = (place: Place) => places.set(place.full, place);
    for (const step of steps) {
      if ("records" in step) {
        for (const { place } of step.records) add(place);
        for (const { place } of step.listed) add(place);
      } else {
        add(step.place);
        if (step.to !== undefined) add(step.to);
      }
    }
    this.#places = [...places.values()].sort((a, b) => (a.full < b.full ? -1 : 1));
    this.#above = new Int32Array(this.#places.length);
    const open: number[] = [];
    this.#places.forEach(({ full }, at) => {
      this.#index.set(full, at);
      while (open.length > 0 && !full.startsWith(`${this.#places[open.at(-1) as number]?.full}\0`))
        open.pop();
      this.#above[at] = open.at(-1) ?? -1;
      open.push(at);
    });
    this.#drafts = new Array(this.#places.length);
    this.#live = new LiveSet(this.#places.length);
  }

  do({ operation, place, to, contentSha256, confirmed }: OperationStep): void {
    const at = this.#at(place);
    if (operation === "move" && (to === undefined || to.full === place.full)) return;
    this.#count = Math.min(this.#count + 1, Number.MAX_SAFE_INTEGER);
    const gone = this.#drafts[at]?.gone === true;
    const plain = operation === "write" ? (gone ? "create" : "modify") : operation;
    if (!confirmed) {
      this.#maybe(at, deedOf[plain]);
      if (to !== undefined) this.#maybe(this.#at(to), "moved");
    } else if (plain === "delete") {
      this.#leave(at, "deleted");
    } else if (plain === "move" && to !== undefined) {
      const content = contentSha256 ?? this.#drafts[at]?.contentSha256;
      this.#leave(at, "moved", to);
      const draft = this.#there(this.#at(to), "moved", content);
      draft.movedFrom = place.key;
    } else {
      const draft = this.#there(at, deedOf[plain], contentSha256);
      if (plain === "create" && draft.movedFrom !== undefined) delete draft.movedFrom;
    }
  }

  carry({ records, listed }: StoredStep): void {
    const before = this.#count;
    for (const { place, record } of records) {
      if (record.gone !== true && record.unconfirmed !== true) this.#backAbove(this.#at(place));
    }
    for (const { place, record } of records) {
      const at = this.#at(place);
      const { path: _, operations, ...state } = record;
      const draft: Draft = { ...state, operations: this.#drafts[at]?.operations ?? [], step: 0 };
      this.#drafts[at] = draft;
      for (const deed of operations) note(draft, deed);
      draft.step = Math.min(before + record.step, Number.MAX_SAFE_INTEGER);
      this.#count = Math.max(this.#count, draft.step);
      this.#live.set(at, draft.gone !== true);
    }
    if (listed.length > 0) this.#count = Math.min(this.#count + 1, Number.MAX_SAFE_INTEGER);
    for (const { place, deed } of listed) this.#maybe(this.#at(place), deed);
  }

  ledger(): FileLedger {
    const files: FileRecord[] = [];
    this.#drafts.forEach((draft, at) => {
      if (draft !== undefined) files.push({ path: (this.#places[at] as Place).key, ...draft });
    });
    return { files: files.sort((a, b) => (a.path < b.path ? -1 : 1)) };
  }

  #at(place: Place): number {
    return this.#index.get(place.full) as number;
  }

  #draft(at: number, deed: FileAction): Draft {
    const draft = this.#drafts[at] ?? { operations: [], step: 0 };
    this.#drafts[at] = draft;
    note(draft, deed);
    draft.step = this.#count;
    return draft;
  }

  /** Nobody knows whether it was done: what was known of the content no longer is, and whether the file is there stays. */
  #maybe(at: number, deed: FileAction): void {
    const draft = this.#draft(at, deed);
    delete draft.contentSha256;
    draft.unconfirmed = true;
    this.#live.set(at, draft.gone !== true);
  }

  /** The file is there afterwards, and so are the directories that it lies in. */
  #there(at: number, deed: FileAction, contentSha256: string | undefined): Draft {
    const draft = this.#draft(at, deed);
    // Deleting what is not there would cost more than all the rest.
    if (draft.gone !== undefined) delete draft.gone;
    if (draft.movedTo !== undefined) delete draft.movedTo;
    if (draft.unconfirmed !== undefined) delete draft.unconfirmed;
    if (draft.contentSha256 !== undefined) delete draft.contentSha256;
    if (contentSha256 !== undefined) draft.contentSha256 = contentSha256;
    this.#live.set(at, true);
    this.#backAbove(at);
    return draft;
  }

  #backAbove(at: number): void {
    for (let above = this.#above[at] ?? -1; above >= 0; above = this.#above[above] ?? -1) {
      const draft = this.#drafts[above];
      if (draft?.gone !== true) continue;
      delete draft.gone;
      delete draft.movedTo;
      this.#live.set(above, true);
    }
  }

  /** The file is not there afterwards, nor is what lies below it. */
  #leave(at: number, deed: "deleted" | "moved", to?: Place): void {
    const { full } = this.#places[at] as Place;
    this.#away(at, deed, to);
    for (let below = this.#live.next(at + 1); below !== undefined; below = this.#live.next(below + 1)) {
      const place = this.#places[below] as Place;
      if (!place.full.startsWith(`${full}\0`)) return;
      this.#away(below, deed, to && this.#paths.placeOf(to.full + place.full.slice(full.length)));
    }
  }

  #away(at: number, deed: FileAction, to: Place | undefined): void {
    const draft = this.#draft(at, deed);
    draft.gone = true;
    delete draft.contentSha256;
    delete draft.movedFrom;
    delete draft.movedTo;
    delete draft.unconfirmed;
    if (to !== undefined) draft.movedTo = to.key;
    this.#live.set(at, false);
  }
}

function note(draft: Draft, deed: FileAction): void {
  if (!draft.operations.includes(deed)) draft.operations.push(deed);
}

/** A set of the numbers below `size`, which finds the next one in it in a logarithmic number of steps. */
export class LiveSet {
  readonly #leaves: number;
  /** A binary tree in an array: whether anything below a node is in the set; the leaves are its second half. */
  readonly #any: Uint8Array;

  constructor(size: number) {
    this.#leaves = 2 ** Math.ceil(Math.log2(Math.max(1, size)));
    this.#any = new Uint8Array(2 * this.#leaves);
  }

  set(index: number, inside: boolean): void {
    let node = this.#leaves + index;
    if (this.#any[node] === (inside ? 1 : 0)) return;
    this.#any[node] = inside ? 1 : 0;
    for (node >>= 1; node >= 1; node >>= 1) {
      this.#any[node] = (this.#any[2 * node] ?? 0) | (this.#any[2 * node + 1] ?? 0);
    }
  }

  /** The least number of the set from `from` on; undefined where there is none. */
  next(from: number): number | undefined {
    if (from >= this.#leaves) return undefined;
    let node = this.#leaves + from;
    while (this.#any[node] === 0) {
      // Up until there is a right neighbour, then on there.
      while ((node & 1) === 1) node >>= 1;
      if (node === 0) return undefined;
      node += 1;
    }
    while (node < this.#leaves) {
      node *= 2;
      if (this.#any[node] === 0) node += 1;
    }
    return node - this.#leaves;
  }
}
