import type { TetherFrame } from "./frame.js";
import type { CheckedQuery } from "./frame-query.js";

interface Waiter {
  readonly wants: CheckedQuery["wants"];
  readonly wake: (seq: number) => void;
}

/** Those who wait for a frame, in the order in which they came. */
export class Waiters {
  readonly #waiters = new Set<Waiter>();

  /**
   * Resolves with the number of the next frame that is wanted.
   *
   * @throws the reason of `signal` when it aborts
   */
  next(wants: CheckedQuery["wants"], signal: AbortSignal | undefined): Promise<number> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiters.delete(waiter);
        signal?.removeEventListener("abort", onAbort);
      };
      const onAbort = () => {
        leave();
        reject(signal?.reason);
      };
      const wake = (seq: number) => {
        leave();
        resolve(seq);
      };
      const waiter: Waiter = { wants, wake };
      this.#waiters.add(waiter);
      signal?.addEventListener("abort", onAbort);
    });
  }

  /** Tells those who want this frame, first come first; the others are not woken at all. */
  tell(frame: TetherFrame, seq: number): void {
    if (this.#waiters.size === 0) return;
    for (const waiter of this.#waiters) if (waiter.wants(frame)) waiter.wake(seq);
  }
}
