import { type ContextItem, type ContextMessage, contextOf } from "sessile/content";
import { expect, test } from "vitest";
import { headLength, isCutPoint, newestUserIndex, startsTurn } from "../../src/compaction/cut-point.js";
import { gave, told, user } from "./scripted.js";

const bash: ContextMessage = {
  role: "bashExecution",
  command: "ls",
  output: "",
  cancelled: false,
  truncated: false,
  timestamp: 1,
};
const custom: ContextMessage = { role: "custom", customType: "x", content: "", display: true, timestamp: 1 };
const branch: ContextMessage = { role: "branchSummary", summary: "", fromId: "root", timestamp: 1 };
const summary: ContextMessage = { role: "compactionSummary", summary: "", tokensBefore: 1, timestamp: 1 };
const system: ContextMessage = { role: "system", content: "", timestamp: 1 };

test.each<[ContextMessage, boolean, boolean]>([
  [user(""), true, true],
  [told("", ["c"]), true, false],
  [bash, true, true],
  [custom, true, true],
  [branch, true, true],
  [gave("c", ""), false, false],
  [summary, false, false],
  [system, false, false],
])("of what may begin a context, and a turn: $role", (message, mayBegin, beginsTurn) => {
  const [item] = contextOf([message]).items as [ContextItem];
  expect([isCutPoint(item), startsTurn(item)]).toEqual([mayBegin, beginsTurn]);
});

test("the head is what a compaction made and what it retained, up to the first of the context's own messages", () => {
  const { items } = contextOf([system, summary, user("a"), user("b"), summary]);
  const of = (origins: readonly ContextItem["origin"][]) =>
    headLength(items.map((item, at) => ({ ...item, origin: origins[at] as ContextItem["origin"] })));
  expect(of(["system", "summary", "retained", "message", "summary"])).toBe(3);
  expect(of(["message", "summary", "retained", "message", "summary"])).toBe(0);
  expect(of(["system", "summary", "retained", "retained", "summary"])).toBe(5);
  expect(headLength([])).toBe(0);
});

test("the newest message of a user", () => {
  expect(newestUserIndex(contextOf([user("a"), user("b"), custom, told("")]).items)).toBe(1);
  expect(newestUserIndex(contextOf([custom, told("")]).items)).toBe(-1);
});
