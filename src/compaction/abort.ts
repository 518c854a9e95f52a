/** Awaits a promise; rejects with the signal's reason once it aborts, even if the promise never settles. */
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
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const passed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    await untilAborted(passed, signal);
  } finally {
    clearTimeout(timer);
  }
}
