/** What a call that waits for the device may take for it to be made at once, in milliseconds. */
const shortMs = 1;

/**
 * Whether to wait for the device here or in the thread pool. A pool's thread costs some 0.1 ms, which is as long as a
 * fast disk takes to make 4 KB last; a slow disk, or a network's, would stop the whole program for as long as it takes.
 * So a call is made at once while those before it were short, and while no other is under way that it could run beside.
 */
export class Pace {
  /** A running mean; the first call is made in the pool. */
  #typicalMs = Number.POSITIVE_INFINITY;
  #underWay = 0;

  async run(inPool: () => Promise<void>, now: () => void): Promise<void> {
    const isShort = this.#typicalMs < shortMs && this.#underWay === 0;
    const start = performance.now();
    if (isShort) {
      now();
    } else {
      this.#underWay++;
      try {
        await inPool();
      } finally {
        this.#underWay--;
      }
    }
    this.#observe(performance.now() - start);
  }

  #observe(ms: number): void {
    const typical = this.#typicalMs;
    this.#typicalMs = typical === Number.POSITIVE_INFINITY ? ms : typical + (ms - typical) / 8;
  }
}
