import type { Clock } from "../../../../examples/apps/telegram-gateway/retry.js";

/** A clock on which every pause is over at once, and remembered. */
export interface InstantClock extends Clock {
  /** Milliseconds, oldest first. */
  readonly pauses: readonly number[];
}

export function instantClock(): InstantClock {
  const pauses: number[] = [];
  let now = 0;
  return {
    pauses,
    now: () => now,
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      pauses.push(ms);
      now += ms;
      // Others get their turn, or a loop of pauses would hold the processor.
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

/** A clock that stands until it is told to go on. */
export interface ManualClock extends Clock {
  /** Ends the pauses that are over then, and waits until what follows of them has settled. */
  advance(ms: number): Promise<void>;
}

export function manualClock(): ManualClock {
  let now = 0;
  const sleepers = new Set<() => void>();
  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const until = now + ms;
        const abort = () => {
          sleepers.delete(look);
          reject(signal?.reason);
        };
        const look = () => {
          if (now < until) return;
          sleepers.delete(look);
          signal?.removeEventListener("abort", abort);
          resolve();
        };
        sleepers.add(look);
        signal?.addEventListener("abort", abort, { once: true });
        look();
      }),
    async advance(ms) {
      now += ms;
      for (const look of sleepers) look();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
