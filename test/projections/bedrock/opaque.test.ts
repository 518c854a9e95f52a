import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { opaqueBlock, opaqueData } from "../../../src/projections/bedrock/reply.js";

const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.uint8Array());
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: "small" }, leaf, fc.array(tie("value")), tie("fields")),
  fields: fc.dictionary(fc.string(), tie("value"), { noNullPrototype: true }),
}));
const kind = fc.constantFrom("citationsContent", "searchResult", "audio", "video", "$unknown");

describe("a block that is kept as it is", () => {
  test("survives the log, bytes and all, in fresh objects", () => {
    fc.assert(
      fc.property(kind, value, (name, of) => {
        const block = { [name]: of };
        const stored = JSON.parse(JSON.stringify(opaqueData(block)));
        expect(stored).toEqual(opaqueData(block));
        expect(opaqueBlock(stored)).toEqual(block);
        if (typeof of === "object" && of !== null) {
          expect(Object.values(opaqueBlock(stored) ?? {})[0]).not.toBe(Object.values(stored)[0]);
        }
      }),
    );
  });

  test.each([
    [{ text: "a" }],
    [{ toolUse: { toolUseId: "1", name: "search", input: {}, type: "server_tool_use" } }],
    [{ audio: {}, video: {} }],
    [{ $base64: "AQI=" }],
    [{}],
    ["text"],
    [null],
  ])("is none of %j", (data) => {
    expect(opaqueBlock(data)).toBeUndefined();
  });
});
