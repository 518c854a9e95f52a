import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { abortable, Mutex, mapConcurrent, retry, Semaphore } from "../../src/core/concurrency.js";

describe("Semaphore", () => {
  /** A permit in any case as a promise. */
  async function acquire(semaphore: Semaphore) {
    return semaphore.acquire();
  }

  test("run makes no more calls at a time than there are permits, in order, and each passes on its failure", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.record({ turns: fc.nat({ max: 4 }), fails: fc.boolean() }), { maxLength: 20 }),
        async (permits, runs) => {
          const semaphore = new Semaphore(permits);
          const began: number[] = [];
          let running = 0;
          const results = await Promise.allSettled(
            runs.map(({ turns, fails }, index) =>
              semaphore.run(async () => {
                began.push(index);
                expect(++running).toBeLessThanOrEqual(permits);
                for (let turn = 0; turn < turns; turn++) await undefined;
                running--;
                if (fails) throw new Error(`${index}`);
                return index;
              }),
            ),
          );
          expect(began).toEqual(runs.map((_, index) => index));
          expect(results.map(({ status }) => status === "rejected")).toEqual(runs.map(({ fails }) => fails));
        },
      ),
    );
  });

  test("run with a free permit makes its call at once", () => {
    let made = false;
    void new Semaphore(1).run(async () => {
      made = true;
    });
    expect(made).toBe(true);
  });

  describe("permits", () => {
    test("are held by no more than may, in the order in which they came, if no holder waits for another", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 4 }),
          fc.array(fc.record({ calls: fc.nat({ max: 3 }), fails: fc.boolean() }), { maxLength: 20 }),
          async (atATime, holders) => {
            const semaphore = new Semaphore(atATime, { stallMs: 60_000 });
            const began: number[] = [];
            let holding = 0;
            await Promise.all(
              holders.map(async ({ calls, fails }, index) => {
                const permit = await acquire(semaphore);
                began.push(index);
                expect(++holding).toBeLessThanOrEqual(atATime);
                for (let call = 0; call < calls; call++) await permit.run(async () => call);
                const last = permit.run(() => (fails ? Promise.reject(new Error("no")) : Promise.resolve()));
                await last.catch((error: Error) => expect([fails, error.message]).toEqual([true, "no"]));
                holding--;
                permit.release();
                permit.release();
              }),
            );
            expect(began).toEqual(holders.map((_, index) => index));
          },
        ),
      );
    });

    test("exceed the limit if all holders wait for those in the queue: the deadlock guard", async () => {
      const semaphore = new Semaphore(2, { stallMs: 1 });
      const nest = async (depth: number): Promise<number> => {
        const permit = await acquire(semaphore);
        try {
          return depth === 0 ? 0 : 1 + (await nest(depth - 1));
        } finally {
          permit.release();
        }
      };
      expect(await Promise.all([nest(5), nest(5), nest(5)])).toEqual([5, 5, 5]);
      // And are as few as before afterwards.
      const [first, second] = [await acquire(semaphore), await acquire(semaphore)];
      let third = false;
      let done: () => void = () => undefined;
      const call = first.run(() => new Promise<void>((resolve) => (done = resolve)));
      const taken = acquire(semaphore).then((permit) => {
        third = true;
        return permit;
      });
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(third).toBe(false);
      second.release();
      (await taken).release();
      done();
      await call;
      first.release();
    });
  });
});

describe("Mutex", () => {
  test("runs one at a time, in the order in which they came, and goes on after a failure", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ turns: fc.nat({ max: 4 }), fails: fc.boolean() }), { maxLength: 12 }),
        async (runs) => {
          const mutex = new Mutex();
          const began: number[] = [];
          let running = 0;
          const results = await Promise.allSettled(
            runs.map(({ turns, fails }, index) =>
              mutex.run(async () => {
                began.push(index);
                expect(++running).toBe(1);
                for (let turn = 0; turn < turns; turn++) await undefined;
                running--;
                if (fails) throw new Error("no");
              }),
            ),
          );
          expect(began).toEqual(runs.map((_, index) => index));
          expect(results.map(({ status }) => status === "rejected")).toEqual(runs.map(({ fails }) => fails));
        },
      ),
    );
  });

  test("is acquired at once while it is free", async () => {
    const mutex = new Mutex();
    expect(mutex.acquire()).toBeUndefined();
    const second = mutex.acquire();
    expect(second).toBeInstanceOf(Promise);
    mutex.release();
    await second;
    mutex.release();
    expect(mutex.acquire()).toBeUndefined();
  });
});

