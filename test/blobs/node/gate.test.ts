import fc from "fast-check";
import { expect, test } from "vitest";
import { gate } from "../../../src/blobs/node/gate.js";

test("lets no more run than it may, all of them in the end, in the order in which they came", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.record({ turns: fc.nat({ max: 4 }), fails: fc.boolean() }), { maxLength: 20 }),
      async (atATime, runs) => {
        const inTurn = gate(atATime);
        const began: number[] = [];
        let running = 0;
        const results = await Promise.allSettled(
          runs.map(({ turns, fails }, index) =>
            inTurn(async () => {
              began.push(index);
              expect(++running).toBeLessThanOrEqual(atATime);
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
