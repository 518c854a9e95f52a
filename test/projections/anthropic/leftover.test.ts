import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { leftoverOf, parseLeftover } from "../../../src/projections/anthropic/types.js";
import { cleanJson } from "../../../src/projections/block-reader.js";
import { jsonValue } from "../../arbitraries/values.js";

const keys = fc.constantFrom("text", "citations", "caller", "cache_control", "type", "a", "__proto__");
const block = fc.uniqueArray(fc.tuple(keys, jsonValue), { selector: ([key]) => key }).map(Object.fromEntries);

describe("leftoverOf and parseLeftover", () => {
  test("what a session has no place for comes back, and nothing else", () => {
    fc.assert(
      fc.property(block, (fields) => {
        const left = Object.entries(fields).filter(
          ([key]) => !["text", "type", "cache_control"].includes(key),
        );
        const expected = Object.entries(cleanJson(Object.fromEntries(left), false) as object);
        const back = parseLeftover(leftoverOf(fields, ["text"]));
        expect(Object.entries(back)).toEqual(expected);
      }),
    );
  });

  test("are nothing where nothing is left over", () => {
    expect(leftoverOf({ type: "text", text: "a", citations: undefined }, ["text"])).toBeUndefined();
    expect(leftoverOf({ type: "text", text: "a", cache_control: {} }, ["text"])).toBeUndefined();
  });

  test.each(["", "a mark of another provider", "{", "[1]", "null", '{"a":1'])(
    "takes %j for no fields",
    (signature) => {
      expect(parseLeftover(signature)).toEqual({});
    },
  );

  test("gives strings that a request can have", () => {
    expect(parseLeftover('{"a":["\\ud83d"]}')).toEqual({ a: ["\ufffd"] });
  });
});
