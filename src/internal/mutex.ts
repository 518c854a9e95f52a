/** Runs one critical section at a time, first come, first served. */
export class Mutex {
  /** Callers that wait; undefined while the mutex is free. */
  #queue: (() => void)[] | undefined;

  /** Returns undefined if the mutex was free, so that the caller need not yield; else a promise to wait for. */
  acquire(): Promise<void> | undefined {
    const queue = this.#queue;
    if (queue !== undefined) return new Promise((resolve) => queue.push(resolve));
    this.#queue = [];
    return undefined;
  }

  /** Passes the mutex to the next in the queue. */
  release(): void {
    const next = this.#queue?.shift();
    if (next === undefined) this.#queue = undefined;
    else next();
  }

  /** Makes a call while holding the mutex. */
  async run<T>(act: () => Promise<T>): Promise<T> {
    const acquired = this.acquire();
    if (acquired !== undefined) await acquired;
    try {
      return await act();
    } finally {
      this.release();
    }
  }
}
