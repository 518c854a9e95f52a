import fc from "fast-check";
import { expect, test } from "vitest";
import { Mutex } from "../../src/internal/concurrency.js";

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
