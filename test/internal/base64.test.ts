import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  base64Bytes,
  base64BytesAtMost,
  decodeBase64,
  decodePortably,
  padBase64,
} from "../../src/internal/base64.js";

const encode = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

/** Text around base64: whole, with one place changed, cut off, or anything; some of it longer than what is decoded at once. */
const nearlyBase64 = fc
  .tuple(
    fc.oneof(
      { weight: 9, arbitrary: fc.uint8Array({ maxLength: 60 }) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(fc.nat({ max: 255 }), fc.integer({ min: 24_570, max: 24_582 }))
          .map(([byte, length]) => new Uint8Array(length).fill(byte)),
      },
    ),
    fc.nat(),
    fc.constantFrom(
      "",
      "A",
      "B",
      "=",
      "==",
      "-",
      "_",
      " ",
      "\n",
      "\t",
      "\0",
      "é",
      "Ł",
      "ŁAAA",
      "\ud83d",
      "    ",
      "====",
    ),
    fc.constantFrom("keep", "insert", "replace", "cut"),
  )
  .map(([bytes, at, change, how]) => {
    const text = encode(bytes);
    const place = at % (text.length + 1);
    const [before, after] = [text.slice(0, place), text.slice(place)];
    if (how === "keep") return text;
    if (how === "cut") return before;
    return before + change + (how === "insert" ? after : after.slice(change.length));
  });

/** A decoder of an engine, as the proposal has it: it passes over white space. */
function fromBase64(text: string, options: object): Uint8Array {
  expect(options).toEqual({ alphabet: "base64", lastChunkHandling: "strict" });
  const bytes = decodePortably(text.replace(/[\t\n\f\r ]/g, ""));
  if (bytes === undefined) throw new SyntaxError("no base64");
  return bytes;
}

const engines = Uint8Array as { fromBase64?: unknown };
const own = engines.fromBase64;

afterEach(() => {
  vi.unstubAllGlobals();
  if (own === undefined) Reflect.deleteProperty(engines, "fromBase64");
  else engines.fromBase64 = own;
});

const hex = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString("hex");

describe("every way to decode", () => {
  const agrees = () => {
    let decoded = 0;
    let refused = 0;
    fc.assert(
      fc.property(nearlyBase64, (text) => {
        const bytes = decodePortably(text);
        if (bytes === undefined) refused++;
        else decoded++;
        expect(hex(decodeBase64(text))).toBe(hex(bytes));
      }),
      { numRuns: 2000 },
    );
    expect(Math.min(decoded, refused)).toBeGreaterThan(300);
  };

  test("agrees with the portable one: Buffer, where there is nothing newer", () => {
    Reflect.deleteProperty(engines, "fromBase64");
    agrees();
  });

  test("agrees with the portable one: one as the proposal has it", () => {
    engines.fromBase64 = fromBase64;
    agrees();
  });

  test.skipIf(own === undefined)("agrees with the portable one: this engine's own (Node 25 has one)", agrees);

  test("is tried: the engine's own, then Buffer, then none", () => {
    engines.fromBase64 = () => Uint8Array.of(7, 7, 7);
    expect(decodeBase64("AAAA")).toEqual(Uint8Array.of(7, 7, 7));
    Reflect.deleteProperty(engines, "fromBase64");
    const spy = vi.spyOn(Buffer.prototype, "write");
    expect(decodeBase64("AAAA")).toEqual(Uint8Array.of(0, 0, 0));
    expect(spy).toHaveBeenCalledOnce();
    vi.stubGlobal("Buffer", undefined);
    expect(decodeBase64("AAAA")).toEqual(Uint8Array.of(0, 0, 0));
    expect(spy).toHaveBeenCalledOnce();
    spy.mockRestore();
  });

  test.each([1, 2, 3])("knows padding that is not at the end, wherever %i pieces of text meet", (pieces) => {
    const length = pieces * 2 ** 15;
    for (const at of [length - 8, length - 4, length]) {
      for (const padded of ["AA==", "AAA="]) {
        const text = "AAAA".repeat(at / 4 - 1) + padded + "AAAA".repeat(5);
        expect(decodePortably(text)).toBeUndefined();
        expect(decodeBase64(text)).toBeUndefined();
      }
    }
    expect(decodeBase64("AAAA".repeat(length / 4 + 5))).toHaveLength((length / 4 + 5) * 3);
  });

  test("throws what is no fault of the text", () => {
    const fault = new RangeError("out of memory");
    engines.fromBase64 = () => {
      throw fault;
    };
    expect(() => decodeBase64("AAAA")).toThrow(fault);
  });

  test("gives a plain array of bytes, of a buffer that is its own", () => {
    const bytes = decodeBase64("AAECAw==");
    expect(bytes?.constructor).toBe(Uint8Array);
    expect(bytes?.buffer.byteLength).toBe(4);
  });
});

