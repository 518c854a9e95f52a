/**
 * Blobs as objects of a bucket, on any driver: leases, the trash, quarantine, resumed reads, streams by parts.
 *
 * An object's time of its last write is the lease of its blob. A store moves nothing atomically: a blob that is
 * touched in the moment of its deletion ends in the trash, so its lease there starts with the move.
 */

import { blake3 } from "@noble/hashes/blake3.js";
import { sha256 } from "@noble/hashes/sha2.js";
import type {
  BlobBackend,
  BlobHints,
  BlobLeftovers,
  BlobReading,
  BlobStat,
  BlobTrash,
  BlobWriter,
  TrashedBlob,
} from "../../blobs/index.js";
import type { BlobRef } from "../../content/index.js";
import { toHex } from "../../core/bytes.js";
import { SessileError } from "../../core/errors/index.js";
import {
  type ObjectBody,
  type ObjectDriver,
  ObjectFailure,
  type ObjectHead,
  type ObjectStat,
  type ObjectUpload,
  type SeenObject,
} from "./driver.js";
import { BucketKeys, prefixArgument } from "./keys.js";

/** How often an object is looked at again that others change at the same moment. */
export const maxRounds = 4;
/** A blob of at most so many bytes takes one request. */
const firstBytes = 512 * 1024;
/** A body that breaks off is resumed so often, and once more for each of these many bytes that arrived. */
const maxResumes = 4;
const bytesPerResume = 16 * 2 ** 20;

/** The backend of blobs below a prefix of a bucket. Any number of processes may use the same. */
export function objectBlobBackend(driver: ObjectDriver, prefix: unknown): ObjectBlobs {
  return new ObjectBlobs(driver, new BucketKeys(prefixArgument(prefix)));
}

/** The failure of an object that never stays as it was seen. */
export function changing(): ObjectFailure {
  return new ObjectFailure("CHANGING", "the object changes again and again");
}

export class ObjectBlobs implements BlobBackend {
  readonly location: string;
  readonly trash: BlobTrash;
  readonly #driver: ObjectDriver;
  readonly #keys: BucketKeys;
  readonly #whole: ObjectBlobs;

  constructor(driver: ObjectDriver, keys: BucketKeys, whole?: ObjectBlobs) {
    this.#driver = driver;
    this.#keys = keys;
    this.#whole = whole ?? this;
    this.location = driver.location + keys.prefix;
    this.trash = this.#trash();
  }

