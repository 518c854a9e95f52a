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