describe("mapConcurrent", () => {
  test("gives what is read in order, never more at a time than allowed, and an error in its place", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.boolean(), { maxLength: 12 }),
        fc.integer({ min: 1, max: 4 }),
        fc.boolean(),
        async (scheduler, items, ahead, rampUp) => {
          let under = 0;
          let most = 0;
          const read = async (at: number) => {
            most = Math.max(most, ++under);
            await scheduler.schedule(Promise.resolve());
            under--;
            if (items[at] === false) throw new Error(`no ${at}`);
            return at;
          };
          const seen: number[] = [];
          const all = (async () => {
            for await (const at of mapConcurrent(items.keys(), ahead, read, { rampUp })) seen.push(at);
          })();
          const failed = all.then(
            () => undefined,
            (error: Error) => error.message,
          );
          await scheduler.waitFor(failed);
          const first = items.indexOf(false);
          expect(seen).toEqual([...items.keys()].slice(0, first < 0 ? items.length : first));
          expect(await failed).toBe(first < 0 ? undefined : `no ${first}`);
          expect(most).toBeLessThanOrEqual(ahead);
          expect(under).toBe(0);
        },
      ),
    );
  });

  test("ramping up, it begins with one and reads no further once nobody asks", async () => {
    const asked: number[] = [];
    const read = async (at: number) => {
      asked.push(at);
      return at;
    };
    for await (const at of mapConcurrent([0, 1, 2, 3, 4, 5], 2, read, { rampUp: true })) if (at === 1) break;
    expect(asked).toEqual([0, 1, 2]);
  });

  test("begins with as many as it may unless it ramps up", async () => {
    const asked: number[] = [];
    const read = async (at: number) => {
      asked.push(at);
      return at;
    };
    for await (const at of mapConcurrent([0, 1, 2, 3, 4, 5], 3, read)) if (at === 0) break;
    expect(asked).toEqual([0, 1, 2]);
  });
});

describe("abort", () => {
  /** Counts to `to`, and says how it ended. */
  function counting(to: number): AsyncIterable<number> & { ended: string } {
    const source = {
      ended: "not yet",
      async *[Symbol.asyncIterator]() {
        try {
          for (let n = 1; n <= to; n++) yield n;
          source.ended = "of itself";
        } finally {
          if (source.ended === "not yet") source.ended = "early";
        }
      },
    };
    return source;
  }

  async function all<T>(source: AsyncIterable<T>, each: (item: T) => void = () => undefined): Promise<T[]> {
    const items: T[] = [];
    for await (const item of source) {
      items.push(item);
      each(item);
    }
    return items;
  }

  describe("abortable", () => {
    test("gives what the source gives, with a signal and without", async () => {
      for (const signal of [undefined, new AbortController().signal]) {
        const source = counting(3);
        expect(await all(abortable(source, signal))).toEqual([1, 2, 3]);
        expect(source.ended).toBe("of itself");
      }
    });

    test("throws the reason, and ends the source, when the signal aborts between two items", async () => {
      const controller = new AbortController();
      const source = counting(3);
      const items: number[] = [];
      const run = all(abortable(source, controller.signal), (item) => {
        items.push(item);
        controller.abort(new RangeError("enough"));
      });
      await expect(run).rejects.toThrow(new RangeError("enough"));
      expect(items).toEqual([1]);
      expect(source.ended).toBe("early");
    });

    test("does not begin after an abort", async () => {
      const source = counting(3);
      const run = all(abortable(source, AbortSignal.abort(new RangeError("before"))));
      await expect(run).rejects.toThrow(new RangeError("before"));
      expect(source.ended).toBe("not yet");
    });

    test("does not wait for a source that hangs, nor for its end", async () => {
      const controller = new AbortController();
      const hanging: AsyncIterable<number> = {
        [Symbol.asyncIterator]: () => ({
          next: () => new Promise(() => undefined),
          return: () => new Promise(() => undefined),
        }),
      };
      const run = all(abortable(hanging, controller.signal));
      controller.abort(new RangeError("waited enough"));
      await expect(run).rejects.toThrow(new RangeError("waited enough"));
    });

    test("ends the source when it is left early, and passes its errors on", async () => {
      for (const signal of [undefined, new AbortController().signal]) {
        const source = counting(3);
        for await (const item of abortable(source, signal)) if (item === 2) break;
        expect(source.ended).toBe("early");
        const failing = (async function* () {
          yield 1;
          throw new RangeError("broken");
        })();
        await expect(all(abortable(failing, signal))).rejects.toThrow(new RangeError("broken"));
      }
    });

    test("leaves no listener on the signal", async () => {
      const { signal } = new AbortController();
      let listeners = 0;
      const add = signal.addEventListener.bind(signal);
      const remove = signal.removeEventListener.bind(signal);
      signal.addEventListener = (...args: Parameters<typeof add>) => {
        listeners++;
        add(...args);
      };
      signal.removeEventListener = (...args: Parameters<typeof remove>) => {
        listeners--;
        remove(...args);
      };
      await all(abortable(counting(3), signal));
      for await (const _ of abortable(counting(3), signal)) break;
      expect(listeners).toBe(0);
    });
  });
});

