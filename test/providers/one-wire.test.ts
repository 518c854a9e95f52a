import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyStep, growingStep, Wire } from "../support/providers/one-wire.js";
import { rounds } from "../support/rounds.js";

const runs = { numRuns: rounds(15, 250) };

describe("requests to servers that compare their prefix", () => {
  test("are never refused, and have no reasoning that does not count, whatever happened between them", async () => {
    const steps = fc.array(anyStep, { minLength: 5, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const { refused, dropped } = await Wire.run(all, false);
        expect({ refused, dropped }).toEqual({ refused: [], dropped: 0 });
      }),
      runs,
    );
  });

  test("of a session that only grows have all reasoning since the last cut", async () => {
    const steps = fc.array(growingStep, { minLength: 5, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const { refused, dropped, read, own, unseen } = await Wire.run(all, true);
        expect({ refused, dropped, read, unseen }).toEqual({ refused: [], dropped: 0, read: own, unseen: 0 });
      }),
      runs,
    );
  });
});
