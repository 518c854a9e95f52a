import { type EntryKey, idOf } from "./entry-key.js";

/** The row of no entry. */
export const noRow = -1;

/**
 * Which row has which id: rows are numbered as they are added. A table of open addressing over the keys that are numbers,
 * since a Map of strings takes several times the time and the memory, and most of what opening a long session takes.
 */
export class KeyIndex {
  /** Keys by row; 0 where the key is no number. */
  #keys = new Uint32Array(64);
  #size = 0;
  /** A row and one at each place that is taken, 0 at the others. */
  #slots = new Int32Array(256);
  /** Of the multiplication that spreads the keys. Random, so that nobody can make a file whose ids all meet. */
  readonly #factor = (Math.floor(Math.random() * 0x8000_0000) << 1) | 1;
  #shift = 24;
  readonly #rowOfOther = new Map<string, number>();
  readonly #others = new Map<number, string>();

  get size(): number {
    return this.#size;
  }

  /** The key of a row that exists. */
  key(row: number): EntryKey {
    const other = this.#others.size === 0 ? undefined : this.#others.get(row);
    return other ?? (this.#keys[row] as number);
  }

  /** The id of a row that exists. */
  id(row: number): string {
    return idOf(this.key(row));
  }

  /** The row of a key, or -1. */
  row(key: EntryKey): number {
    if (typeof key === "string") return this.#rowOfOther.get(key) ?? noRow;
    return (this.#slots[this.#slotOf(key)] as number) - 1;
  }

  /** The new row of a key, or -1 where it has one already. */
  add(key: EntryKey): number {
    const row = this.#size;
    if (typeof key === "string") {
      if (this.#rowOfOther.has(key)) return noRow;
      this.#rowOfOther.set(key, row);
      this.#others.set(row, key);
      this.#push(0);
      return row;
    }
    const slot = this.#slotOf(key);
    if (this.#slots[slot] !== 0) return noRow;
    this.#slots[slot] = row + 1;
    this.#push(key);
    if (2 * this.#size > this.#slots.length) this.#grow();
    return row;
  }

  /** Where the key is, or where it would be put. */
  #slotOf(key: number): number {
    const slots = this.#slots;
    const keys = this.#keys;
    const last = slots.length - 1;
    for (let slot = Math.imul(key, this.#factor) >>> this.#shift; ; slot = (slot + 1) & last) {
      const taken = slots[slot] as number;
      if (taken === 0 || keys[taken - 1] === key) return slot;
    }
  }

  #push(key: number): void {
    if (this.#size === this.#keys.length) {
      const grown = new Uint32Array(this.#keys.length * 2);
      grown.set(this.#keys);
      this.#keys = grown;
    }
    this.#keys[this.#size++] = key;
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Int32Array(before.length * 4);
    this.#shift -= 2;
    for (let i = 0; i < before.length; i++) {
      const taken = before[i] as number;
      if (taken !== 0) this.#slots[this.#slotOf(this.#keys[taken - 1] as number)] = taken;
    }
  }
}
