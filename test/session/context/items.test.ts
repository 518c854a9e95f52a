import type { SessionEntry } from "sessile/session";
import { describe, expect, test } from "vitest";
import { assembleItems, type ItemParts } from "../../../src/session/context/context-items.js";

const place = (id: string, timestamp = "1970-01-01T00:00:01.000Z") => ({ id, parentId: null, timestamp });
const branchSummary = (id: string, timestamp?: string): SessionEntry => ({
  type: "branch_summary",
  ...place(id, timestamp),
  fromId: "root",
  summary: "s",
});
const system: SessionEntry = {
  type: "message",
  ...place("s"),
  message: { role: "system", content: "x", timestamp: 0 },
};
const compaction = {
  type: "compaction",
  ...place("c", "soon"),
  summary: "s",
  firstKeptEntryId: "c",
  tokensBefore: 7,
  systemMessage: { role: "system", content: "y", timestamp: 0 },
} as const;

const nothing: ItemParts = {
  needed: [],
  beforeCompaction: 0,
  retained: new Set(),
  edits: [],
  compaction: undefined,
};
const idsOf = (parts: Partial<ItemParts>) =>
  assembleItems({ ...nothing, ...parts }).map((item) => item.entryId);

describe("assembleItems", () => {
  test("leaves out bodies that could not be read, of messages and of edits", () => {
    expect(idsOf({ needed: [undefined, system, undefined], edits: [undefined] })).toEqual(["s"]);
  });

  test("leaves out what is no message, and entries of the wrong shape", () => {
    const unknown = { type: "unknown", entryType: "message", ...place("u"), raw: "{}" } as const;
    const label = { type: "label", ...place("l"), targetId: "s" } as const;
    expect(idsOf({ needed: [unknown, label, system], edits: [unknown] })).toEqual(["s"]);
  });

  test("drops system messages before a compaction that has one, and not those after it", () => {
    expect(idsOf({ needed: [system, system], beforeCompaction: 1, compaction })).toEqual(["c", "c", "s"]);
  });

  test("takes the time of a message that has none of its own from its entry, and 0 where that is no time", () => {
    const times = assembleItems({
      ...nothing,
      needed: [branchSummary("b"), branchSummary("b", "soon")],
      compaction,
    });
    expect(times.slice(1).map(({ message }) => message.timestamp)).toEqual([0, 1000, 0]);
  });

  test("names what was retained, whatever kind of message it is", () => {
    const items = assembleItems({
      ...nothing,
      needed: [system, branchSummary("b")],
      retained: new Set(["b"]),
    });
    expect(items.map(({ origin }) => origin)).toEqual(["retained", "message"]);
  });
});
