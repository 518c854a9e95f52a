import type { NeutralRequest, Part, Target } from "sessile/projections";
import { describe, expect, test } from "vitest";
import { mediaPart } from "../../src/projections/media-part.js";
import { partAt, partWithId, type RequestTrace, traceRequest } from "../../src/projections/trace.js";
import { png } from "../attachments/samples.js";
import { plainTarget } from "./samples.js";

const text = (item: number, block = 0): Part => ({
  type: "text",
  text: "t",
  origin: { entryId: `m${item}`, item, block },
});
const shown = (item: number, block = 0): Part =>
  mediaPart({
    kind: "image",
    mediaType: "image/png",
    bytes: png(),
    origin: { entryId: `m${item}`, item, block },
  });

/** A value whose objects with a `part` are marked with it. */
function marked(value: unknown): RequestTrace {
  const marks = new Map<object, Part>();
  const walk = (at: unknown): void => {
    if (typeof at !== "object" || at === null) return;
    const { part, ...rest } = at as { part?: Part };
    if (part !== undefined) marks.set(at, part);
    Object.values(rest).forEach(walk);
  };
  walk(value);
  return { value, marks };
}

describe("markedValue", () => {
  test("renders once more, with the same cache markers, and hears of no loss", () => {
    const [first, second] = [text(0), text(1)];
    const request: NeutralRequest = {
      system: [],
      turns: [{ role: "user", results: [], parts: [first, second] as never }],
    };
    const target: Target<unknown> = {
      ...plainTarget(),
      render: ({ turns }, tools) => {
        tools.reportLoss(first, { code: "opaque", by: "target", reason: "r" });
        return (turns[0]?.parts ?? []).map((part) => tools.trace({ cached: tools.endsCache(part) }, part));
      },
    };
    const { value, marks } = traceRequest(request, target, new Set([second]));
    expect(value).toEqual([{ cached: false }, { cached: true }]);
    expect([...marks.values()]).toEqual([first, second]);
  });
});

describe("partAt", () => {
  const tree = marked({
    list: [
      {
        part: text(0),
        content: [{ part: text(0, 1), deep: [{ part: shown(0, 2) }] }, { part: shown(0, 3) }],
      },
    ],
  });
  const blockAt = (keys: readonly (string | number)[], wantsMedia: boolean) =>
    partAt(tree, keys, wantsMedia)?.origin.block;

  test("is the deepest on the way, as far as it leads", () => {
    expect(blockAt(["list", 0], false)).toBe(0);
    expect(blockAt(["list", 0, "content", 0], false)).toBe(1);
    expect(blockAt(["list", 0, "content", 0, "deep", 0, "x", "y"], false)).toBe(2);
    expect(blockAt(["list", 0, "content", 9], false)).toBe(0);
    expect(blockAt(["list", 0, "type", "content", 0], false)).toBe(1);
  });

  test("or the newest attachment below, where one is meant", () => {
    expect(blockAt(["list", 0], true)).toBe(3);
    expect(blockAt(["list", 0, "content", 0], true)).toBe(2);
    expect(blockAt(["list", 0, "content", 1], true)).toBe(3);
  });

  test("is none where the way ends before a place", () => {
    for (const keys of [["list"], ["list", 7], ["nothing"], [], ["list", -1]])
      expect(blockAt(keys, true)).toBe(undefined);
  });
});

describe("partWithId", () => {
  const tree = marked([
    { part: text(0), id: "msg_first" },
    { part: text(1), inner: { call_id: "call_first" } },
    { part: text(2), id: "msg_first" },
    { id: "of_nobody" },
    { part: text(3), id: 123456, tool_use_id: "short" },
  ]);

  test("is the last with an id that is named, of what is around it too", () => {
    expect(partWithId(tree, "Duplicate item found with id msg_first.")?.part.origin.item).toBe(2);
    expect(partWithId(tree, "no output for 'call_first'")).toMatchObject({
      id: "call_first",
      part: { origin: { item: 1 } },
    });
  });

  test("is none for parts of words, short words, numbers, and what is nobody's", () => {
    for (const message of ["my_msg_first", "short", "123456", "of_nobody", ""]) {
      expect(partWithId(tree, message)).toBe(undefined);
    }
  });
});
