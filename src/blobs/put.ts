/** Puts: the bytes of a source into a backend, each blob once. */

import type { BlobRef } from "../content/index.js";
import { describe, integerOption } from "../core/arguments.js";
import { concatBytes } from "../core/bytes.js";
import { abortable } from "../core/concurrency.js";
import { SessileError } from "../core/errors/index.js";
import type { BlobBackend, BlobHints, BlobStat, BlobWriter } from "./backend.js";
import { type Quota, type Reservation, unlimited } from "./quota.js";
import {
  type DigestAlgorithm,
  type Hasher,
  type HashFunction,
  type HashTable,
  hashFor,
  partsByRef,
  refArgument,
  refFrom,
} from "./ref.js";
import type { PutOptions } from "./types.js";

/** The backend of a put, and its limits. */
export interface PutTarget {
  readonly backend: BlobBackend;
  readonly hashes: HashTable;
  readonly algorithm: DigestAlgorithm;
  readonly maxBytes: number;
  readonly quota: Quota | undefined;
}

/**
 * Up to so many bytes are put in one piece: they are named before anything is written, so that a duplicate
 * costs no writing. More are written while they are hashed, in pieces of {@link pieceBytes}.
 */
const wholeBytes = 256 * 1024;
/**
 * Small enough that hashing a piece in JavaScript does not stop all else for long, large enough to be worth a
 * call.
 */
const pieceBytes = 512 * 1024;

/** Puts bytes into a backend. See `BlobStore.put`. */
export async function putBlob(
  target: PutTarget,
  source: Uint8Array | AsyncIterable<Uint8Array>,
  options: PutOptions,
): Promise<BlobStat> {
  options.signal?.throwIfAborted();
  const isBytes = source instanceof Uint8Array;
  if (!isBytes && typeof source?.[Symbol.asyncIterator] !== "function") {
    throw new TypeError(
      `source: expected a Uint8Array or an async iterable of them, got ${describe(source)}`,
    );
  }
  const conditions = readConditions(options, target.maxBytes);
  const { hashes, algorithm } = target;
  const declared = conditions.ref === undefined ? algorithm : partsByRef(conditions.ref).algorithm;
  const found = [hashFor(hashes, algorithm), ...(declared === algorithm ? [] : [hashFor(hashes, declared)])];
  // Those that are at hand begin at once, before the caller can change the bytes.
  const isLoaded = found.every((hash): hash is HashFunction => !(hash instanceof Promise));
  const put = new Put(target, options, new Intake(conditions, isLoaded ? found : await Promise.all(found)));
  try {
    if (!isBytes) return await put.stream(source);
    return source.length <= wholeBytes ? await put.whole(source) : await put.large(source);
  } finally {
    await put.room.release();
  }
}

class Put {
  readonly room: Reservation;
  readonly #target: PutTarget;
  readonly #options: PutOptions;
  readonly #intake: Intake;
  readonly #hints: BlobHints;
  #fed = 0;