  async write(ref: BlobRef, bytes: Uint8Array): Promise<BlobStat> {
    const key = this.#keys.blob(ref);
    const digest = ref.startsWith("sha256:") ? ref.slice(7) : undefined;
    return statByRef(ref, await this.#guard("put into", key, () => this.#driver.put(key, bytes, digest)));
  }

  async create(hints: BlobHints): Promise<BlobWriter> {
    const key = this.#keys.staging();
    const writer = new PartWriter(this.#driver, key, hints);
    return {
      write: (chunk) => this.#guard("put into", key, () => writer.write(chunk)),
      commit: async (ref) => {
        const few = writer.buffered;
        if (few !== undefined) return this.write(ref, few);
        const stat = await this.publish(ref, await this.#guard("put into", key, () => writer.complete()));
        await writer.discard();
        return stat;
      },
      discard: () => writer.discard(),
    };
  }

  read(ref: BlobRef): Promise<BlobReading | undefined> {
    const key = this.#keys.blob(ref);
    const driver = this.#driver;
    return this.#guard("read from", key, async () => {
      const opened = await driver.read(key, { offset: 0, length: firstBytes });
      if (opened === undefined) return undefined;
      const { size, etag } = opened;
      const place: Place = { at: 0, etag };
      const first = new Uint8Array(Math.min(size, firstBytes));
      const findAgain = () => this.#findAgain(ref, size);
      for await (const chunk of resumed(driver, key, place, first.length, findAgain, opened))
        first.set(chunk, place.at - chunk.length);
      if (place.at < first.length) throw brokenOff(place, size);
      return {
        size,
        bytes: this.#bytes(ref, first, size, place.etag),
        quarantine: () => this.#guard("read from", key, () => this.#quarantine(ref, etag)),
      };
    });
  }

  async stat(ref: BlobRef): Promise<BlobStat | undefined> {
    const head = await this.head(ref);
    return head && statByRef(ref, head);
  }

  /** The key of a blob in the bucket. */
  async locate(ref: BlobRef): Promise<string | undefined> {
    return (await this.head(ref))?.key;
  }

  /** The object of a blob, or undefined. */
  head(ref: BlobRef): Promise<ObjectHead | undefined> {
    const key = this.#keys.blob(ref);
    return this.#guard("look into", key, () => this.#driver.head(key));
  }

  /** Copies the object onto itself: only a write gives it another time. */
  touch(ref: BlobRef): Promise<BlobStat | undefined> {
    const key = this.#keys.blob(ref);
    return this.#guard("touch in", key, async () => {
      for (let round = 0; round < maxRounds; round++) {
        const head = await this.#driver.head(key);
        if (head === undefined) return undefined;
        const touched = await this.#copied(head, key);
        if (touched !== undefined) return statByRef(ref, touched);
      }
      throw changing();
    });
  }

  /** Makes a staged object a blob. An existing one is replaced: that costs no more than a touch. */
  publish(ref: BlobRef, staged: SeenObject): Promise<BlobStat> {
    const key = this.#keys.blob(ref);
    return this.#guard("put into", key, async () => {
      for (let round = 0; round < maxRounds; round++) {
        const copied = await this.#copied(staged, key);
        if (copied?.size === staged.size) return statByRef(ref, copied);
      }
      throw changing();
    });
  }

  /**
   * Moves an object as it was seen: copies it, looks again, deletes it.
   *
   * @returns false if it stayed, because it was written since, or if it is gone
   */
  async move(seen: ObjectHead, to: string): Promise<boolean> {
    const { key, etag, version } = seen;
    if ((await this.#driver.copy(seen, to)) === false) return false;
    const now = await this.#driver.head(key);
    // Gone: by another collection, or by a deletion, which then finds the copy in the trash.
    if (now === undefined) return true;
    const isSame = now.version === version;
    if (isSame && (await this.#driver.delete(key, etag))) return true;
    // A refused deletion may be the second attempt of one whose answer was lost.
    if (isSame && (await this.#driver.head(key)) === undefined) return true;
    await this.#driver.delete(to);
    return false;
  }

  async *list({ signal }: { readonly signal?: AbortSignal } = {}): AsyncGenerator<BlobStat, void, undefined> {
    const [blake3Folder, sha256Folder] = [this.#keys.folder("blake3"), this.#keys.folder("sha256")];
    // Below the prefix of a named partition are no keys of others: one list has both folders.
    for (const prefix of this.#whole === this ? [sha256Folder, blake3Folder] : [this.#keys.prefix]) {
      for await (const object of this.#objects(prefix, signal)) {
        const ref = this.#keys.refByKey(object.key);
        if (ref !== undefined) yield statByRef(ref, object);
        else if (object.key > `${sha256Folder}~`) break;
      }
    }
  }

  async delete(ref: BlobRef): Promise<boolean> {
    const head = await this.head(ref);
    if (head === undefined) return false;
    await this.#guard("delete from", head.key, () => this.#driver.delete(head.key));
    return true;
  }

  /** The store's time at the earliest, so that no lease ends too soon. */
  now(): Promise<number> {
    const key = this.#keys.staging();
    const driver = this.#driver;
    return this.#guard("look into", key, async () => {
      if (driver.now !== undefined) return driver.now(key);
      const { modifiedAt } = await driver.put(key, new Uint8Array(), undefined);
      await driver.delete(key);
      return modifiedAt;
    });
  }

  partition(name: string): ObjectBlobs {
    return new ObjectBlobs(this.#driver, this.#whole.#keys.partition(name), this.#whole);
  }

  async clear(): Promise<readonly string[]> {
    if (this.#whole === this) throw new TypeError("clear: only a named partition is cleared");
    await this.#deleteBelow(this.#keys.prefix);
    return this.#driver.remaining;
  }

  deleteQuarantined(ref: BlobRef): Promise<boolean> {
    return this.#deleteBelow(this.#keys.quarantineFolder(ref));
  }

  /** Staged objects, and uploads that were not completed. */
  async removeLeftovers(before: number, options: { readonly dryRun: boolean }): Promise<BlobLeftovers> {
    const isOwn = (key: string): boolean => this.#keys.isOwn(key);
    const { prefix } = this.#keys;
    const uploads = await this.#guard("clean", prefix, async () =>
      this.#driver.abortUploads?.(prefix, before, isOwn, options),
    );
    let { count, bytes } = uploads ?? { count: 0, bytes: 0 };
    for await (const { key, size, modifiedAt } of this.#objects(this.#keys.folder("staging"))) {
      if (modifiedAt >= before) continue;
      count++;
      bytes += size;
      if (!options.dryRun) await this.#guard("clean", key, () => this.#driver.delete(key));
    }
    return { count, bytes };
  }

  /** The trash: objects under `trash/<algorithm>/<two digits>/<digest>/<time of the move>-<id>`. */
  #trash(): BlobTrash {
    const driver = this.#driver;
    /** The copies of a blob in the trash, oldest first: one, unless a collection was killed. */
    const copiesIn = async (folder: string): Promise<ObjectStat[]> => {
      const copies: ObjectStat[] = [];
      for await (const page of driver.list(folder))
        for (const copy of page) if (copy.key.startsWith(folder)) copies.push(copy);
      return copies.sort((a, b) => a.modifiedAt - b.modifiedAt);
    };
    const restoreOne = async (ref: BlobRef, copies: readonly ObjectStat[]): Promise<boolean> => {
      // Bytes that were put again since are at least as good.
      if ((await this.touch(ref)) !== undefined) return true;
      for (const copy of copies.toReversed())
        if ((await driver.copy(copy, this.#keys.blob(ref), { ifAbsent: true })) !== false) return true;
      return false;
    };
    return {
      take: ({ ref, touchedAt }) =>
        this.#guard("collect in", this.#keys.blob(ref), async () => {
          const head = await driver.head(this.#keys.blob(ref));
          if (head === undefined || head.modifiedAt > touchedAt) return false;
          return this.move(head, this.#keys.trashed(ref, Date.now()));
        }),

      list: ({ signal } = {}) => this.#trashed(signal),

      restore: (ref) => {
        const folder = this.#keys.trashFolder(ref);
        return this.#guard("collect in", folder, async () => {
          for (let round = 0; round < maxRounds; round++) {
            const copies = await copiesIn(folder);
            if (copies.length === 0) return false;
            if (!(await restoreOne(ref, copies))) continue;
            for (const { key } of copies) await driver.delete(key);
            return true;
          }
          throw changing();
        });
      },

      delete: (ref, seen) => {
        const folder = this.#keys.trashFolder(ref);
        return this.#guard("collect in", folder, async () => {
          let isDeleted = false;
          for (const { key, modifiedAt } of await copiesIn(folder)) {
            if (seen !== undefined && modifiedAt !== seen.trashedAt) continue;
            await driver.delete(key);
            isDeleted = true;
          }
          return isDeleted;
        });
      },
    };
  }

  async *#trashed(signal: AbortSignal | undefined): AsyncGenerator<TrashedBlob, void, undefined> {
    for await (const { key, size, modifiedAt } of this.#objects(this.#keys.folder("trash"), signal)) {
      const ref = this.#keys.trashedRef(key)?.ref;
      if (ref !== undefined) yield { ref, size, trashedAt: modifiedAt, touchedAt: modifiedAt };
    }
  }

  /** The first bytes, and those after them. May be iterated again. */
  async *#bytes(
    ref: BlobRef,
    first: Uint8Array,
    size: number,
    etag: string,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    // A copy: the caller owns the chunk.
    if (first.length > 0) yield first.slice();
    const key = this.#keys.blob(ref);
    const place: Place = { at: first.length, etag };
    try {
      yield* resumed(this.#driver, key, place, size, () => this.#findAgain(ref, size));
      if (place.at < size) throw brokenOff(place, size);
    } catch (error) {
      throw this.#failed("read from", key, error);
    }
  }

  /** A blob that was collected or replaced while it was read: the same name has the same bytes, and they are verified. */
  async #findAgain(ref: BlobRef, size: number): Promise<string> {
    let head = await this.head(ref);
    if (head === undefined && (await this.trash.restore(ref))) head = await this.head(ref);
    if (head?.size === size) return head.etag;
    throw new ObjectFailure("GONE", "the object was deleted or replaced meanwhile");
  }

  /**
   * Moves a corrupt blob to quarantine, unless the store has other bytes than the read brought: those may have been
   * changed on the way. Returns the new key.
   */
  async #quarantine(ref: BlobRef, etag: string): Promise<string | undefined> {
    const key = this.#keys.blob(ref);
    const head = await this.#driver.head(key);
    if (head === undefined || head.etag !== etag) return undefined;
    const hasher = ref.startsWith("sha256:") ? sha256.create() : blake3.create();
    const place: Place = { at: 0, etag };
    for await (const chunk of resumed(this.#driver, key, place, head.size, async () => undefined))
      hasher.update(chunk);
    if (place.at < head.size || toHex(hasher.digest()) === ref.slice(7)) return undefined;
    const to = this.#keys.quarantined(ref);
    return (await this.move(head, to)) ? to : undefined;
  }

  /** The facts of a copy; undefined if there is none. */
  async #copied(from: SeenObject, to: string): Promise<ObjectStat | undefined> {
    const copied = await this.#driver.copy(from, to);
    return copied === true ? this.#driver.head(to) : copied || undefined;
  }

  /** Deletes all objects with a prefix. Returns whether there was one. */
  async #deleteBelow(prefix: string): Promise<boolean> {
    let isDeleted = false;
    for await (const { key } of this.#objects(prefix)) {
      await this.#guard("clean", key, () => this.#driver.delete(key));
      isDeleted = true;
    }
    return isDeleted;
  }

  async *#objects(prefix: string, signal?: AbortSignal): AsyncGenerator<ObjectStat, void, undefined> {
    try {
      for await (const page of this.#driver.list(prefix, signal)) yield* page;
    } catch (error) {
      throw this.#failed("list", prefix, error);
    }
  }

  async #guard<T>(operation: string, key: string, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      throw this.#failed(operation, key, error);
    }
  }

  #failed(operation: string, key: string, error: unknown): unknown {
    if (!(error instanceof ObjectFailure)) return error;
    const path = this.#driver.location + key;
    const message = `${operation} ${path}: ${error.code}`;
    return new SessileError("STORAGE_FAILED", message, {
      cause: error,
      details: { operation, path, errno: error.code },
    });
  }
}

