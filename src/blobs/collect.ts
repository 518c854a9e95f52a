import type { BlobRef } from "../content/index.js";
import { SessileError } from "../errors/index.js";
import { describe, integerOption } from "../internal/arguments.js";
import type { BlobBackend, BlobLeftovers } from "./backend.js";
import { isBlobRef } from "./ref.js";
import type { BlobStore } from "./types.js";

/** What one root names: a session's log, a list of pins. */
export interface BlobMark {
  /** What it is called, for the report: a path, an id. */
  readonly root: string;
  /** Every blob that it names. */
  readonly refs: Iterable<BlobRef>;
  /** Whether these are all: false for a log that is unreadable, of a newer version, or has lines that cannot be read. */
  readonly complete: boolean;
  /** Why they are not all. */
  readonly reason?: string;
}

/** Options of {@link collectGarbage}. */
export interface CollectOptions {
  /** Every root of this store, each once: what none of them names is garbage. */
  readonly marks: AsyncIterable<BlobMark> | Iterable<BlobMark>;
  /**
   * How long after it was last put or touched a blob is kept in any case: the time that an entry may take from the put of
   * a blob to be in its log. Minimum 0, default 14 days.
   */
  readonly graceMs?: number;
  /**
   * How long a blob then stays in the trash, from where it comes back when it is asked for. The grace holds there too.
   * Minimum 0, default `graceMs`.
   */
  readonly trashMs?: number;
  /** Changes nothing, and reports what would be. Default false. */
  readonly dryRun?: boolean;
  /** Milliseconds since 1970, finite. Default the clock of what keeps the blobs. */
  readonly now?: () => number;
  /** Ends the collection with the signal's reason; what was done until then is done. */
  readonly signal?: AbortSignal;
  /** Called for each blob that was looked at, with how many there were so far. */
  readonly onProgress?: (progress: { readonly blobs: number }) => void;
}

/** A number of blobs, and their bytes. */
export interface BlobTally {
  readonly count: number;
  readonly bytes: number;
}

/** What a collection did, or would do. */
export interface CollectionReport {
  readonly dryRun: boolean;
  /** The time that it went by. */
  readonly now: number;
  /** The roots that were looked at: blobs of any other are garbage to it. */
  readonly roots: readonly { readonly root: string; readonly refs: number }[];
  /** Named by a root. */
  readonly kept: BlobTally;
  /** Named by none, and put or touched within the grace. */
  readonly recent: BlobTally;
  /** Named by none: moved to the trash. */
  readonly trashed: BlobTally;
  /** In the trash and named by a root: taken back, and counted as kept too. */
  readonly restored: BlobTally;
  /** Deleted from the trash for good. */
  readonly deleted: BlobTally;
  /** Left in the trash, for its time there or for the rest of its grace. */
  readonly waiting: BlobTally;
  /** What writers left that ended in the middle: removed. */
  readonly leftovers: BlobLeftovers;
  /** Named by a root, and not in the store. */
  readonly missing: readonly BlobRef[];
}

const fortnightMs = 14 * 86_400_000;

/**
 * Takes out what nothing names any more: first into the trash, and out of it for good in a later collection. A blob that
 * was put, put again or touched within the grace stays, so that writers need not know of it; one that is asked for while in the
 * trash comes back.
 *
 * @param store its partition is collected, and no other
 * @throws SessileError COLLECTION_REFUSED where a mark is not complete, or there is none; nothing was changed
 * @throws TypeError, RangeError for options that are none
 * @example
 * ```ts
 * const report = await collectGarbage(blobs, {
 *   marks: [await sessionMark("session.jsonl", await readFile("session.jsonl"))],
 *   dryRun: true,
 * });
 * console.log(report.roots, report.trashed.bytes);
 * ```
 */
