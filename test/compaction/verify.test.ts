import { planCompaction } from "sessile/compaction";
import { type ContextMessage, contextOf } from "sessile/content";
import { expect, test } from "vitest";
import type { CompactionPlan } from "../../src/compaction/options.js";
import { verify } from "../../src/compaction/verify.js";
import { gave, keepLast, lengthOf, told, user } from "./scripted.js";

const long = "x".repeat(400);
const context = contextOf([user(long), told(long, ["1"]), gave("1", long), user("now"), told("this")]);
const options = { strategy: keepLast(2), window: 1000, estimate: lengthOf };
const plan = planCompaction(context, options) as CompactionPlan;

test("says what is left, and whether it is less and little enough", async () => {
  expect(await verify(context, plan, "SUMMARY", options)).toEqual({ tokensAfter: 14 });
  expect(await verify(context, plan, "y".repeat(1200), options)).toEqual({
    tokensAfter: 1207,
    shortfall: "longer",
  });
  expect(await verify(context, plan, "y".repeat(1199), options)).toEqual({
    tokensAfter: 1206,
    shortfall: "over-limit",
  });
});

test("an estimate need not be whole, and a result that is less by a part is less", async () => {
  const estimate = (message: ContextMessage) => lengthOf(message) / 4;
  const { shortfall } = await verify(context, plan, "y".repeat(1199), { ...options, estimate });
  expect(shortfall).not.toBe("over-limit");
});

test("edits alone need only free something", async () => {
  const edits = [{ type: "context_edit", targetId: "m0", replacement: { content: long.slice(1) } }] as const;
  const pruning: CompactionPlan = { ...plan, parts: [], edits, keepFrom: 0, retain: [], limit: 5 };
  expect(await verify(context, pruning, undefined, options)).toEqual({ tokensAfter: 1206 });
  const none = { ...pruning, edits: [] };
  expect(await verify(context, none, undefined, options)).toEqual({ tokensAfter: 1207, shortfall: "longer" });
});

test.each<[string, Partial<CompactionPlan>, RegExp]>([
  ["a tool pair", { keepFrom: 2 }, /break a tool pair/],
  [
    "a tool pair by an edit",
    { parts: [], keepFrom: 0, edits: [{ type: "context_edit", targetId: "m1", replacement: null }] },
    /break a tool pair/,
  ],
  ["the newest message of the user", { keepFrom: 4 }, /lose the newest message/],
])("a plan that would lose %s is never written", async (_, broken, words) => {
  const summary = broken.parts === undefined ? "SUMMARY" : undefined;
  await expect(verify(context, { ...plan, ...broken }, summary, options)).rejects.toThrow(words);
});

test("what was broken before is no fault of the plan's", async () => {
  const broken = contextOf([gave("9", long), user(long), told("a", ["8"]), user("now"), told("this")]);
  const made = planCompaction(broken, options) as CompactionPlan;
  expect(await verify(broken, made, "SUMMARY", options)).toEqual({ tokensAfter: 14 });
});

test("the strategy is shown the context as it will be, with its trigger", async () => {
  const seen: unknown[] = [];
  const strategy = keepLast(2, {
    shouldCompact: ({ items, usageSince, views }, budget) => {
      seen.push(
        items.map(({ message }) => message.role),
        [usageSince, views],
        budget,
      );
      return false;
    },
  });
  await verify(context, plan, "SUMMARY", { ...options, strategy, trigger: "overflow" });
  expect(seen).toEqual([
    ["compactionSummary", "user", "assistant"],
    [3, []],
    { window: 1000, tokens: 14, trigger: "overflow", estimate: lengthOf },
  ]);
});
