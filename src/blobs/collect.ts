/** Garbage collection: mark by references, move other blobs to the trash, delete them after a grace. */

import type { BlobRef } from "../content/index.js";
import { describe, integerOption } from "../core/arguments.js";
import { toHex } from "../core/bytes.js";
import { SessileError } from "../core/errors/index.js";
import type { BlobBackend, BlobLeftovers } from "./backend.js";
import { isBlobRef } from "./ref.js";
import type { BlobStore } from "./types.js";

/** The references of one root: a session's log, or a list of pins. */
export interface BlobMark {
  /** A name for the report: a path or an id. */
  readonly root: string;
  /** Every referenced blob. */
  readonly refs: Iterable<BlobRef>;
  /**
   * Whether `refs` is complete: false for a log that is unreadable, of a newer version, or has unreadable
   * lines.
   */
  readonly complete: boolean;
  /** The reason why it is incomplete. */
  readonly reason?: string;
}

/** Options of {@link collectGarbage}. */
export interface CollectOptions {
  /** The references of every root of this store. A blob without a reference is garbage. */
  readonly marks: AsyncIterable<BlobMark> | Iterable<BlobMark>;
  /**
   * The lease: how long a blob is kept after its last put or touch in any case. Must exceed the time from the
   * put of a blob to the append of its entry. Minimum: 0. @default 14 days
   */
  readonly graceMs?: number;
  /**
   * How long a blob then stays in the trash, from which a read restores it. The lease holds there too.
   * Minimum: 0. @default `graceMs`
   */
  readonly trashMs?: number;
  /** Whether to change nothing, and report the planned changes. @default false */
  readonly dryRun?: boolean;
  /** Milliseconds since 1970, finite. @default the backend's clock */
  readonly now?: () => number;
  /** Aborts the collection with the signal's reason; earlier changes stay. */
  readonly signal?: AbortSignal;
  /** Called for each examined blob, with the number so far. */
  readonly onProgress?: (progress: { readonly blobs: number }) => void;
}

/** A number of blobs, and their bytes. */
export interface BlobTally {
  readonly count: number;
  readonly bytes: number;
}

/** The report of a collection, or of a dry run. */
interface CollectionReport {
  readonly dryRun: boolean;
  /** The time of the collection. */
  readonly now: number;
  /**
   * The examined roots, and their references with repetitions. Blobs of other roots are garbage to it.
   * `first` has the first 100 roots, each with its references.
   */
  readonly roots: {
    readonly count: number;
    readonly refs: number;
    readonly first: readonly { readonly root: string; readonly refs: number }[];
  };
  /** Blobs with a reference. */
  readonly kept: BlobTally;
  /** Blobs without a reference, put or touched within the lease. */
  readonly recent: BlobTally;
  /** Blobs without a reference, moved to the trash. */
  readonly trashed: BlobTally;
  /** Blobs in the trash with a reference: restored, and counted as kept too. */
  readonly restored: BlobTally;
  /** Blobs deleted from the trash. */
  readonly deleted: BlobTally;
  /** Blobs still in the trash, for their time there or for the rest of their lease. */
  readonly waiting: BlobTally;
  /** Temporary files of crashed writers: removed. */
  readonly leftovers: BlobLeftovers;
  /** Referenced blobs that the store does not have: their number, and the first 1000. */
  readonly missing: { readonly count: number; readonly first: readonly BlobRef[] };
}

const fortnightMs = 14 * 86_400_000;
const shownRoots = 100;
const shownMissing = 1000;
/** The number of reasons in the details of a refusal, and in its message. */
const keptReasons = 1000;
const shownReasons = 20;

