/** Time that passes as a test says: timers of this process run in order, at once. Or real timers, beside a clock that a test moves. */

interface Timer {
  readonly everyMs: number | undefined;
  readonly act: () => void;
  at: number;
}

const real = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate };

/** Runs what waits for no timer. */
const turn = () => new Promise<void>((resolve) => void real.setImmediate(resolve));

export class SimulatedTime {
  #now = 1_000_000_000;
  readonly #timers = new Set<Timer>();
  #isInstalled = false;

  now(): number {
    return this.#now;
  }

  /** Timers of this process are this clock's until the function that it returns is called. */
  install(): () => void {
    const start = (act: () => void, ms: number, everyMs: number | undefined) => {
      const timer = { act, everyMs, at: this.#now + Math.max(1, ms) };
      this.#timers.add(timer);
      return Object.assign(timer, { ref: () => timer, unref: () => timer });
    };
    const stop = (timer: unknown) => void this.#timers.delete(timer as Timer);
    Object.assign(globalThis, {
      setTimeout: (act: () => void, ms = 0) => start(act, ms, undefined),
      setInterval: (act: () => void, ms = 0) => start(act, ms, ms),
      clearTimeout: stop,
      clearInterval: stop,
    });
    this.#isInstalled = true;
    return () => {
      const { setImmediate: _, ...timers } = real;
      Object.assign(globalThis, timers);
      this.#isInstalled = false;
    };
  }

  /** Lets time pass, and what it starts come to an end or to another wait. */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    while (this.#runNext(end)) await turn();
    this.#now = Math.max(this.#now, end);
  }

  /** Waits for time to pass, which {@link drive} lets pass. */
  async sleep(ms: number): Promise<void> {
    if (this.#isInstalled) await new Promise<void>((resolve) => void setTimeout(resolve, ms));
    else {
      this.#now += ms;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  /** Waits for a promise. Whenever nothing goes on, time passes until the next timer. */
  async drive<T>(promise: Promise<T>): Promise<T> {
    if (!this.#isInstalled) return promise;
    let isDone = false;
    const done = () => {
      isDone = true;
    };
    promise.then(done, done);
    for (let turns = 1; !isDone; turns++) {
      await turn();
      if (turns % quietTurns === 0 && !isDone) this.#runNext(Number.POSITIVE_INFINITY);
    }
    return promise;
  }

  /** Runs the next timer that is due by a time. Returns whether there was one. */
  #runNext(by: number): boolean {
    let next: Timer | undefined;
    for (const timer of this.#timers) if (timer.at < (next?.at ?? Infinity)) next = timer;
    if (next === undefined || next.at > by) return false;
    this.#now = Math.max(this.#now, next.at);
    if (next.everyMs === undefined) this.#timers.delete(next);
    else next.at += next.everyMs;
    next.act();
    return true;
  }
}

/** What waits for a later turn of the event loop, as some code does to give way, is no wait for time. */
const quietTurns = 4;
