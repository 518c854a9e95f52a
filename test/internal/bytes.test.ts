import * as zlib from "node:zlib";
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  base64Bytes,
  base64BytesAtMost,
  base64Pieces,
  decodeBase64,
  decodePortably,
  encodeBase64,
  encodePortably,
  padBase64,
} from "../../src/core/base64.js";
import { concatBytes, crc32, crc32Hex, decodeUtf8, encodeUtf8, hex8, toHex } from "../../src/core/bytes.js";
import { IntColumn, NumberColumn } from "../../src/sync/indexed-log.js";
import { text } from "../arbitraries/values.js";

describe("bytes", () => {
  const bytes = fc.uint8Array({ maxLength: 24 });

  describe("encodeUtf8 and decodeUtf8", () => {
    test("are inverse for well-formed text, a byte order mark included", () => {
      fc.assert(
        fc.property(text, (text) => {
          expect(decodeUtf8(encodeUtf8(text))).toBe(text.toWellFormed());
        }),
      );
      expect(decodeUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61))).toBe("\ufeffa");
    });

    test("say no to bytes that are not UTF-8, and never replace", () => {
      fc.assert(
        fc.property(bytes, (bytes) => {
          const decoded = decodeUtf8(bytes);
          const isUtf8 = Buffer.from(Buffer.from(bytes).toString("utf8"), "utf8").equals(bytes);
          expect(decoded !== undefined).toBe(isUtf8);
          if (decoded !== undefined) expect(encodeUtf8(decoded)).toEqual(bytes);
        }),
      );
    });

    test.each([
      ["FF", [0xff]],
      ["a surrogate", [0xed, 0xa0, 0xbd]],
      ["an overlong slash", [0xc0, 0xaf]],
      ["past U+10FFFF", [0xf4, 0x90, 0x80, 0x80]],
      ["half a character", [0xe2, 0x82]],
    ])("refuse %s", (_, bytes) => {
      expect(decodeUtf8(Uint8Array.from(bytes))).toBeUndefined();
    });
  });

  describe("concatBytes", () => {
    test("joins, into bytes of its own", () => {
      fc.assert(
        fc.property(fc.array(bytes, { maxLength: 5 }), (parts) => {
          const joined = concatBytes(parts);
          expect(Array.from(joined)).toEqual(parts.flatMap((part) => Array.from(part)));
          expect(parts.some((part) => part.buffer === joined.buffer)).toBe(false);
        }),
      );
    });

    test("takes the length where it is known", () => {
      expect(concatBytes([Uint8Array.of(1), Uint8Array.of(2)], 2)).toEqual(Uint8Array.of(1, 2));
    });
  });

  describe("toHex", () => {
    test("gives two lower-case digits a byte", () => {
      fc.assert(
        fc.property(bytes, (bytes) => {
          expect(toHex(bytes)).toBe(Buffer.from(bytes).toString("hex"));
        }),
      );
    });
  });
});

describe("hexadecimal", () => {
  test("gives the eight digits of any number of 32 bits", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (value) => {
        expect(hex8(value)).toBe(value.toString(16).padStart(8, "0"));
      }),
    );
  });
});

describe("CRC-32", () => {
  // Node has it since 20.15; where it has not, the check value of the standard below stands alone.
  const reference: ((bytes: Uint8Array) => number) | undefined = zlib.crc32;

  describe("crc32", () => {
    test.skipIf(reference === undefined)("agrees with zlib, for all bytes and all ranges", () => {
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(), fc.nat(), (bytes, a, b) => {
          const start = a % (bytes.length + 1);
          const end = start + (b % (bytes.length - start + 1));
          expect(crc32(bytes, start, end)).toBe(reference?.(bytes.subarray(start, end)));
          expect(crc32(bytes)).toBe(reference?.(bytes));
        }),
      );
    });

    test("gives the check value of CRC-32/ISO-HDLC", () => {
      const digits = new TextEncoder().encode("123456789");
      expect(crc32(digits)).toBe(0xcbf43926);
      expect(crc32Hex(digits)).toBe("cbf43926");
    });

    test("prints eight digits, leading zeros too", () => {
      expect(crc32Hex(new Uint8Array())).toBe("00000000");
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 20 }), (bytes) => {
          expect(crc32Hex(bytes)).toMatch(/^[0-9a-f]{8}$/);
          expect(Number.parseInt(crc32Hex(bytes), 16)).toBe(crc32(bytes));
        }),
      );
    });
  });
});

describe("decoding base64", () => {
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

    test.skipIf(own === undefined)(
      "agrees with the portable one: this engine's own (Node 25 has one)",
      agrees,
    );

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

    test.each([1, 2, 3])(
      "knows padding that is not at the end, wherever %i pieces of text meet",
      (pieces) => {
        const length = pieces * 2 ** 15;
        for (const at of [length - 8, length - 4, length]) {
          for (const padded of ["AA==", "AAA="]) {
            const text = "AAAA".repeat(at / 4 - 1) + padded + "AAAA".repeat(5);
            expect(decodePortably(text)).toBeUndefined();
            expect(decodeBase64(text)).toBeUndefined();
          }
        }
        expect(decodeBase64("AAAA".repeat(length / 4 + 5))).toHaveLength((length / 4 + 5) * 3);
      },
    );

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
});