/**
 * Garbage collection: moves blobs without a reference to the trash, and deletes them in a later collection.
 * Keeps blobs that were put or touched within the lease, so that writers need no coordination. A read
 * restores a blob from the trash. Its memory is about 45 bytes per referenced blob.
 * @param store only its own partition is collected
 * @throws SessileError COLLECTION_REFUSED if a mark is incomplete, or there is no mark; nothing was changed
 * @throws TypeError, RangeError for invalid options
 * @example
 * ```ts
 * const report = await collectGarbage(blobs, {
 *   marks: [await sessionBlobRoots("session.jsonl", await readFile("session.jsonl"))],
 *   dryRun: true,
 * });
 * console.log(report.roots.count, report.trashed.bytes);
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
  // Taken before the references are read, so that later puts are younger.
  const now = await collectionTime(options, backend);
  const { roots, marked } = await readMarks(options);

  const kept = new Count();
  const recent = new Count();
  const trashed = new Count();
  const restored = new Count();
  const deleted = new Count();
  const waiting = new Count();
  const each = signal === undefined ? {} : { signal };
  let blobs = 0;
  const look = (ref: BlobRef): boolean => {
    signal?.throwIfAborted();
    onProgress?.({ blobs: ++blobs });
    return marked.find(ref);
  };

  // The trash first: blobs that move there below start their time now.
  for await (const seen of backend.trash.list(each)) {
    const { ref, size, trashedAt, touchedAt } = seen;
    if (look(ref)) {
      if (dryRun) kept.add(size);
      if (dryRun || (await backend.trash.restore(ref))) restored.add(size);
    } else if (mayBeSince(trashedAt, now - trashMs) || mayBeSince(touchedAt, now - graceMs)) {
      waiting.add(size);
    } else if (dryRun || (await backend.trash.delete(ref, seen))) {
      deleted.add(size);
    }
  }
  for await (const stat of backend.list(each)) {
    if (look(stat.ref)) kept.add(stat.size);
    else if (mayBeSince(stat.touchedAt, now - graceMs)) recent.add(stat.size);
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
    missing: { count: marked.unfound, first: [...taken(marked.allUnfound(), shownMissing)] },
  };
}

/**
 * Whether a time may be at or after a start. The clock of the time may round down to whole milliseconds or
 * seconds: the actual time is then anywhere in the step.
 */
function mayBeSince(time: number, start: number): boolean {
  if (!Number.isInteger(time)) return time >= start;
  return time + (time % 1000 === 0 ? 1000 : 1) > start;
}

