import { contextOf, toolCalls } from "sessile/content";
import { expect, test } from "vitest";
import { itemsForLedger } from "../../src/compaction/retention.js";
import { gave, told, user } from "./scripted.js";

const { items } = contextOf([
  user("a"),
  told("b", ["1", "2"]),
  gave("1", "x"),
  told("c", ["3"]),
  user("d"),
  gave("2", "late"),
]);
const callsIn = (from: number, retained: readonly number[]) =>
  itemsForLedger(items, { from, retained }).flatMap(({ message }) =>
    message.role === "assistant" ? toolCalls(message).map(({ id }) => id) : [],
  );

test("are those before the tail; one that stays and has no result there is left to the next ledger", () => {
  expect(callsIn(4, [])).toEqual(["1", "2", "3"]);
  expect(callsIn(4, [0])).toEqual(["1", "2", "3"]);
  expect(callsIn(4, [1])).toEqual(["1", "3"]);
  expect(callsIn(4, [3])).toEqual(["1", "2"]);
  expect(callsIn(4, [1, 2, 3])).toEqual(["1"]);
  expect(callsIn(6, [1])).toEqual(["1", "2", "3"]);
});

test("nothing is copied that need not be, and nothing is changed", () => {
  const before = structuredClone(items);
  expect(itemsForLedger(items, { from: 3, retained: [] })[1]).toBe(items[1]);
  expect(itemsForLedger(items, { from: 4, retained: [3] })[1]).toBe(items[1]);
  expect(itemsForLedger(items, { from: 4, retained: [1] })[1]).not.toBe(items[1]);
  expect(items).toEqual(before);
});
