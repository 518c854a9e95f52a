/** Waits and iterations that end when a signal aborts. */

/**
 * Yields the items of a source. When the signal aborts, throws its reason at once and returns the source's
 * iterator, without waiting for it: a source that hangs would never answer.
 */
export async function* abortable<T>(
  source: AsyncIterable<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T, void, undefined> {
  signal?.throwIfAborted();
  if (signal === undefined) {
    yield* source;
    return;
  }
  const iterator = source[Symbol.asyncIterator]();
  let abort = (_: unknown): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = reject;
  });
  // If no iteration is waiting, the abort must not count as an unhandled rejection.
  aborted.catch(() => undefined);
  const onAbort = () => abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  let ended = false;
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), aborted]);
      signal.throwIfAborted();
      if (next.done === true) {
        ended = true;
        return;
      }
      yield next.value;
      signal.throwIfAborted();
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    if (!ended) void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}

/** Awaits a promise; rejects with the signal's reason once it aborts, even if the promise stays pending. */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    // The promise is abandoned, so its rejection must not count as unhandled.
    promise.catch(() => undefined);
    throw signal.reason;
  }
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Resolves after `ms` milliseconds; rejects with the signal's reason once it aborts. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const passed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    await (signal === undefined ? passed : untilAborted(passed, signal));
  } finally {
    clearTimeout(timer);
  }
}
