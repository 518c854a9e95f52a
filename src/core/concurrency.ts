/**
 * Concurrent calls: a semaphore, a mutex, a bounded map, attempts with growing waits, and waits that a
 * signal ends.
 */

/** The waits and the end of {@link retry}. */
interface RetryOptions {
  /** Bounds of the first wait and of all waits, in milliseconds. A wait is random below its bound, which doubles. */
  readonly waitMs: readonly [first: number, most: number];
  /** Milliseconds behind which no attempt follows. @default unlimited */
  readonly timeoutMs?: number;
  /** Ends a wait with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Whether another attempt follows an error; a number is the least wait before it. It may throw another error. */
  again(error: unknown, count: number): boolean | number | Promise<boolean>;
}

/**
 * Makes attempts until one succeeds. The waits are random, so that callers that failed together do not repeat
 * together.
 *
 * @throws the error of the last attempt
 */
export async function retry<T>(
  attempt: () => Promise<T>,
  { waitMs: [first, most], timeoutMs = Number.POSITIVE_INFINITY, signal, again }: RetryOptions,
): Promise<T> {
  const end = performance.now() + timeoutMs;
  for (let count = 1, bound = first; ; count++, bound = Math.min(2 * bound, most)) {
    signal?.throwIfAborted();
    let left: number;
    let least: boolean | number;
    try {
      return await attempt();
    } catch (error) {
      least = await again(error, count);
      left = end - performance.now();
      if (least === false || left <= 0) throw error;
    }
    await sleep(Math.min(Math.max(Number(least === true ? 0 : least), Math.random() * bound), left), signal);
  }
}

/** A permit of a {@link Semaphore}. */
interface Permit {
  /** Makes a call. A call under way counts as progress for the deadlock guard. */
  run<T>(act: () => Promise<T>): Promise<T>;
  /** Passes the permit to the next in the queue. Idempotent. */
  release(): void;
}

/**
 * Limits concurrency, first come, first served.
 *
 * A holder may wait for a caller that is in the queue, such as a stream that is fed by another put: a
 * deadlock. With `stallMs`, the next in the queue exceeds the limit when no holder has made a call for that
 * long.
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

  /** @param options.stallMs timeout of the deadlock guard in milliseconds. @default no guard */
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

/** Runs one critical section at a time, first come, first served. */
export class Mutex {
  /** The waiting callers; undefined while the mutex is free. */
  #queue: (() => void)[] | undefined;

  /** Returns undefined if the mutex was free, so that the caller need not yield; else a promise. */
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

/**
 * Calls `map` for the items, at most `concurrency` at a time. Yields the results, or throws the first error,
 * in the order of the items. If the caller stops early, awaits the calls under way and drops their results.
 *
 * @param options.rampUp starts with one concurrent call, and adds one per consumed result, for callers that
 *   often need only the first few. @default false
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
        // A failure that is never awaited must not count as an unhandled rejection.
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

// Waits and iterations that end when a signal aborts.

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

/** A longer timer fires at once. */
export const maxTimerMs = 2 ** 31 - 1;

/** Lets the process end although a timer runs. Browsers have numbers for timers. */
export function unreferenced(timer: ReturnType<typeof setTimeout>): void {
  const { unref } = timer as { unref?(): void };
  if (typeof unref === "function") unref.call(timer);
}
