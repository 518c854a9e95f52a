/** The right to one of a semaphore's places. */
export interface Permit {
  /** Makes a call. A call under way counts as progress for the deadlock guard. */
  run<T>(act: () => Promise<T>): Promise<T>;
  /** Passes the permit to the next in the queue. Idempotent. */
  release(): void;
}

/**
 * Limits concurrency, first come, first served.
 *
 * A holder may wait for another caller between two calls, and that one may be queued here: a deadlock, for example of a
 * stream that is fed by another put. With `stallMs`, the next in the queue exceeds the limit when no holder has made a
 * call for that long.
 */
export class Semaphore {
  readonly #permits: number;
  readonly #stallMs: number | undefined;
  readonly #queue: (() => void)[] = [];
  #held = 0;
  /** Calls under way. */
  #running = 0;
  /** Counts calls and acquired permits, to detect a stall. */
  #progress = 0;
  #watchdog: ReturnType<typeof setTimeout> | undefined;

  /** @param options.stallMs the deadlock guard's timeout in milliseconds. Default none. */
  constructor(permits: number, options: { readonly stallMs?: number } = {}) {
    this.#permits = permits;
    this.#stallMs = options.stallMs;
  }

  /** Returns a permit at once if one is free, so that the caller need not yield. */
  acquire(): Permit | Promise<Permit> {
    if (this.#held < this.#permits) return this.#grant();
    const granted = new Promise<Permit>((resolve) => this.#queue.push(() => resolve(this.#grant())));
    if (this.#watchdog === undefined) this.#watch();
    return granted;
  }

  /** Makes a call with a permit. */
  async run<T>(act: () => Promise<T>): Promise<T> {
    const acquired = this.acquire();
    const permit = acquired instanceof Promise ? await acquired : acquired;
    try {
      return await permit.run(act);
    } finally {
      permit.release();
    }
  }

  #grant(): Permit {
    this.#held++;
    this.#progress++;
    let isHeld = true;
    return {
      run: async (act) => {
        this.#running++;
        this.#progress++;
        try {
          return await act();
        } finally {
          this.#running--;
        }
      },
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#held--;
        if (this.#held < this.#permits) this.#grantNext();
      },
    };
  }

  #grantNext(): void {
    this.#queue.shift()?.();
    if (this.#queue.length > 0) return;
    clearTimeout(this.#watchdog);
    this.#watchdog = undefined;
  }

  #watch(): void {
    if (this.#stallMs === undefined) return;
    const before = this.#progress;
    this.#watchdog = setTimeout(() => {
      if (this.#running === 0 && this.#progress === before) this.#grantNext();
      if (this.#queue.length > 0) this.#watch();
    }, this.#stallMs);
  }
}
