import fc from "fast-check";
import { SessileError } from "sessile/errors";
import { memorySessionStore } from "sessile/session";
import { describe, expect, test } from "vitest";
import { brokenPairs, type Compacted, estimateOf, newestUser, play } from "./play.js";
import { step } from "./sequences.js";

/** In one run of the suite, over all properties of this file. */
const sequences = Number(process.env.N ?? 10_000);

describe("any sequence of appends, branches, edits, pins, prunes and compactions", () => {
  test("leaves tool pairs whole, the newest user message and pins in context, and less than there was; or nothing written", async () => {
    const seen = new Map<string, number>();
    const note = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 30 }), async (steps) => {
        const session = await memorySessionStore().create({ cwd: "/w" });
        await play(session, steps, (compacted) => note(holds(compacted)));
        await session.close();
      }),
      { numRuns: sequences },
    );
    if (process.env.SHOW) console.log(seen);
    for (const what of ["compacted", "pruned", "nothingToDo", "IRREDUCIBLE", "SUMMARY_FAILED"]) {
      expect([what, seen.get(what) ?? 0]).toEqual([what, expect.toSatisfy((times: number) => times > 20)]);
    }
  }, 120_000);
});

/** Checks what is promised of a compaction, and says how it ended. */
function holds(compacted: Compacted): string {
  const { before, after, result, error, entriesBefore, leafBefore } = compacted;
  if (result === undefined || result.status === "nothingToDo" || result.status === "cancelled") {
    if (result === undefined && !(error instanceof SessileError)) throw error;
    expect(after).toEqual(before);
    expect(compacted.session.tree.size).toBe(entriesBefore);
    expect(compacted.session.leafId).toBe(leafBefore);
    return result?.status ?? (error as SessileError).code;
  }
  expect(brokenPairs(after)).toBeLessThanOrEqual(brokenPairs(before));
  const shown = new Set(after.items.map(({ entryId }) => entryId));
  const newest = newestUser(before);
  if (newest !== undefined) expect(shown).toContain(newest);
  const had = new Set(before.items.map(({ entryId, origin }) => (origin === "summary" ? "" : entryId)));
  for (const pinned of before.pins) if (had.has(pinned)) expect(shown).toContain(pinned);
  expect(estimateOf(after)).toBeLessThan(estimateOf(before));
  expect(estimateOf(after)).toBe(result.tokensAfter);
  expect(after.model).toEqual(before.model);
  expect(after.usageSince).toBe(after.items.length);
  return result.status;
}