describe("padBase64", () => {
  test("makes of base64 without padding what it was with it", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 50 }), (bytes) => {
        const text = encode(bytes);
        expect(padBase64(text.replace(/=+$/, ""))).toBe(text);
        expect(padBase64(text)).toBe(text);
      }),
    );
  });

  test.each(["A", "AAAAA", "A=", "AA=", "AAA==", "AA===", "AB", "AAB", "A A"])(
    "makes no base64 of %j",
    (text) => {
      expect(decodeBase64(padBase64(text))).toBeUndefined();
    },
  );
});

describe("base64BytesAtMost", () => {
  test("is the size of what is base64, and a bound for what is none", () => {
    fc.assert(
      fc.property(nearlyBase64, (text) => {
        const bytes = decodeBase64(padBase64(text));
        if (bytes !== undefined) expect(base64BytesAtMost(text)).toBe(bytes.length);
        expect(Buffer.from(text, "base64").length).toBeLessThanOrEqual(base64BytesAtMost(text));
      }),
    );
  });

  test.each([
    ["", 0],
    ["=", 0],
    ["==", 0],
    ["A", 0],
    ["AA", 1],
    ["AA=", 1],
    ["AA==", 1],
    ["AAA=", 2],
    ["AAAA", 3],
    ["=".repeat(12), 7],
  ])("of %j is %i", (text, bytes) => {
    expect(base64BytesAtMost(text)).toBe(bytes);
  });
});

describe.each([
  ["decodeBase64", decodeBase64],
  ["decodePortably", decodePortably],
])("%s", (_, decodeBase64) => {
  test("gives back what Buffer encodes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(decodeBase64(encode(bytes))).toEqual(bytes);
        expect(base64Bytes(encode(bytes))).toBe(bytes.length);
      }),
    );
  });

  test("takes one spelling of each value, and no other text", () => {
    const digit = fc.constantFrom(..."AQgwZ09+/=_- \n%é\ud83d");
    fc.assert(
      fc.property(fc.string({ unit: digit, maxLength: 12 }), (text) => {
        const bytes = decodeBase64(text);
        if (bytes !== undefined) expect(encode(bytes)).toBe(text);
        else expect(encode(Buffer.from(text, "base64"))).not.toBe(text);
      }),
      { numRuns: 2000 },
    );
  });

  // The test vectors of RFC 4648 section 10.
  test.each([
    ["", ""],
    ["Zg==", "f"],
    ["Zm8=", "fo"],
    ["Zm9v", "foo"],
    ["Zm9vYg==", "foob"],
    ["Zm9vYmE=", "fooba"],
    ["Zm9vYmFy", "foobar"],
  ])("%j is %j", (text, expected) => {
    expect(Buffer.from(decodeBase64(text) ?? "none").toString()).toBe(expected);
  });

  test.each([
    "Zg",
    "Zg=",
    "Zh==",
    "Zm9=",
    "Zm 9v",
    "Zm9v\n",
    "====",
    "=",
    "Z===",
    "Zg==Zg==",
    "-_-_",
    "Zm9v=",
  ])("refuses %j", (text) => {
    expect(decodeBase64(text)).toBeUndefined();
  });
});
