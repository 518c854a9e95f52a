/**
 * A set of refs for collections: about 45 bytes a ref, where a Set of strings takes more than 150. Each ref
 * has a mark, for those that were found.
 */

import type { BlobRef } from "../content/index.js";
import { toHex } from "../core/bytes.js";

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
