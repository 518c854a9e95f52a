/**
 * What `read` gives for each item, in order, so many of them at a time; the first alone, and one more with each that was asked
 * for, since many who ask want only a few. What was read and is not asked for is let go; an error comes in its place in the order.
 */
export async function* readAhead<T, R>(
  items: readonly T[],
  ahead: number,
  read: (item: T) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  const under: Promise<R>[] = [];
  let next = 0;
  let given = 0;
  const start = () => {
    const result = read(items[next++] as T);
    // Where nobody comes to ask for it, a failure is no unhandled rejection.
    result.catch(() => undefined);
    under.push(result);
  };
  try {
    for (;;) {
      while (next < items.length && under.length < Math.min(ahead, given + 1)) start();
      const first = under.shift();
      if (first === undefined) return;
      yield await first;
      given++;
    }
  } finally {
    await Promise.allSettled(under);
  }
}
