/** A cache with a bound on the sum of its sizes. The least recently used values are removed first. */
export class BoundedCache<V> {
  readonly #maxSize: number;
  readonly #readSize: (value: V) => number;
  readonly #values = new Map<string, V>();
  #size = 0;

  constructor(maxSize: number, readSize: (value: V) => number) {
    this.#maxSize = maxSize;
    this.#readSize = readSize;
  }

  /** A value, which becomes the most recently used one. */
  get(key: string): V | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  /** Adds or replaces a value. One that exceeds the bound alone is not kept. */
  set(key: string, value: V): void {
    const before = this.#values.get(key);
    if (before !== undefined) {
      this.#size -= this.#readSize(before);
      this.#values.delete(key);
    }
    const size = this.#readSize(value);
    if (size > this.#maxSize) return;
    this.#values.set(key, value);
    this.#size += size;
    for (const [oldest, removed] of this.#values) {
      if (this.#size <= this.#maxSize) break;
      this.#values.delete(oldest);
      this.#size -= this.#readSize(removed);
    }
  }
}
