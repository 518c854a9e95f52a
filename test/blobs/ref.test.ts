import fc from "fast-check";
import { type BlobRef, blobRefsIn, isBlobRef } from "sessile";
import { describe, expect, test } from "vitest";
import { partsByRef, toRef } from "../../src/blobs/internal.js";
import { refArgument } from "../../src/blobs/ref.js";

const hex = fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 64, maxLength: 64 });
const algorithm = fc.constantFrom("sha256", "blake3" as const);
const ref = fc.tuple(algorithm, hex).map(([name, digits]): BlobRef => `${name}:${digits}`);

describe("isBlobRef", () => {
  test("takes an algorithm and 64 digits, and they can be taken apart and put together", () => {
    fc.assert(
      fc.property(ref, (value) => {
        expect(isBlobRef(value)).toBe(true);
        const { algorithm: name, hex: digits } = partsByRef(value);
        expect(toRef(name, digits)).toBe(value);
        expect(refArgument("ref", value)).toBe(value);
      }),
    );
  });

  test("refuses a ref with any character changed into one that is no digit", () => {
    fc.assert(
      fc.property(
        ref,
        fc.nat({ max: 70 }),
        fc.string({ unit: "binary", minLength: 1, maxLength: 2 }),
        (good, at, other) => {
          const value = good.slice(0, at) + other + good.slice(at + 1);
          fc.pre(!/^(sha256|blake3):[0-9a-f]{64}$/.test(value));
          expect(isBlobRef(value)).toBe(false);
          expect(() => refArgument("ref", value)).toThrow(TypeError);
        },
      ),
    );
  });

  test.each([
    ["a line feed behind it", `sha256:${"0".repeat(64)}\n`],
    ["a String object", new String(`sha256:${"0".repeat(64)}`)],
    ["an array of one", [`sha256:${"0".repeat(64)}`]],
    ["upper case", `sha256:${"AB".repeat(32)}`],
    ["a path", "sha256:../../../../../../../../../../../../../../../../../../../../../etc"],
  ])("refuses %s", (_, value) => {
    expect(isBlobRef(value)).toBe(false);
  });
});

describe("refOf", () => {
  test.each([
    ["md5", "0".repeat(64)],
    ["sha256", "0".repeat(63)],
    ["__proto__", "0".repeat(64)],
    ["sha256", `${"0".repeat(64)}.tmp`],
  ])("makes nothing of %s and %s", (name, digits) => {
    expect(toRef(name, digits)).toBeUndefined();
  });
});

describe("blobRefsIn", () => {
  test("finds every ref that stands in JSON, however deep", () => {
    fc.assert(
      fc.property(fc.array(ref), fc.jsonValue(), (refs, other) => {
        const text = JSON.stringify([
          { deep: [refs.map((blob) => ({ blob, note: `see ${blob}.` }))] },
          other,
        ]);
        expect(blobRefsIn(text)).toEqual(new Set(refs));
      }),
    );
  });

  test("finds a ref behind whatever JSON makes an escape of", () => {
    fc.assert(
      fc.property(ref, fc.string({ unit: "binary" }), (blob, before) => {
        expect(blobRefsIn(JSON.stringify({ text: before + blob }))).toContain(blob);
      }),
    );
    const blob = `sha256:${"0".repeat(64)}` as const;
    for (const before of ["\n", "\t", "\r", "\b", "\f", "\u0001", "\ud800", "x"]) {
      expect([...blobRefsIn(JSON.stringify({ text: `see:${before}${blob}` }))]).toEqual([blob]);
    }
  });

  test("takes nothing that goes on, or is cut, for a ref", () => {
    const good = `sha256:${"a".repeat(64)}`;
    for (const text of ["", `${good}a`, `${good}Z`, good.slice(1), `sha256: ${"a".repeat(64)}`]) {
      expect(blobRefsIn(text).size).toBe(0);
    }
  });
});