function statByRef(ref: BlobRef, { size, modifiedAt }: ObjectStat): BlobStat {
  return { ref, size, touchedAt: modifiedAt };
}

/** How far an object was read. */
interface Place {
  at: number;
  etag: string;
  cause?: unknown;
}

/**
 * The chunks of an object up to a byte, resumed where a body breaks off. Ends early if it breaks off again and again.
 *
 * @param findAgain gives the etag of the object that has the same bytes, if another one is there; undefined ends the
 *   read
 * @param opened a body from the first byte on
 */
async function* resumed(
  driver: ObjectDriver,
  key: string,
  place: Place,
  end: number,
  findAgain: () => Promise<string | undefined>,
  opened?: ObjectBody,
): AsyncGenerator<Uint8Array, void, undefined> {
  const start = place.at;
  for (let resumes = 0; place.at < end; resumes++) {
    if (resumes > maxResumes + (place.at - start) / bytesPerResume) return;
    const body =
      resumes === 0 && opened !== undefined
        ? opened
        : await driver.read(key, { offset: place.at }, place.etag);
    if (body === undefined) {
      const etag = await findAgain();
      if (etag === undefined) return;
      place.etag = etag;
      continue;
    }
    const chunks = body.bytes[Symbol.asyncIterator]();
    try {
      while (place.at < end) {
        const next = await chunks.next().catch((error: unknown) => {
          place.cause = error;
        });
        if (next === undefined || next.done === true) break;
        // A Buffer of Node becomes a plain array.
        const { buffer, byteOffset, byteLength } = next.value;
        const chunk = new Uint8Array(buffer, byteOffset, Math.min(byteLength, end - place.at));
        place.at += chunk.length;
        if (chunk.length > 0) yield chunk;
      }
    } finally {
      await chunks.return?.();
    }
  }
}

