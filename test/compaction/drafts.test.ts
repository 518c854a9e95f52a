import { type PlanOptions, planCompaction } from "sessile/compaction";
import { type Context, contextOf } from "sessile/content";
import { expect, test } from "vitest";
import type { CompactionPlan } from "../../src/compaction/options.js";
import { compactionDrafts } from "../../src/compaction/write.js";
import { gave, keepLast, lengthOf, told, usage, user } from "./scripted.js";

const long = "x".repeat(400);
const context = contextOf([user(long), told(long, ["1"]), gave("1", long), user("now"), told("this")]);
const summary = { text: "SUMMARY", fromHook: false };
const planFor = (of: Context, more: Partial<PlanOptions> = {}) =>
  planCompaction(of, { strategy: keepLast(1), window: 1000, estimate: lengthOf, ...more }) as CompactionPlan;
const compactionOf = (
  of: Context,
  plan = planFor(of),
  written: Parameters<typeof compactionDrafts>[2] = summary,
) => {
  const draft = compactionDrafts(of, plan, written).at(-1);
  return draft?.type === "compaction" ? draft : undefined;
};

test("edits alone are the batch where no summary is written", () => {
  const edits = [{ type: "context_edit", targetId: "m0", replacement: null }] as const;
  expect(compactionDrafts(context, { ...planFor(context), edits }, undefined)).toBe(edits);
});

test("first what is told again, then edits, and last the compaction, which lists what is told again in its place", () => {
  const edits = [{ type: "context_edit", targetId: "m4", replacement: { content: [] } }] as const;
  const drafts = compactionDrafts(
    context,
    { ...planFor(context), edits, retain: ["a", "b"], initialContext: { content: "rules", at: 1 } },
    summary,
  );
  expect(drafts.map(({ type }) => type)).toEqual(["custom_message", "context_edit", "compaction"]);
  const [rules, , compaction] = drafts;
  expect(rules?.id).toMatch(/^[0-9a-f]{8}$/);
  expect(compaction).toMatchObject({ retain: ["a", rules?.id, "b"] });
});

test("the first kept entry is the first item's, or that of a view before it; of nothing kept, its own", () => {
  expect(compactionOf(context)?.firstKeptEntryId).toBe("m4");
  const viewed = {
    ...context,
    views: [
      { entryId: "v1", resourceId: "res_1", item: 3 },
      { entryId: "v2", resourceId: "res_1", item: 4 },
    ],
  };
  expect(compactionOf(viewed)?.firstKeptEntryId).toBe("v2");
  const none = compactionOf(context, planFor(context, { strategy: keepLast(0) }));
  expect(none?.firstKeptEntryId).toBe(none?.id);
  expect(none?.id).toMatch(/^[0-9a-f]{8}$/);
});

test("what there is nothing of is left out", () => {
  const plain = contextOf([told(long), user("now")]);
  const { id, ...draft } = compactionOf(plain) ?? {};
  expect(draft).toEqual({
    type: "compaction",
    summary: "SUMMARY",
    firstKeptEntryId: "m1",
    tokensBefore: 403,
    details: expect.not.objectContaining({ resources: expect.anything() }),
    strategy: "keep-last",
  });
});

test("what there is is written", () => {
  const system = { role: "system", content: "be kind", timestamp: 1 } as const;
  const of = contextOf([system, user("a"), told(long), told("b")]);
  const model = { provider: "p", modelId: "m" };
  const written = { text: "MINE", fromHook: true, usage: usage(5), model };
  const resources = [{ resourceId: "res_00000000000000aa", kind: "image" }] as const;
  expect(compactionOf(of, { ...planFor(of), resources }, written)).toMatchObject({
    summary: "MINE",
    fromHook: true,
    usage: usage(5),
    model,
    systemMessage: system,
    retain: ["m1"],
    details: { resources },
  });
});
