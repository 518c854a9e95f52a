import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { turns } from "../../../src/blobs/node/turns.js";

describe("turns", () => {
  test("are held by no more than may, in the order in which they came, where nobody waits for another", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.record({ calls: fc.nat({ max: 3 }), fails: fc.boolean() }), { maxLength: 20 }),
        async (atATime, holders) => {
          const take = turns(atATime, 60_000);
          const began: number[] = [];
          let holding = 0;
          await Promise.all(
            holders.map(async ({ calls, fails }, index) => {
              const turn = await take();
              began.push(index);
              expect(++holding).toBeLessThanOrEqual(atATime);
              for (let call = 0; call < calls; call++) await turn.use(async () => call);
              const last = turn.use(() => (fails ? Promise.reject(new Error("no")) : Promise.resolve()));
              await last.catch((error: Error) => expect([fails, error.message]).toEqual([true, "no"]));
              holding--;
              turn.end();
              turn.end();
            }),
          );
          expect(began).toEqual(holders.map((_, index) => index));
        },
      ),
    );
  });

  test("are given before their time where all who hold one wait for those in line", async () => {
    const take = turns(2, 1);
    const nest = async (depth: number): Promise<number> => {
      const turn = await take();
      try {
        return depth === 0 ? 0 : 1 + (await nest(depth - 1));
      } finally {
        turn.end();
      }
    };
    expect(await Promise.all([nest(5), nest(5), nest(5)])).toEqual([5, 5, 5]);
    // And are as few as before afterwards.
    const [first, second] = [await take(), await take()];
    let third = false;
    let done: () => void = () => undefined;
    const call = first.use(() => new Promise<void>((resolve) => (done = resolve)));
    const taken = take().then((turn) => {
      third = true;
      return turn;
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(third).toBe(false);
    second.end();
    (await taken).end();
    done();
    await call;
    first.end();
  });
});
