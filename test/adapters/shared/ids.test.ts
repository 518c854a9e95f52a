import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  canonicalText,
  entryId,
  entryIdParts,
  textDigest,
  valueDigest,
} from "../../../src/frameworks/shared/parcels.js";
import { jsonValue, text } from "../../arbitraries/values.js";

describe("entryId", () => {
  it("keeps its parts, in plain ASCII", () => {
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (parts) => {
        const id = entryId(...parts);
        expect(id).toMatch(/^[\x21-\x7e]*$/);
        expect(id).not.toMatch(/["\\]/);
        expect(entryIdParts(id)).toEqual(parts);
      }),
    );
  });
});

describe("valueDigest", () => {
  it("ignores the order of keys and undefined members", () => {
    expect(valueDigest({ a: 1, b: undefined, c: [{ x: 1, y: 2 }] })).toBe(
      valueDigest({ c: [{ y: 2, x: 1 }], a: 1 }),
    );
  });

  it("tells values apart", () => {
    fc.assert(
      fc.property(jsonValue, jsonValue, (a, b) => {
        const same = canonicalText(a) === canonicalText(b);
        expect(valueDigest(a) === valueDigest(b)).toBe(same);
        if (same) expect(a).toEqual(b);
      }),
    );
    const values = ["AQ==", Uint8Array.of(1), [undefined], [null], { bytes: "AQ==" }];
    expect(new Set(values.map(valueDigest)).size).toBe(values.length);
  });

  it("tells lone surrogates apart", () => {
    expect(textDigest("\ud800")).not.toBe(textDigest("\ud801"));
    expect(textDigest("\ud800")).not.toBe(textDigest("\ufffd"));
  });
});
