import type { NeutralRequest, Part, Target } from "sessile";
import { describe, expect, test } from "vitest";
import { partWithId, placeAt, type RequestTrace, traceRequest } from "../../src/providers/explain.js";
import { mediaPart } from "../../src/providers/media-part.js";
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

describe("placeAt", () => {
  const tree = marked({
    list: [
      {
        part: text(0),
        role: "user",
        content: [
          { part: text(0, 1), deep: [{ part: shown(0, 2) }] },
          { part: shown(0, 3), type: "document", fileData: {} },
        ],
      },
    ],
  });
  const blockAt = (...keys: (string | number)[]) => placeAt(tree, keys)?.part?.origin.block;
  const below = (...keys: (string | number)[]) =>
    placeAt(tree, keys)
      ?.below.map(({ origin }) => origin.block)
      .toSorted();

  test("has the deepest part on the way, and what is below", () => {
    expect([blockAt("list", 0), below("list", 0)]).toEqual([0, [0, 1, 2, 3]]);
    expect([blockAt("list", 0, "content", 0), below("list", 0, "content", 0)]).toEqual([1, [1, 2]]);
    expect([blockAt("list", 0, "content"), below("list", 0, "content")]).toEqual([0, [1, 2, 3]]);
    expect(placeAt(tree, ["list", 0, "content", 0, "deep", 0])).toMatchObject({ isBlock: true, members: [] });
    expect(placeAt(tree, ["list", 0, "content", 0])).toMatchObject({ isBlock: false });
  });

  test("goes by types and roles, and by camel case", () => {
    expect(blockAt("list", 0, "user", "content", 1)).toBe(3);
    expect(placeAt(tree, ["list", 0, "content", 1, "pdf", "file_data", "x"])).toMatchObject({
      members: ["pdf", "file_data", "x"],
      isBlock: true,
    });
    expect(placeAt(tree, ["list", 0, "content", 1, "file_data", "x", "y"])?.part?.origin.block).toBe(3);
  });

  test.each([
    [["list"]],
    [["list", 7]],
    [["nothing"]],
    [[]],
    [["list", -1]],
    [["list", 0, "content", 9]],
    [["list", 0, "image", "content", 0]],
    [["list", 0, "content", 1, "image_url"]],
    [["list", 0, "content", "0x"]],
  ])("is none if the way is not one of this value: %j", (keys) => {
    expect(placeAt(tree, keys)).toBe(undefined);
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
    expect(partWithId(tree, ["Duplicate item found with id msg_first."])?.part.origin.item).toBe(2);
    expect(partWithId(tree, ["no output for 'call_first'"])).toMatchObject({
      id: "call_first",
      part: { origin: { item: 1 } },
    });
  });

  test("is none for parts of words, short words, numbers, and what is nobody's", () => {
    for (const message of ["my_msg_first", "short", "123456", "of_nobody", ""]) {
      expect(partWithId(tree, [message])).toBe(undefined);
    }
  });
});