describe("encoding base64", () => {
  const byNode = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

  /** Bytes that are a view of a part of a larger buffer. */
  const views = fc
    .tuple(fc.uint8Array({ maxLength: 200 }), fc.nat({ max: 5 }), fc.nat({ max: 5 }))
    .map(([bytes, before, after]) => {
      const buffer = new Uint8Array(before + bytes.length + after).fill(255);
      buffer.set(bytes, before);
      return buffer.subarray(before, before + bytes.length);
    });

  afterEach(() => vi.unstubAllGlobals());

  describe.each([
    ["encodeBase64", encodeBase64],
    ["encodePortably", encodePortably],
  ])("%s", (_, encode) => {
    test("gives what Buffer gives, of a part of a buffer too", () => {
      fc.assert(
        fc.property(views, (bytes) => {
          expect(encode(bytes)).toBe(byNode(bytes));
        }),
      );
    });

    test("is read back as the same bytes", () => {
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
          expect(decodeBase64(encode(bytes))).toEqual(bytes);
        }),
      );
    });

    // The test vectors of RFC 4648 section 10.
    test.each([
      ["", ""],
      ["f", "Zg=="],
      ["fo", "Zm8="],
      ["foo", "Zm9v"],
      ["foob", "Zm9vYg=="],
      ["fooba", "Zm9vYmE="],
      ["foobar", "Zm9vYmFy"],
    ])("%j is %j", (text, expected) => {
      expect(encode(new TextEncoder().encode(text))).toBe(expected);
    });

    test("takes a Buffer, and a megabyte of every byte", () => {
      const bytes = Buffer.from(Uint8Array.from({ length: 2 ** 20 }, (_, at) => at * 7));
      expect(encode(bytes) === byNode(bytes)).toBe(true);
    });
  });

  describe("encodeBase64 where there is no Buffer", () => {
    test("does without", () => {
      vi.stubGlobal("Buffer", undefined);
      expect(encodeBase64(Uint8Array.of(0xfb, 0xef, 0xff, 0))).toBe("++//AA==");
    });

    test("takes the engine's own encoder", () => {
      const bytes = Object.assign(Uint8Array.of(1), { toBase64: () => "the engine's" });
      expect(encodeBase64(bytes)).toBe("the engine's");
    });
  });

  describe("base64Pieces", () => {
    const joined = (bytes: Uint8Array) => Buffer.concat([...base64Pieces(bytes)]).toString("latin1");

    test.each([true, false])("joined, are the base64, with Buffer: %s", (withBuffer) => {
      if (!withBuffer) vi.stubGlobal("Buffer", undefined);
      const made = (length: number) => Uint8Array.from({ length }, (_, at) => (at * 31) % 251);
      const pieces = [0, 1, 3, 24_575, 24_577, 786_431, 786_432, 786_433, 1_600_000].map((length) => [
        ...base64Pieces(made(length)),
      ]);
      vi.unstubAllGlobals();
      for (const [index, length] of [
        0, 1, 3, 24_575, 24_577, 786_431, 786_432, 786_433, 1_600_000,
      ].entries()) {
        expect(Buffer.concat(pieces[index] ?? []).toString("latin1") === byNode(made(length))).toBe(true);
      }
    });

    test("are of any bytes, of a part of a buffer too", () => {
      fc.assert(
        fc.property(views, (bytes) => {
          expect(joined(bytes)).toBe(byNode(bytes));
        }),
      );
    });
  });
});

describe("columns", () => {
  interface Column {
    push(value: number): void;
    at(row: number): number;
    set(row: number, value: number): void;
  }

  /** Pushes and overwrites, against an array that has the same done to it. */
  function check(
    column: Column,
    values: readonly number[],
    overwrites: readonly (readonly [number, number])[],
  ): number[] {
    const model: number[] = [];
    for (const value of values) {
      column.push(value);
      model.push(value);
    }
    for (const [at, value] of overwrites) {
      if (model.length === 0) break;
      column.set(at % model.length, value);
      model[at % model.length] = value;
    }
    expect(model.map((_, row) => column.at(row))).toEqual(model);
    return model;
  }

  const capacity = fc.integer({ min: 1, max: 5 });
  const sequences = (value: fc.Arbitrary<number>) =>
    [fc.array(value, { maxLength: 30 }), fc.array(fc.tuple(fc.nat(), value), { maxLength: 5 })] as const;

  describe("IntColumn", () => {
    test("keeps what was put in, however often it grew", () => {
      fc.assert(
        fc.property(capacity, ...sequences(fc.integer()), (capacity, values, overwrites) => {
          const column = new IntColumn(capacity);
          const model = check(column, values, overwrites);
          expect(column.length).toBe(values.length);
          expect(Array.from(column.copy())).toEqual(model);
        }),
      );
    });

    test("copies: a change of either does not reach the other", () => {
      const column = new IntColumn(4);
      column.push(1);
      const copy = column.copy();
      copy[0] = 2;
      expect(column.at(0)).toBe(1);
      column.set(0, 3);
      expect(copy[0]).toBe(2);
    });

    test("fills the rows that are there, and no others", () => {
      const column = new IntColumn(4);
      for (const value of [1, 2]) column.push(value);
      column.fill(-1);
      column.push(7);
      expect(Array.from(column.copy())).toEqual([-1, -1, 7]);
    });
  });

  describe("NumberColumn", () => {
    test("keeps doubles, however often it grew", () => {
      const value = fc.double({ noNaN: true });
      fc.assert(
        fc.property(capacity, ...sequences(value), (capacity, values, overwrites) => {
          check(new NumberColumn(capacity), values, overwrites);
        }),
      );
    });
  });
});