export async function collectGarbage(
  store: Pick<BlobStore, "backend">,
  options: CollectOptions,
): Promise<CollectionReport> {
  const { dryRun = false, signal, onProgress } = options;
  const { backend } = store;
  const graceMs = integerOption("graceMs", options.graceMs, fortnightMs, 0);
  const trashMs = integerOption("trashMs", options.trashMs, graceMs, 0);
  // Before the marks are read, so that what is put meanwhile is younger than this.
  const now = await timeOf(options, backend);
  const { roots, marked } = await readMarks(options);

  const kept = new Count();
  const recent = new Count();
  const trashed = new Count();
  const restored = new Count();
  const deleted = new Count();
  const waiting = new Count();
  const missing = new Set(marked);
  const each = signal === undefined ? {} : { signal };
  let blobs = 0;
  const look = (ref: BlobRef): void => {
    signal?.throwIfAborted();
    missing.delete(ref);
    onProgress?.({ blobs: ++blobs });
  };

  // The trash first: what is put into it below begins its time there.
  for await (const seen of backend.trash.list(each)) {
    const { ref, size, trashedAt, touchedAt } = seen;
    look(ref);
    if (marked.has(ref)) {
      if (dryRun) kept.add(size);
      if (dryRun || (await backend.trash.restore(ref))) restored.add(size);
    } else if (trashedAt >= now - trashMs || touchedAt >= now - graceMs) {
      waiting.add(size);
    } else if (dryRun || (await backend.trash.delete(ref, seen))) {
      deleted.add(size);
    }
  }
  for await (const stat of backend.list(each)) {
    look(stat.ref);
    if (marked.has(stat.ref)) kept.add(stat.size);
    else if (stat.touchedAt >= now - graceMs) recent.add(stat.size);
    else if (dryRun || (await backend.trash.take(stat))) trashed.add(stat.size);
    else recent.add(stat.size);
  }
  const leftovers = await backend.removeLeftovers?.(now - graceMs, { dryRun });
  return {
    dryRun,
    now,
    roots,
    kept: kept.tally(),
    recent: recent.tally(),
    trashed: trashed.tally(),
    restored: restored.tally(),
    deleted: deleted.tally(),
    waiting: waiting.tally(),
    leftovers: leftovers ?? { count: 0, bytes: 0 },
    missing: [...missing],
  };
}

async function timeOf({ now }: CollectOptions, backend: Pick<BlobBackend, "now">): Promise<number> {
  const time: unknown = now === undefined ? await backend.now() : now();
  // By NaN no blob is recent.
  if (Number.isFinite(time)) return time as number;
  throw new RangeError(`now: expected a function that gives a finite number, got ${describe(time)} from it`);
}

class Count {
  #count = 0;
  #bytes = 0;

  add(bytes: number): void {
    this.#count++;
    this.#bytes += bytes;
  }

  tally(): BlobTally {
    return { count: this.#count, bytes: this.#bytes };
  }
}

/** All marks, read to their end also where one is not complete, so that the refusal names each such root. */
async function readMarks({ marks, signal }: CollectOptions): Promise<{
  readonly roots: CollectionReport["roots"];
  readonly marked: ReadonlySet<BlobRef>;
}> {
  const roots: { root: string; refs: number }[] = [];
  const reasons: { root: string; reason: string }[] = [];
  const marked = new Set<BlobRef>();
  for await (const { root, refs, complete, reason } of marks) {
    signal?.throwIfAborted();
    if (complete !== true) reasons.push({ root, reason: reason ?? "it could not be read whole" });
    let count = 0;
    for (const ref of refs) {
      count++;
      if (isBlobRef(ref)) marked.add(ref);
      // It was to name a blob, and which one is not known.
      else reasons.push({ root, reason: `it names ${describe(ref)}, which is no blob` });
    }
    roots.push({ root, refs: count });
  }
  if (roots.length === 0) {
    reasons.push({ root: "", reason: "there are no roots, so that every blob would be garbage" });
  }
  if (reasons.length > 0) {
    const shown = reasons.map(({ root, reason }) => `${root || "marks"}: ${reason}`).join("; ");
    throw new SessileError("COLLECTION_REFUSED", `nothing was collected: ${shown}`, { details: { reasons } });
  }
  return { roots, marked };
}