function brokenOff({ at, cause }: Place, size: number): ObjectFailure {
  return new ObjectFailure("BROKEN_REPLY", `the body broke off after ${at} bytes of ${size}`, { cause });
}

/** Parts on their way at the same time. Each holds its bytes, and so does the one that is being filled. */
const maxConcurrentParts = 2;
/** The first size of a buffer that grows. */
const startBytes = 512 * 1024;

/**
 * A streaming write. Bytes of up to one part wait in memory, to be put at once under their name. More go to a key of
 * their own by parts; that object is copied to the name when it is known.
 */
class PartWriter {
  readonly #driver: ObjectDriver;
  readonly #partBytes: number;
  readonly #key: string;
  #buffer: Uint8Array;
  #buffered = 0;
  #size = 0;
  #upload: ObjectUpload | undefined;
  /** The parts that were sent, in order. */
  readonly #parts: Promise<unknown>[] = [];
  #isComplete = false;

  constructor(driver: ObjectDriver, key: string, { size = 0 }: BlobHints) {
    const { partBytes, maxParts, maxPartBytes = partBytes } = driver;
    this.#driver = driver;
    this.#key = key;
    this.#partBytes = Math.max(partBytes, Math.min(maxPartBytes, Math.ceil(size / maxParts)));
    // It grows by bytes that came, not by the declared size.
    this.#buffer = new Uint8Array(Math.min(this.#partBytes, startBytes));
  }

