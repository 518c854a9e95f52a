import type { Part } from "sessile/projections";
import { expect, test } from "vitest";
import { partNamedIn } from "../../src/projections/error-ids.js";

const partAt = (block: number): Part => ({
  type: "text",
  text: "x",
  origin: { entryId: "m0", item: 0, block },
});

const reasoning = { type: "reasoning", id: "rs_1" };
const call = { type: "function_call", id: "fc_1", call_id: "call_1" };
const result = { role: "tool", tool_call_id: "call_1", content: [{ source: { id: "nested_1" } }] };
const unmarked = { id: "msg_9" };
const value = { input: [reasoning, call, result, unmarked] };
const marks = new Map<object, Part>([reasoning, call, result].map((block, at) => [block, partAt(at)]));

const blockNamed = (message: string) => {
  const named = partNamedIn(message, value, marks);
  return named && [named.id, named.part.origin.block];
};

test("finds the part that a message names by its id, the first that it names", () => {
  expect(blockNamed("The encrypted content for item rs_1 could not be verified.")).toEqual(["rs_1", 0]);
  expect(blockNamed("Item 'fc_1' was provided without its required 'reasoning' item: 'rs_1'.")).toEqual([
    "fc_1",
    1,
  ]);
  expect(blockNamed("No tool output found for function call call_1.")).toEqual(["call_1", 1]);
  expect(blockNamed("nested_1 is wrong")).toEqual(["nested_1", 2]);
});

test("finds nothing that is not named whole, or is of no part", () => {
  expect(blockNamed("rs_12 and xrs_1 and msg_9 and reasoning")).toBeUndefined();
  expect(blockNamed("")).toBeUndefined();
});

test("takes no word for an id that a short id happens to be", () => {
  const part = partAt(0);
  const all = ["c", "content", "tool", "400"].map((id) => ({ id }));
  const marked = new Map<object, Part>(all.map((block) => [block, part]));
  expect(partNamedIn("400 tool content c", all, marked)).toBeUndefined();
});
