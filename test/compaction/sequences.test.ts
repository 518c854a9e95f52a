import fc from "fast-check";
import { fileLedger } from "sessile/compaction";
import { type Message, toolPairs } from "sessile/content";
import { SessileError } from "sessile/errors";
import { memorySessionStore, type Session } from "sessile/session";
import { describe, expect, test } from "vitest";
import { brokenPairs, type Compacted, estimateOf, newestUser, play } from "./play.js";
import { callStep, step } from "./sequences.js";

/** In one run of the suite, over all properties of this file. */
const sequences = 10_000;

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
    for (const what of ["compacted", "pruned", "nothingToDo", "IRREDUCIBLE", "SUMMARY_FAILED"]) {
      expect([what, seen.get(what) ?? 0]).toEqual([what, expect.toSatisfy((times: number) => times > 5)]);
    }
  }, 120_000);
});

describe("the file ledger", () => {
  test("is what a replay of every call on the path gives, however often the context was compacted", async () => {
    let compactions = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(callStep, { minLength: 6, maxLength: 40 }), async (steps) => {
        const session = await memorySessionStore().create({ cwd: "/w" });
        await play(session, steps, ({ result }) => {
          if (result?.status === "compacted") compactions++;
        });
        const { files } = fileLedger(await session.context(), { cwd: "/w" });
        const told = files.map(({ path, operations }) => `${path} ${[...operations].sort().join()}`);
        expect(told).toEqual(await replayed(session));
        await session.close();
      }),
      { numRuns: 1000 },
    );
    expect(compactions).toBeGreaterThan(200);
  }, 60_000);
});

/** What the calls on the path did to files, one after the other. */
async function replayed(session: Session): Promise<readonly string[]> {
  const messages: Message[] = [];
  for (const { id } of session.tree.path(session.leafId)) {
    const entry = await session.entry(id);
    if (entry?.type === "message") messages.push(entry.message);
  }
  const done = new Map<string, Set<string>>();
  for (const { call, result } of toolPairs(messages).pairs) {
    if (result?.isError === true) continue;
    const { path } = call.arguments as { readonly path: string };
    const deeds = done.get(path) ?? new Set();
    done.set(path, deeds.add(call.name === "read" ? "read" : "modified"));
  }
  return [...done].map(([path, deeds]) => `${path} ${[...deeds].sort().join()}`).sort();
}

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