  /** All bytes so far, if they are one part at most. */
  get buffered(): Uint8Array | undefined {
    return this.#upload === undefined ? this.#buffer.subarray(0, this.#buffered) : undefined;
  }

  async write(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      if (this.#buffered === this.#partBytes) await this.#sendPart();
      const piece = chunk.subarray(at, at + this.#partBytes - this.#buffered);
      this.#makeRoom(piece.length);
      this.#buffer.set(piece, this.#buffered);
      this.#buffered += piece.length;
      this.#size += piece.length;
      at += piece.length;
    }
  }

  /** Makes the staged object of all parts. */
  async complete(): Promise<SeenObject> {
    await this.#sendPart();
    await Promise.all(this.#parts);
    const staged = await (this.#upload as ObjectUpload).complete(this.#parts.length, this.#size);
    this.#isComplete = true;
    return staged;
  }

  /** Never fails: a collection removes the rest later. */
  async discard(): Promise<void> {
    const upload = this.#upload;
    this.#upload = undefined;
    this.#buffer = new Uint8Array();
    // A part that arrives after the abort would stay.
    await Promise.allSettled(this.#parts);
    try {
      if (this.#isComplete) await this.#driver.delete(this.#key);
      else await upload?.abort();
      this.#isComplete = false;
    } catch {}
  }

  /** Grows the buffer by doubling, up to one part. */
  #makeRoom(bytes: number): void {
    const needed = this.#buffered + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = new Uint8Array(Math.min(this.#partBytes, Math.max(needed, this.#buffer.length * 2)));
    grown.set(this.#buffer.subarray(0, this.#buffered));
    this.#buffer = grown;
  }

  /** Sends the buffered bytes, without waiting for them. */
  async #sendPart(): Promise<void> {
    const { maxParts } = this.#driver;
    if (this.#parts.length === maxParts) {
      const maxBytes = maxParts * this.#partBytes;
      const message = `a stream of ${this.#size} bytes or more does not fit in ${maxParts} parts`;
      throw new SessileError("BLOB_TOO_LARGE", message, { details: { bytes: this.#size, maxBytes } });
    }
    this.#upload ??= await this.#driver.upload(this.#key);
    await this.#parts.at(-maxConcurrentParts);
    const part = this.#upload.part(this.#parts.length + 1, this.#buffer.subarray(0, this.#buffered));
    // A failure is reported by the next call.
    part.catch(() => undefined);
    this.#parts.push(part);
    this.#buffer = new Uint8Array(Math.min(this.#partBytes, startBytes));
    this.#buffered = 0;
  }
}
