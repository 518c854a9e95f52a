/**
 * Calls `map` for the items, at most `concurrency` at a time, and yields the results in the order of the items. An error
 * comes in its place in that order. When the caller stops early, the calls under way are awaited and their results
 * dropped.
 *
 * @param options.rampUp starts with one call, and with one more for each result taken: for callers that often want only
 *   the first few. Default false.
 */
export async function* mapConcurrent<T, R>(
  items: Iterable<T>,
  concurrency: number,
  map: (item: T) => Promise<R>,
  { rampUp = false } = {},
): AsyncGenerator<R, void, undefined> {
  const iterator = items[Symbol.iterator]();
  const pending: Promise<R>[] = [];
  let isDone = false;
  let limit = rampUp ? 1 : concurrency;
  try {
    for (; ; limit = Math.min(concurrency, limit + 1)) {
      while (!isDone && pending.length < limit) {
        const next = iterator.next();
        isDone = next.done === true;
        if (next.done === true) break;
        const result = map(next.value);
        // A failure that nobody comes to await is no unhandled rejection.
        result.catch(() => undefined);
        pending.push(result);
      }
      const first = pending.shift();
      if (first === undefined) return;
      yield await first;
    }
  } finally {
    await Promise.allSettled(pending);
  }
}
