import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { exifOrientation, hasExifPrefix } from "../../src/content/media/sniff.js";
import { damage, damaged } from "../arbitraries/bytes.js";
import { countedBytes } from "../support/counted-bytes.js";
import { be16, bytesOf, exifPrefix, tiff } from "../support/media-files.js";

const read = (bytes: Uint8Array) => exifOrientation(bytes, 0, bytes.length);

describe("exifOrientation", () => {
  it("reads what was written, in either order of bytes, with the prefix or without, wherever it lies", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.constantFrom("II" as const, "MM" as const),
        fc.nat({ max: 100 }),
        fc.boolean(),
        fc.uint8Array({ maxLength: 9 }),
        (orientation, order, before, prefixed, noise) => {
          const exif = bytesOf(prefixed ? exifPrefix : [], tiff(orientation, order, before));
          const bytes = bytesOf(noise, exif, noise);
          expect(exifOrientation(bytes, noise.length, noise.length + exif.length)).toBe(orientation);
        },
      ),
    );
  });

  it("does not look past the end that it is given", () => {
    fc.assert(
      fc.property(fc.nat({ max: 21 }), (end) => {
        expect(exifOrientation(tiff(6), 0, end)).toBeUndefined();
      }),
    );
    expect(exifOrientation(tiff(6), 0, 22)).toBe(6);
  });

  test.each([0, 9, 65535])("takes %i for none", (value) => {
    expect(read(tiff(value))).toBeUndefined();
  });

  test.each<[string, number, number]>([
    ["another order of bytes", 0, 0x4b],
    ["half an order of bytes", 1, 0x49],
    ["43 for 42, as in BigTIFF", 3, 43],
    ["another number than 42", 2, 1],
    ["another tag", 11, 0x13],
    ["another type", 13, 4],
    ["two values", 17, 2],
    ["a directory past the end", 7, 200],
  ])("finds none with %s", (_, at, byte) => {
    expect(read(tiff(6).with(at, byte))).toBeUndefined();
  });

  it("finds the entry where entries are in no order", () => {
    expect(read(tiff(7, "II", 40))).toBe(7);
  });

  it("does not throw on damage, and gives an orientation or none", () => {
    fc.assert(
      fc.property(damage, fc.nat({ max: 20 }), (changes, before) => {
        expect([undefined, 1, 2, 3, 4, 5, 6, 7, 8]).toContain(read(damaged(tiff(6, "II", before), changes)));
      }),
    );
  });

  it("goes through a bounded number of entries", () => {
    const many = bytesOf("MM", be16(42), [0, 0, 0, 8], be16(0xffff), new Uint8Array(12 * 0xffff));
    const { bytes, reads } = countedBytes(many);
    expect(read(bytes)).toBeUndefined();
    expect(reads()).toBeLessThan(3 * 4096);
  });
});

describe("hasExifPrefix", () => {
  test.each([0, 1, 2, 3, 4, 5])("wants byte %i of it", (at) => {
    expect(hasExifPrefix(exifPrefix, 0)).toBe(true);
    expect(hasExifPrefix(exifPrefix.with(at, 0x20), 0)).toBe(false);
    expect(hasExifPrefix(exifPrefix.subarray(0, at), 0)).toBe(false);
  });
});