  constructor(target: PutTarget, options: PutOptions, intake: Intake) {
    this.#target = target;
    this.#options = options;
    this.#intake = intake;
    this.room = target.quota?.reserve() ?? unlimited;
    const { mediaType, size } = options;
    this.#hints = {
      ...(mediaType === undefined ? {} : { mediaType }),
      ...(size === undefined ? {} : { size }),
    };
  }

  /** Bytes that are at hand, in one piece. */
  async whole(bytes: Uint8Array): Promise<BlobStat> {
    this.#intake.admit(bytes.length);
    return this.#write(bytes);
  }

  /** Bytes that are at hand, too many for one piece. */
  async large(bytes: Uint8Array): Promise<BlobStat> {
    this.#intake.admit(bytes.length);
    try {
      await this.room.grow(bytes.length);
    } catch (error) {
      // They may be stored already, and then take no room.
      if (!SessileError.is(error, "QUOTA_EXCEEDED")) throw error;
      return this.#write(bytes);
    }
    return this.#create({ ...this.#hints, size: bytes.length }, (writer) => this.#feed(writer, bytes));
  }

  /** Bytes that come one by one: in one piece where they turn out to be few. */
  async stream(source: AsyncIterable<Uint8Array>): Promise<BlobStat> {
    const chunks = this.#admitted(source);
    const few: Uint8Array[] = [];
    for await (const chunk of chunks) {
      // A copy: a source may fill the same array again.
      few.push(new Uint8Array(chunk));
      if (this.#intake.size <= wholeBytes) continue;
      return await this.#create(this.#hints, async (writer) => {
        for (const early of few.splice(0)) await this.#feedNew(writer, early);
        for (let next = await chunks.next(); !next.done; next = await chunks.next())
          await this.#feedNew(writer, next.value);
      });
    }
    return this.#write(concatBytes(few));
  }

  async *#admitted(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const value of abortable(source, this.#options.signal)) {
      const chunk = readChunk(value);
      this.#intake.admit(chunk.length);
      if (chunk.length > 0) yield chunk;
    }
  }

  async #feedNew(writer: BlobWriter, chunk: Uint8Array): Promise<void> {
    await this.room.grow(chunk.length);
    await this.#feed(writer, chunk);
  }

  async #feed(writer: BlobWriter, chunk: Uint8Array): Promise<void> {
    const { signal, onProgress } = this.#options;
    const total = this.#hints.size;
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      signal?.throwIfAborted();
      const piece = chunk.subarray(at, at + pieceBytes);
      // A piece is hashed here while the backend writes it elsewhere.
      const written = writer.write(piece);
      try {
        this.#intake.hash(piece);
      } finally {
        // In any case: a pending write must not outlive the writer.
        await written;
      }
      this.#fed += piece.length;
      onProgress?.({ bytes: this.#fed, ...(total === undefined ? {} : { total }) });
    }
  }

  async #create(hints: BlobHints, fill: (writer: BlobWriter) => Promise<void>): Promise<BlobStat> {
    const { signal } = this.#options;
    const writer = await this.#target.backend.create(hints);
    try {
      await fill(writer);
      signal?.throwIfAborted();
      const ref = this.#intake.seal();
      const isThere = await this.#isThere(ref);
      if (!isThere) await this.room.grow(0, ref);
      const stat = await writer.commit(ref);
      if (!isThere) await this.room.keep();
      return stat;
    } catch (error) {
      await writer.discard();
      throw error;
    }
  }

  async #write(bytes: Uint8Array): Promise<BlobStat> {
    const { backend } = this.#target;
    const { signal, onProgress } = this.#options;
    this.#intake.hash(bytes);
    const ref = this.#intake.seal();
    if (!(await this.#isThere(ref))) await this.room.grow(bytes.length, ref);
    signal?.throwIfAborted();
    const stat = await backend.write(ref, bytes, { ...this.#hints, size: bytes.length });
    await this.room.keep();
    onProgress?.({ bytes: bytes.length, total: bytes.length });
    return stat;
  }

  /** Whether a put takes no more room; only asked where room is counted. */
  async #isThere(ref: BlobRef): Promise<boolean> {
    const { backend, quota } = this.#target;
    return quota !== undefined && (await backend.stat(ref))?.size === this.#intake.size;
  }
}

// The intake of bytes: chunks of a source, hashed and checked against limits and declared facts.

/** The conditions for incoming bytes. */
interface Conditions {
  readonly maxBytes: number;
  /** The declared size and digest. */
  readonly size: number | undefined;
  readonly ref: BlobRef | undefined;
}

/**
 * Checks the conditions of a put. Throws TypeError, RangeError; BLOB_TOO_LARGE if the declared size exceeds
 * the maximum.
 */
function readConditions(options: PutOptions, storeMaxBytes: number): Conditions {
  const maxBytes = Math.min(
    storeMaxBytes,
    integerOption("maxBytes", options.maxBytes, Number.MAX_SAFE_INTEGER, 0),
  );
  const size = options.size === undefined ? undefined : integerOption("size", options.size, 0, 0);
  if (size !== undefined && size > maxBytes) throw tooLarge(size, maxBytes);
  return { maxBytes, size, ref: options.ref === undefined ? undefined : refArgument("ref", options.ref) };
}

/** Measures incoming bytes, and refuses them as soon as they violate a condition. */
class Intake {
  readonly #conditions: Conditions;
  readonly #hash: HashFunction;
  readonly #hasher: Hasher;
  /** That of the declared digest, if it is of the other algorithm. */
  readonly #second: { readonly hash: HashFunction; readonly hasher: Hasher } | undefined;
  #size = 0;

  /** @param hashes that of the name, and that of the declared digest if it is of the other algorithm */
  constructor(conditions: Conditions, hashes: readonly HashFunction[]) {
    const [hash, second] = hashes as readonly [HashFunction, HashFunction?];
    this.#conditions = conditions;
    this.#hash = hash;
    this.#hasher = hash.create();
    this.#second = second && { hash: second, hasher: second.create() };
  }

  /** Bytes admitted so far. */
  get size(): number {
    return this.#size;
  }

  /** Counts bytes before they are written. */
  admit(bytes: number): void {
    const { maxBytes, size } = this.#conditions;
    const total = this.#size + bytes;
    if (total > maxBytes) throw tooLarge(total, maxBytes);
    if (size !== undefined && total > size) throw mismatch("size", size, total);
    this.#size = total;
  }

  /** Adds admitted bytes to the digest. */
  hash(bytes: Uint8Array): void {
    this.#hasher.update(bytes);
    this.#second?.hasher.update(bytes);
  }

  /** The ref of all bytes, at the end. */
  seal(): BlobRef {
    const { size, ref: declared } = this.#conditions;
    if (size !== undefined && this.#size !== size) throw mismatch("size", size, this.#size);
    const ref = refFrom(this.#hash, this.#hasher);
    const actual = this.#second === undefined ? ref : refFrom(this.#second.hash, this.#second.hasher);
    if (declared !== undefined && actual !== declared) throw mismatch("digest", declared, actual);
    return ref;
  }
}

/** Returns a chunk of a source; throws a TypeError that names the actual value. */
function readChunk(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`source: expected chunks that are Uint8Array, got ${describe(value)}`);
}

function tooLarge(bytes: number, maxBytes: number): SessileError {
  return new SessileError("BLOB_TOO_LARGE", `source: ${bytes} bytes or more, at most ${maxBytes}`, {
    details: { bytes, maxBytes },
  });
}

function mismatch(what: "size" | "digest", expected: number | string, actual: number | string): SessileError {
  const message = `the ${what} was declared as ${expected} and is ${actual}${what === "size" ? " or more" : ""}`;
  return new SessileError("BLOB_MISMATCH", message, { details: { what, expected, actual } });
}
