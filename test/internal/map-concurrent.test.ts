import fc from "fast-check";
import { expect, test } from "vitest";
import { mapConcurrent } from "../../src/internal/concurrency.js";

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
