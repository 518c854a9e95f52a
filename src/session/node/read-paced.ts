import { readAhead } from "./read-ahead.js";

/** Two ways to read the same. */
export interface Reads<T, R> {
  /** At once: a tenth of the other's time where the system has the bytes in memory. */
  readonly now: (item: T) => R;
  /** By a thread, which others need not wait for. */
  readonly later: (item: T) => Promise<R>;
  /** So many of {@link later} at a time. */
  readonly ahead: number;
}

/** What time is to be told by. */
export interface Pace {
  /** Milliseconds. */
  readonly now: () => number;
  /** Resolves when the event loop has had a turn. */
  readonly turn: () => Promise<void>;
}

const nodePace: Pace = {
  now: () => performance.now(),
  turn: () => new Promise((resolve) => setImmediate(resolve)),
};

/** Milliseconds after which others get a turn of the event loop. */
export const turnMs = 4;
/** A read at once that takes so many milliseconds came from a slow disk, or from another machine. */
export const slowMs = 2;
/** So many are read by threads before the next is read at once again. */
export const stint = 32;

/** Gives others a turn of the event loop where one is due, each time that what it returns is called and waited for. */
export function turnsOf(pace = nodePace): () => Promise<void> | undefined {
  let turned = pace.now();
  return () => {
    if (pace.now() - turned < turnMs) return undefined;
    return pace.turn().then(() => {
      turned = pace.now();
    });
  };
}

/**
 * What is read of each item, in order, as it is asked for: at once while that is quick, and by threads, some ahead, where
 * it is not, so that the event loop waits for no disk more than now and then.
 */
export async function* readPaced<T, R>(
  items: readonly T[],
  { now, later, ahead }: Reads<T, R>,
  pace = nodePace,
): AsyncGenerator<R, void, undefined> {
  const turn = turnsOf(pace);
  for (let at = 0; at < items.length; ) {
    const due = turn();
    if (due !== undefined) await due;
    const start = pace.now();
    const result = now(items[at++] as T);
    const isSlow = pace.now() - start >= slowMs;
    yield result;
    if (!isSlow) continue;
    yield* readAhead(items.slice(at, at + stint), ahead, later);
    at += stint;
  }
}
