import { type EntryKey, idOf } from "./entry-key.js";

/** The row of no entry. */
export const noRow = -1;

/** Numeric keys are stored XORed with it: a file cannot hold ids that all hash to one bucket of the map. */
const seed = crypto.getRandomValues(new Int32Array(1))[0] as number;

/** The bijection between ids and rows. Rows are numbered in the order of {@link KeyIndex.add}. */
export class KeyIndex {
  readonly #keys: EntryKey[] = [];
  readonly #rows = new Map<EntryKey, number>();

  get size(): number {
    return this.#keys.length;
  }

  /** The key of a row that exists. */
  key(row: number): EntryKey {
    return this.#keys[row] as EntryKey;
  }

  /** The id of a row that exists. */
  id(row: number): string {
    return idOf(this.key(row));
  }

  /** The row of a key, or -1. */
  row(key: EntryKey): number {
    return this.#rows.get(mapped(key)) ?? noRow;
  }

  /** Adds a key as the next row. Returns -1 if the key has a row already. */
  add(key: EntryKey): number {
    const at = mapped(key);
    if (this.#rows.has(at)) return noRow;
    this.#rows.set(at, this.#keys.length);
    return this.#keys.push(key) - 1;
  }
}

function mapped(key: EntryKey): EntryKey {
  return typeof key === "number" ? key ^ seed : key;
}