describe("retry", () => {
  const failing = (times: number) => {
    const calls: number[] = [];
    const attempt = async () => {
      calls.push(calls.length + 1);
      if (calls.length <= times) throw new RangeError(`failure ${calls.length}`);
      return calls.length;
    };
    return { calls, attempt };
  };
  /** Answers with these decisions, by turns. */
  const options = (...answers: readonly (boolean | number)[]) => ({
    waitMs: [0, 0] as const,
    again: (_error: unknown, count: number) => answers[count - 1] ?? false,
  });

  test("makes attempts until one succeeds, and asks about each error", async () => {
    const { attempt } = failing(2);
    const asked: unknown[] = [];
    const again = (error: unknown, count: number) => asked.push([(error as Error).message, count]) > 0;
    expect(await retry(attempt, { waitMs: [0, 0], again })).toBe(3);
    expect(asked).toEqual([
      ["failure 1", 1],
      ["failure 2", 2],
    ]);
  });

  test("ends with the error that is final, or with one that the question throws", async () => {
    const { calls, attempt } = failing(9);
    await expect(retry(attempt, options(true, 0, false))).rejects.toThrow("failure 3");
    expect(calls).toEqual([1, 2, 3]);
    const again = () => {
      throw new TypeError("other");
    };
    await expect(retry(attempt, { waitMs: [0, 0], again })).rejects.toThrow("other");
  });

  test("makes no attempt behind its time, and none after an abort", async () => {
    const late = failing(9);
    await expect(retry(late.attempt, { ...options(true, true), timeoutMs: 0 })).rejects.toThrow("failure 1");
    const { calls, attempt } = failing(9);
    const stop = new AbortController();
    const again = () => {
      stop.abort(new TypeError("enough"));
      return 60_000;
    };
    await expect(retry(attempt, { waitMs: [0, 0], signal: stop.signal, again })).rejects.toThrow("enough");
    expect(calls).toEqual([1]);
  });

  test("waits below a bound that doubles up to the most, and no less than asked", async () => {
    vi.useFakeTimers();
    const random = vi.spyOn(Math, "random").mockReturnValue(0.5);
    try {
      const waited: number[] = [];
      let before = performance.now();
      const attempt = async () => {
        waited.push(performance.now() - before);
        before = performance.now();
        throw new RangeError("failure");
      };
      const answers = [true, true, true, 70, false];
      const again = (_error: unknown, count: number) => answers[count - 1] ?? false;
      const ended = expect(retry(attempt, { waitMs: [20, 60], again })).rejects.toThrow("failure");
      await vi.runAllTimersAsync();
      await ended;
      expect(waited.map(Math.round)).toEqual([0, 10, 20, 30, 70]);
    } finally {
      random.mockRestore();
      vi.useRealTimers();
    }
  });
});