async function collectionTime({ now }: CollectOptions, backend: Pick<BlobBackend, "now">): Promise<number> {
  const time: unknown = now === undefined ? await backend.now() : now();
  // With NaN no blob would be recent.
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

function* taken<T>(items: Iterable<T>, count: number): Generator<T, void> {
  let left = count;
  for (const item of items) {
    if (left-- <= 0) return;
    yield item;
  }
}

/** Reads all references, also after an incomplete root, so that the refusal names more than one. */
export async function readMarks({ marks, signal }: Pick<CollectOptions, "marks" | "signal">): Promise<{
  readonly roots: CollectionReport["roots"];
  readonly marked: RefSet;
}> {
  const first: { root: string; refs: number }[] = [];
  const total = { count: 0, refs: 0 };
  const reasons: { root: string; reason: string }[] = [];
  let refused = 0;
  const refuse = (root: string, reason: string): void => {
    if (refused++ < keptReasons) reasons.push({ root, reason });
  };
  const marked = new RefSet();
  for await (const { root, refs, complete, reason } of marks) {
    signal?.throwIfAborted();
    if (complete !== true) refuse(root, reason ?? "it could not be read whole");
    let count = 0;
    for (const ref of refs) {
      count++;
      if (isBlobRef(ref)) marked.add(ref);
      // An unknown blob may be referenced.
      else refuse(root, `it names ${describe(ref)}, which is no blob`);
    }
    total.count++;
    total.refs += count;
    if (first.length < shownRoots) first.push({ root, refs: count });
  }
  if (total.count === 0) refuse("", "there are no roots, so that every blob would be garbage");
  if (refused > 0) {
    const shown = reasons.slice(0, shownReasons).map(({ root, reason }) => `${root || "marks"}: ${reason}`);
    if (refused > shown.length) shown.push(`and ${refused - shown.length} more`);
    const message = `nothing was collected: ${shown.join("; ")}`;
    throw new SessileError("COLLECTION_REFUSED", message, { details: { reasons } });
  }
  return { roots: { ...total, first }, marked };
}

// A set of refs for collections: about 45 bytes a ref, where a Set of strings takes more than 150. Each ref
// has a mark, for those that were found.

/** A record: the digest, the algorithm, and whether the ref was found. */
const recordBytes = 34;
const digestBytes = 32;
/** Records are in chunks, so that growth copies no records. */
const chunkRecords = 1 << 14;
/** Slots a record: at most three quarters of the slots are used. */
const minSlots = 1 << 10;

export class RefSet {
  readonly #chunks: Uint8Array[] = [];
  /** By hash: the number of a record, from 1. */
  #slots = new Uint32Array(minSlots);
  #size = 0;
  #found = 0;
  /** Random, so that a log cannot choose refs that collide in one slot. */
  readonly #seeds = crypto.getRandomValues(new Uint32Array(8));
  readonly #key = new Uint8Array(digestBytes + 1);

  get size(): number {
    return this.#size;
  }

  /** The number of refs that {@link RefSet.find} has not found. */
  get unfound(): number {
    return this.#size - this.#found;
  }

  add(ref: BlobRef): void {
    this.#setKey(ref);
    const slot = this.#slotOfKey();
    if (this.#slots[slot] !== 0) return;
    const at = this.#size++;
    if (at % chunkRecords === 0) this.#chunks.push(new Uint8Array(chunkRecords * recordBytes));
    this.#readChunk(at).set(this.#key, (at % chunkRecords) * recordBytes);
    this.#slots[slot] = this.#size;
    if (4 * this.#size > 3 * this.#slots.length) this.#grow();
  }

  /** Whether the set has a ref, which counts as found from now on. */
  find(ref: BlobRef): boolean {
    this.#setKey(ref);
    const record = this.#slots[this.#slotOfKey()] as number;
    if (record === 0) return false;
    const chunk = this.#readChunk(record - 1);
    const mark = ((record - 1) % chunkRecords) * recordBytes + digestBytes + 1;
    if (chunk[mark] === 0) this.#found++;
    chunk[mark] = 1;
    return true;
  }

  /** The refs that were not found, in the order in which they were added. */
  *allUnfound(): Generator<BlobRef, void> {
    for (let at = 0; at < this.#size; at++) {
      const chunk = this.#readChunk(at);
      const start = (at % chunkRecords) * recordBytes;
      if (chunk[start + digestBytes + 1] === 1) continue;
      const algorithm = chunk[start + digestBytes] === 0 ? "sha256" : "blake3";
      yield `${algorithm}:${toHex(chunk.subarray(start, start + digestBytes))}`;
    }
  }

  #readChunk(at: number): Uint8Array {
    return this.#chunks[Math.floor(at / chunkRecords)] as Uint8Array;
  }

  #setKey(ref: BlobRef): void {
    const key = this.#key;
    const start = ref.length - 2 * digestBytes;
    for (let i = 0; i < digestBytes; i++)
      key[i] = (digit(ref.charCodeAt(start + 2 * i)) << 4) | digit(ref.charCodeAt(start + 2 * i + 1));
    key[digestBytes] = ref.startsWith("blake3") ? 1 : 0;
  }

  /** The slot of the key: the one that has it, or the first free one. */
  #slotOfKey(): number {
    const key = this.#key;
    const mask = this.#slots.length - 1;
    for (let slot = this.#readHash(key, 0) & mask; ; slot = (slot + 1) & mask) {
      const record = this.#slots[slot] as number;
      if (record === 0 || this.#isKey(record - 1)) return slot;
    }
  }

  #isKey(at: number): boolean {
    const chunk = this.#readChunk(at);
    const start = (at % chunkRecords) * recordBytes;
    for (let i = 0; i <= digestBytes; i++) if (chunk[start + i] !== this.#key[i]) return false;
    return true;
  }

  #readHash(bytes: Uint8Array, start: number): number {
    let hash = 0;
    for (let word = 0; word < 8; word++) {
      const at = start + 4 * word;
      const value =
        (bytes[at] as number) |
        ((bytes[at + 1] as number) << 8) |
        ((bytes[at + 2] as number) << 16) |
        ((bytes[at + 3] as number) << 24);
      hash = Math.imul(hash ^ value ^ (this.#seeds[word] as number), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    return hash >>> 0;
  }

  #grow(): void {
    this.#slots = new Uint32Array(2 * this.#slots.length);
    const mask = this.#slots.length - 1;
    for (let at = 0; at < this.#size; at++) {
      let slot = this.#readHash(this.#readChunk(at), (at % chunkRecords) * recordBytes) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = at + 1;
    }
  }
}

/** The value of a lower-case hexadecimal digit. */
function digit(code: number): number {
  return code < 0x3a ? code - 0x30 : code - 0x57;
}
