import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Semaphore } from "../../src/internal/concurrency.js";

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
