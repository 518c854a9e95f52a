import { describe, expect, it, test } from "vitest";
import { isWebp, readWebp } from "../../src/content/media/sniff.js";
import { maxParts } from "../../src/content/media/types.js";
import { countedBytes } from "../support/counted-bytes.js";
import {
  bytesOf,
  exifPrefix,
  le32,
  type Part,
  tiff,
  vp8,
  vp8l,
  vp8x,
  webp,
  webpAnimated,
  webpChunk,
  webpExif,
} from "../support/media-files.js";

const size = { width: 640, height: 480 };
const still = { kind: "image", mediaType: "image/webp", ...size, animated: false };
const invalid = (reason: string) => ({ kind: "invalid", mediaType: "image/webp", reason });
const frame = webpChunk("ANMF", new Uint8Array(16));
const frames = (count: number) => Array.from({ length: count }, () => frame);
const exif = (data: Part) => webpChunk("EXIF", data);

describe("readWebp", () => {
  test.each<[string, Uint8Array, object]>([
    ["lossy", webp(vp8(size)), still],
    ["lossy, to be scaled", webp(vp8(size, 3)), still],
    ["lossless", webp(vp8l(size)), still],
    ["lossless with alpha", webp(vp8l(size, 1)), still],
    ["extended", webp(vp8x(size), vp8({ width: 1, height: 1 })), still],
    [
      "extended, longer than today",
      webp(webpChunk("VP8X", bytesOf(vp8x(size).subarray(8), [0, 0, 0])), vp8(size)),
      still,
    ],
    [
      "animated",
      webp(vp8x(size, webpAnimated), webpChunk("ANIM", new Uint8Array(6)), ...frames(3)),
      { ...still, animated: true, frames: 3 },
    ],
    ["animated without a frame", webp(vp8x(size, webpAnimated), vp8(size)), { ...still, animated: true }],
    [
      "rotated behind an extended chunk longer than today, of odd length",
      webp(webpChunk("VP8X", bytesOf(vp8x(size, webpExif).subarray(8), [0, 0, 0])), vp8(size), exif(tiff(6))),
      { ...still, orientation: 6 },
    ],
    [
      "not animated though rotated",
      webp(vp8x(size, webpExif), ...frames(3), exif(tiff(6))),
      { ...still, orientation: 6 },
    ],
    ["not animated, by its flag", webp(vp8x(size), ...frames(3)), still],
    ["rotated", webp(vp8x(size, webpExif), vp8(size), exif(tiff(6))), { ...still, orientation: 6 }],
    [
      "rotated, with the prefix of JPEG",
      webp(vp8x(size, webpExif), vp8(size), exif(bytesOf(exifPrefix, tiff(5, "II")))),
      { ...still, orientation: 5 },
    ],
    [
      "rotated behind a chunk of odd length",
      webp(vp8x(size, webpExif), webpChunk("ICCP", [1]), vp8(size), exif(tiff(6))),
      { ...still, orientation: 6 },
    ],
    ["not rotated, by its flag", webp(vp8x(size), vp8(size), exif(tiff(6))), still],
    [
      "not rotated by what is behind its EXIF",
      webp(
        vp8x(size, webpExif),
        vp8(size),
        exif(bytesOf(tiff(6, "II").subarray(0, 4), le32(16))),
        webpChunk("XMP ", tiff(6, "II").subarray(8)),
      ),
      still,
    ],
    [
      "not rotated by a frame's data",
      webp(vp8x(size, webpExif), vp8(size), webpChunk("XMP ", exif(tiff(6)))),
      still,
    ],
  ])("reads one that is %s", (_, bytes, expected) => {
    expect(readWebp(bytes)).toEqual(expected);
  });

  test.each<[string, Uint8Array, string]>([
    ["a lossy width of 0", webp(vp8({ width: 0, height: 1 })), "zero-size"],
    ["a lossy height of 0", webp(vp8({ width: 1, height: 0 }, 3)), "zero-size"],
    ["a canvas of more than 2^32 - 1 pixels", webp(vp8x({ width: 1 << 16, height: 1 << 16 })), "too-large"],
    ["an unknown first chunk", webp(webpChunk("VP9 ", new Uint8Array(30))), "malformed"],
    ["a lossy image without its start code", webp(webpChunk("VP8 ", new Uint8Array(10))), "malformed"],
    ["a lossless image without its signature", webp(webpChunk("VP8L", new Uint8Array(6))), "malformed"],
    ["a lossless image of another version", webp(webpChunk("VP8L", [0x2f, 0, 0, 0, 0x20, 0])), "malformed"],
    [
      "a lossy chunk that is too short",
      webp(webpChunk("VP8 ", vp8(size).subarray(8, 17)), vp8(size)),
      "malformed",
    ],
    ["a lossless chunk that is too short", webp(webpChunk("VP8L", [0x2f, 0, 0, 0]), vp8(size)), "malformed"],
    [
      "an extended chunk that is too short",
      webp(webpChunk("VP8X", new Uint8Array(9)), vp8(size)),
      "malformed",
    ],
    ["a file that ends before its first chunk", webp(vp8(size)).subarray(0, 12), "truncated"],
    ["a file that ends in the head of its first chunk", webp(vp8(size)).subarray(0, 19), "truncated"],
    ["a lossy image that is cut off", webp(vp8(size)).subarray(0, 29), "truncated"],
    ["a lossless image that is cut off", webp(vp8l(size)).subarray(0, 24), "truncated"],
    ["an extended one that is cut off", webp(vp8x(size), vp8(size)).subarray(0, 30), "truncated"],
  ])("refuses %s", (_, bytes, reason) => {
    expect(readWebp(bytes)).toEqual(invalid(reason));
  });

  it.each([
    ["lossy", webp(vp8(size)), still],
    ["lossless", webp(vp8l(size), webpChunk("XMP ", "ab")), still],
    ["extended", webp(vp8x(size), vp8(size)), still],
    ["animated", webp(vp8x(size, webpAnimated), ...frames(2)), { ...still, animated: true, frames: 2 }],
  ])("needs every byte up to its end, and none behind it: %s", (_, whole, expected) => {
    for (let end = 12; end < whole.length; end++) {
      expect(readWebp(whole.subarray(0, end))).toEqual(invalid("truncated"));
    }
    expect(readWebp(bytesOf(whole, "a tail"))).toEqual(expected);
  });

  it("takes the largest canvas", () => {
    const largest = { width: 1 << 24, height: 255 };
    expect(readWebp(webp(vp8x(largest), vp8(size)))).toEqual({ ...still, ...largest });
  });

  it("does not follow a chunk that says it is longer than the file", () => {
    const bytes = webp(vp8x(size, webpAnimated), frame, bytesOf("ANMF", le32(0xffffffff)), frame);
    expect(readWebp(bytes)).toEqual(invalid("malformed"));
  });

  test.each<[string, Uint8Array]>([
    ["an extended one without an image", webp(vp8x(size), webpChunk("ICCP", [1, 2]))],
    ["a chunk that is longer than the file", webp(webpChunk("XMP "), vp8(size)).with(15, 0x20)],
    ["an image that is longer than the file says", webp(vp8(size), webpChunk("XMP ", "ab")).with(4, 20)],
  ])("refuses %s", (_, bytes) => {
    expect(readWebp(bytes)).toEqual(invalid("malformed"));
  });

  it("goes through a bounded number of chunks, and counts no further", () => {
    const animation = (count: number) => webp(vp8x(size, webpAnimated), ...frames(count));
    expect(readWebp(animation(maxParts - 1))).toEqual({ ...still, animated: true, frames: maxParts - 1 });
    const { bytes, reads } = countedBytes(animation(3 * maxParts));
    expect(readWebp(bytes)).toEqual({ ...still, animated: true });
    expect(reads()).toBeLessThan(10 * maxParts);
  });
});

describe("isWebp", () => {
  const start = bytesOf("RIFF", [1, 2, 3, 4], "WEBP");

  test.each([0, 1, 2, 3, 8, 9, 10, 11])("wants byte %i of the start", (at) => {
    expect(isWebp(start)).toBe(true);
    expect(isWebp(start.with(at, 0x20))).toBe(false);
    expect(isWebp(start.subarray(0, at))).toBe(false);
  });
});
