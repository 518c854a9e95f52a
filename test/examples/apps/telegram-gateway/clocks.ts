import type { Clock } from "../../../../examples/apps/telegram-gateway/retry.js";

/** A clock that records every pause and ends it at once. */
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
      // Yields, so that a loop of pauses does not block the process.
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

/** A clock that tests advance. */
export interface ManualClock extends Clock {
  /** Ends the pauses that are over by then, and waits for their continuations. */
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
