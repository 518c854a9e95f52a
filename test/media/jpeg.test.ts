import { describe, expect, it, test } from "vitest";
import { isJpeg, readJpeg } from "../../src/content/media/sniff.js";
import { maxParts } from "../../src/content/media/types.js";
import { countedBytes } from "../support/counted-bytes.js";
import { be32, bytesOf, jpeg, jpegExif, jpegSegment, type Part, sof, tiff } from "../support/media-files.js";

const size = { width: 640, height: 480 };
const photo = { kind: "image", mediaType: "image/jpeg", ...size, animated: false };
const invalid = (reason: string) => ({ kind: "invalid", mediaType: "image/jpeg", reason });
/** What would be taken for a frame header of another size. */
const decoy = [8, 0, 1, 0, 1, 3];

describe("readJpeg", () => {
  test.each([
    ["baseline", 0xc0, 3],
    ["progressive", 0xc2, 3],
    ["progressive, of four colors", 0xc2, 4],
    ["baseline, of four colors", 0xc0, 4],
    ["grey", 0xc1, 1],
    ["lossless", 0xc3, 3],
    ["arithmetic", 0xc9, 3],
    ["hierarchical", 0xcf, 3],
  ])("reads a frame header that is %s", (_, marker, components) => {
    expect(readJpeg(jpeg(sof(size, marker, components)))).toEqual(photo);
  });

  test.each([0xc4, 0xc8, 0xcc])("takes %i for no frame header", (marker) => {
    expect(readJpeg(jpeg(jpegSegment(marker, decoy), sof(size)))).toEqual(photo);
  });

  test.each<[string, Part]>([
    ["fill before a marker", new Uint8Array(1000).fill(0xff)],
    ["markers without a length", [0xff, 0x01, 0xff, 0xd0, 0xff, 0xd7, 0xff, 0xd8]],
    ["bytes that belong to no segment", [0, 0, 0x80, 0xff, 0, 0xff, 0, 0]],
    ["a segment without data", jpegSegment(0xfe)],
    ["a frame header inside a segment", jpegSegment(0xe0, sof({ width: 1, height: 1 }))],
    [
      "350 kB of segments",
      bytesOf(...Array.from({ length: 6 }, () => jpegSegment(0xe2, new Uint8Array(60_000)))),
    ],
  ])("finds the frame header behind %s", (_, part) => {
    expect(readJpeg(jpeg(part, sof(size)))).toEqual(photo);
  });

  test.each<[string, Uint8Array, string]>([
    ["a width of 0", jpeg(sof({ width: 0, height: 480 })), "zero-size"],
    ["a height that comes only after the scan", jpeg(sof({ width: 640, height: 0 })), "zero-size"],
    ["a scan before the frame header", jpeg(jpegSegment(0xda, [1, 1, 0, 0, 63, 0]), sof(size)), "malformed"],
    ["an end before the frame header", bytesOf([0xff, 0xd8, 0xff, 0xd9], sof(size)), "malformed"],
    ["a segment shorter than its length", bytesOf([0xff, 0xd8, 0xff, 0xe0, 0, 1], sof(size)), "malformed"],
    ["a frame header without room for a size", jpeg(jpegSegment(0xc0, [8, 0, 1, 0, 1])), "malformed"],
    ["the first three bytes", Uint8Array.of(0xff, 0xd8, 0xff), "truncated"],
    ["a marker alone", Uint8Array.of(0xff, 0xd8, 0xff, 0xe0), "truncated"],
    ["half a length", Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 0), "truncated"],
    ["a segment past the end", bytesOf([0xff, 0xd8, 0xff, 0xe0, 0xff, 0xff], sof(size)), "truncated"],
    ["half a frame header", jpeg(sof(size)).subarray(0, 10), "truncated"],
  ])("refuses %s", (_, bytes, reason) => {
    expect(readJpeg(bytes)).toEqual(invalid(reason));
  });

  it("needs every byte up to its end, and none behind it", () => {
    const whole = jpeg(sof(size), jpegSegment(0xc4, [1, 2, 3]));
    for (let end = 3; end < whole.length; end++) {
      expect(readJpeg(whole.subarray(0, end))).toEqual(invalid("truncated"));
    }
    expect(readJpeg(bytesOf(whole, "a tail", whole.subarray(0, 40)))).toEqual(photo);
  });

  const scan = (...data: readonly number[]) => bytesOf(jpegSegment(0xda, [1, 1, 0, 0, 63, 0]), data);

  test.each<[string, Part]>([
    ["escaped bytes and restart markers", scan(0xff, 0, 0xff, 0xd0, 1, 0xff, 0xd7, 2)],
    ["fill before the end", scan(1, 0xff, 0xff, 0xff)],
    [
      "several scans with tables between them",
      bytesOf(scan(1, 2), jpegSegment(0xc4, [1, 0xff, 0xd9]), scan(3)),
    ],
    [
      "a second frame header, whose size does not count",
      bytesOf(scan(1), sof({ width: 1, height: 1 }), scan(3)),
    ],
  ])("reads to the end over %s", (_, part) => {
    expect(readJpeg(jpeg(sof(size), part))).toEqual(photo);
    expect(readJpeg(bytesOf([0xff, 0xd8], sof(size), part))).toEqual(invalid("truncated"));
  });

  it("refuses an end without a scan", () => {
    expect(readJpeg(bytesOf([0xff, 0xd8], sof(size), [0xff, 0xd9]))).toEqual(invalid("malformed"));
  });

  test.each<[string, Uint8Array, object]>([
    ["the first EXIF", jpeg(jpegExif(tiff(6)), jpegExif(tiff(3)), sof(size)), { orientation: 6 }],
    [
      "EXIF behind XMP",
      jpeg(jpegSegment(0xe1, "http://ns.adobe.com/xap/1.0/\0"), jpegExif(tiff(8)), sof(size)),
      { orientation: 8 },
    ],
    ["no EXIF without its prefix", jpeg(jpegSegment(0xe1, tiff(6)), sof(size)), {}],
    ["no EXIF in another segment", jpeg(jpegSegment(0xe2, bytesOf("Exif\0\0", tiff(6))), sof(size)), {}],
    ["no EXIF behind the frame header", jpeg(sof(size), jpegExif(tiff(6))), {}],
    [
      "no directory behind its segment",
      jpeg(
        jpegSegment(0xe1, bytesOf("Exif\0\0", tiff(6).subarray(0, 4), be32(12))),
        jpegSegment(0xe2, tiff(6).subarray(8)),
        sof(size),
      ),
      {},
    ],
  ])("reads %s", (_, bytes, extras) => {
    expect(readJpeg(bytes)).toEqual({ ...photo, ...extras });
  });

  it("goes through a bounded number of segments", () => {
    const segments = (count: number) =>
      jpeg(...Array.from({ length: count }, () => jpegSegment(0xfe)), sof(size));
    expect(readJpeg(segments(maxParts - 3))).toEqual(photo);
    expect(readJpeg(segments(maxParts))).toEqual(invalid("too-many-parts"));
    const { bytes, reads } = countedBytes(segments(3 * maxParts));
    expect(readJpeg(bytes)).toEqual(invalid("too-many-parts"));
    expect(reads()).toBeLessThan(12 * maxParts);
  });

  test.each([
    ["fill", [0xff]],
    ["zeros", [0]],
    ["fill and zeros", [0xff, 0]],
  ])("reads each byte of 100,000 of %s a few times", (_, repeated) => {
    const noise = bytesOf(...Array.from({ length: 100_000 / repeated.length }, () => repeated));
    const { bytes, reads } = countedBytes(bytesOf([0xff, 0xd8], noise));
    expect(readJpeg(bytes)).toEqual(invalid("truncated"));
    expect(reads()).toBeLessThan(4 * bytes.length);
  });

  it("does not look into segments", () => {
    const { bytes, reads } = countedBytes(jpeg(jpegSegment(0xe2, new Uint8Array(60_000)), sof(size)));
    expect(readJpeg(bytes)).toEqual(photo);
    expect(reads()).toBeLessThan(100);
  });
});

describe("isJpeg", () => {
  const start = Uint8Array.of(0xff, 0xd8, 0xff);

  test.each([0, 1, 2])("wants byte %i of the start", (at) => {
    expect(isJpeg(start)).toBe(true);
    expect(isJpeg(start.with(at, 0x20))).toBe(false);
    expect(isJpeg(start.subarray(0, at))).toBe(false);
  });
});
