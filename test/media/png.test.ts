import { describe, expect, it, test } from "vitest";
import { isPng, readPng } from "../../src/content/media/sniff.js";
import { maxParts } from "../../src/content/media/types.js";
import { countedBytes } from "../support/counted-bytes.js";
import { acTL, be32, bytesOf, type Part, png, pngChunk, pngSignature, tiff } from "../support/media-files.js";

const size = { width: 640, height: 480 };
const still = { kind: "image", mediaType: "image/png", ...size, animated: false };
const invalid = (reason: string) => ({ kind: "invalid", mediaType: "image/png", reason });
const header = (...parts: readonly Part[]) => bytesOf(pngSignature, ...parts);

describe("readPng", () => {
  test.each([
    [0, 480, "zero-size"],
    [640, 0, "zero-size"],
    [0, 0, "zero-size"],
    [0x80000000, 1, "too-large"],
    [1, 0xffffffff, "too-large"],
  ])("refuses a size of %i by %i", (width, height, reason) => {
    expect(readPng(png({ width, height }))).toEqual(invalid(reason));
  });

  it("takes the largest size that PNG has", () => {
    const largest = { width: 0x7fffffff, height: 0x7fffffff };
    expect(readPng(png(largest))).toEqual({ ...still, ...largest });
  });

  test.each([8, 12, 16, 20, 23])("says that %i bytes are cut off", (length) => {
    expect(readPng(png(size).subarray(0, length))).toEqual(invalid("truncated"));
  });

  it("needs every byte up to its end, and none behind it", () => {
    const whole = png(size, [acTL(2)], [pngChunk("tEXt", "a")]);
    for (let end = 8; end < whole.length; end++) {
      expect(readPng(whole.subarray(0, end))).toEqual(invalid("truncated"));
    }
    expect(readPng(bytesOf(whole, "a tail"))).toEqual({ ...still, animated: true, frames: 2 });
  });

  test.each(["IHDR", "PLTE", "IDAT", "IEND"])("compares the checksum of %s", (name) => {
    const bytes = png(size, [pngChunk("PLTE", [1, 2, 3]), pngChunk("tEXt", "a")]);
    const at = Buffer.from(bytes).indexOf(name);
    const checksum =
      at + 4 + bytes.subarray(at - 4).reduce((sum, byte, place) => (place < 4 ? sum * 256 + byte : sum), 0);
    expect(readPng(bytes.with(checksum, (bytes[checksum] as number) ^ 1))).toEqual(invalid("malformed"));
  });

  it("does not compare the checksum of what decoders pass over", () => {
    const bytes = png(size, [pngChunk("tEXt", "a")]);
    expect(readPng(bytes.with(Buffer.from(bytes).indexOf("tEXt") + 5, 0))).toEqual(still);
  });

  it("refuses an image without data", () => {
    const bytes = png(size);
    const data = Buffer.from(bytes).indexOf("IDAT") - 4;
    expect(readPng(bytesOf(bytes.subarray(0, data), pngChunk("IEND")))).toEqual(invalid("malformed"));
  });

  test.each<[string, Uint8Array]>([
    ["another chunk first", header(pngChunk("CgBI", [0x50, 0, 0x20, 2]), png(size).subarray(8))],
    [
      "another chunk of that length first",
      header(pngChunk("what", new Uint8Array(13)), png(size).subarray(8)),
    ],
    ["a longer header", header(be32(14), png(size).subarray(12))],
    ["a shorter header", header(be32(12), png(size).subarray(12))],
  ])("refuses %s", (_, bytes) => {
    expect(readPng(bytes)).toEqual(invalid("malformed"));
  });

  test.each<[string, Uint8Array, object]>([
    ["animation control before the data", png(size, [acTL(12)]), { animated: true, frames: 12 }],
    ["one frame of it", png(size, [acTL(1)]), { animated: true, frames: 1 }],
    ["two of them, the first counts", png(size, [acTL(2), acTL(3)]), { animated: true, frames: 2 }],
    ["it after the data", png(size, [], [acTL(12)]), {}],
    ["no frames in it", png(size, [acTL(0)]), {}],
    ["another length of it", png(size, [pngChunk("acTL", be32(12))]), {}],
    ["its name inside another chunk", png(size, [pngChunk("tEXt", acTL(12))]), {}],
  ])("reads %s", (_, bytes, extras) => {
    expect(readPng(bytes)).toEqual({ ...still, ...extras });
  });

  test.each<[string, Uint8Array, object]>([
    ["EXIF before the data", png(size, [pngChunk("eXIf", tiff(6))]), { orientation: 6 }],
    ["EXIF after the data", png(size, [], [pngChunk("eXIf", tiff(6))]), {}],
    ["EXIF that is none", png(size, [pngChunk("eXIf", "no")]), {}],
    [
      "EXIF whose directory is in the next chunk",
      png(size, [
        pngChunk("eXIf", bytesOf(tiff(6).subarray(0, 4), be32(20))),
        pngChunk("tEXt", tiff(6).subarray(8)),
      ]),
      {},
    ],
  ])("reads %s", (_, bytes, extras) => {
    expect(readPng(bytes)).toEqual({ ...still, ...extras });
  });

  it("does not follow a chunk that says it is longer than the file", () => {
    const bytes = bytesOf(png(size).subarray(0, 33), be32(0xffffffff), "tEXt", acTL(3));
    expect(readPng(bytes)).toEqual(invalid("truncated"));
  });

  it("takes any number of chunks of data", () => {
    const data = Array.from({ length: maxParts + 10 }, () => pngChunk("IDAT", [0]));
    expect(readPng(png(size, data))).toEqual(still);
  });

  it("goes through a bounded number of chunks", () => {
    const chunks = (count: number) =>
      png(
        size,
        Array.from({ length: count }, () => pngChunk("tEXt")),
      );
    expect(readPng(chunks(maxParts - 1))).toEqual(still);
    expect(readPng(chunks(maxParts))).toEqual(invalid("too-many-parts"));
    const { bytes, reads } = countedBytes(chunks(3 * maxParts));
    expect(readPng(bytes)).toEqual(invalid("too-many-parts"));
    expect(reads()).toBeLessThan(10 * maxParts);
  });

  it("reads what it checks once, and not the rest", () => {
    const { bytes, reads } = countedBytes(png(size, [pngChunk("iCCP", new Uint8Array(100_000))]));
    expect(readPng(bytes)).toEqual(still);
    expect(reads()).toBeLessThan(200);
  });
});

describe("isPng", () => {
  test.each(Array.from({ length: 8 }, (_, at) => at))("wants byte %i of the signature", (at) => {
    expect(isPng(pngSignature)).toBe(true);
    expect(isPng(pngSignature.with(at, 0x20))).toBe(false);
    expect(isPng(pngSignature.subarray(0, at))).toBe(false);
  });
});
