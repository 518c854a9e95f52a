import * as zlib from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { crc32, crc32Hex } from "../../src/internal/crc32.js";

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
