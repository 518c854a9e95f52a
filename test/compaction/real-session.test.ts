import { contextTokens, findCutPoint, planCompaction, rollingSummary } from "sessile/compaction";
import { type ContextMessage, toolPairs } from "sessile/content";
import { estimateMessageTokens } from "sessile/estimate";
import { buildSessionContext, parseSession } from "sessile/session";
import { describe, expect, test } from "vitest";
import { ledgerDetails } from "../../src/compaction/file-ledger/details.js";
import { fixture } from "../support/fixtures.js";

const real = fixture("pi/large-session.v1.jsonl");

/** A quarter of a character count, as pi counts. */
const estimate = (message: ContextMessage): number =>
  estimateMessageTokens(message, { text: "chars/4", image: { kind: "flat", tokens: 1200 } });

describe.skipIf(real.absent !== undefined)(`a real session of pi's (${real.absent ?? "present"})`, () => {
  function opened() {
    const session = parseSession(real.read());
    const path = session.tree.path(session.leafId);
    const context = buildSessionContext(session);
    const placeOf = (item: number | undefined) =>
      path.findIndex(({ id }) => id === context.items[item ?? -1]?.entryId);
    return { session, path, context, placeOf };
  }

  test("is what the design says it is", () => {
    const { session, path, context } = opened();
    expect(session.entries).toHaveLength(1018);
    expect(path.at(-1)?.id).toBe(session.entries[1017]?.id);
    expect(path).toHaveLength(1018);
    expect(context.items).toHaveLength(914);
    expect(context.model).toEqual({ provider: "anthropic", modelId: "claude-sonnet-4-5" });
    expect(context.thinkingLevel).toBe("off");
  });

  test("comes to 177,657 tokens by its last usage, and to 124,661 by a quarter of its characters", () => {
    const { context } = opened();
    expect(contextTokens(context, { estimate })).toBe(177_657);
    // The last message has a usage, so that nothing is estimated.
    expect(contextTokens(context)).toBe(177_657);
    expect(context.items.reduce((sum, { message }) => sum + estimate(message), 0)).toBe(124_661);
  });

  test("is cut at entry 837 where 20,000 tokens are kept, in the turn that begins at 834", () => {
    const { context, placeOf } = opened();
    const cut = findCutPoint(context.items, { keepTokens: 20_000, estimate });
    expect([placeOf(cut.keepFrom), placeOf(cut.turnStart)]).toEqual([837, 834]);
  });

  test("is planned: 730 messages and the 3 of the turn's beginning, 7 files read and 20 modified", () => {
    const { session, context, placeOf } = opened();
    const { cwd } = session.header ?? {};
    const options = { strategy: rollingSummary(), window: 200_000, estimate };
    const plan = planCompaction(context, { ...options, ...(cwd === undefined ? {} : { cwd }) });
    if (plan === undefined) throw new Error("nothing to do");
    expect(placeOf(plan.keepFrom)).toBe(837);
    expect(plan.parts.map(({ items }) => items.length)).toEqual([730, 3]);
    expect(plan.tokensBefore).toBe(177_657);
    const { readFiles, modifiedFiles } = ledgerDetails(plan.files);
    // As many as pi counts, which takes any call for done: of the 17 edits here that have no result, in an answer that
    // failed and one that was aborted, each is of a file that other edits changed.
    expect([readFiles.length, modifiedFiles.length]).toEqual([7, 20]);
    expect(plan.files.files.filter(({ unconfirmed }) => unconfirmed)).toEqual([]);
    // The newest message of the user is in what stays, and so is every pair.
    expect([plan.retain, plan.edits]).toEqual([[], []]);
  });

  test.each([1, 2000, 20_000, 40_000])("is planned at any time with %d tokens kept, no pair torn", (keep) => {
    const { session, path } = opened();
    const options = { strategy: rollingSummary({ keepRecentTokens: keep }), window: 200_000 };
    for (let at = path.length; at > 0; at -= 73) {
      const context = buildSessionContext(session, path[at - 1]?.id ?? null);
      const plan = planCompaction(context, options);
      if (plan === undefined) continue;
      const retained = new Set(plan.retain);
      const kept = context.items.filter(
        ({ entryId }, item) => item >= plan.keepFrom || retained.has(entryId),
      );
      const messages = kept.map(({ message }) => message);
      const { orphans, pairs } = toolPairs(messages);
      expect(orphans).toEqual([]);
      const all = toolPairs(context.items.map(({ message }) => message)).pairs;
      const waiting = all.filter(({ result }) => result === undefined).length;
      expect(pairs.filter(({ result }) => result === undefined).length).toBeLessThanOrEqual(waiting);
      const newest = context.items.findLast(({ message }) => message.role === "user");
      expect(kept.some(({ entryId }) => entryId === newest?.entryId)).toBe(true);
    }
  });
});
