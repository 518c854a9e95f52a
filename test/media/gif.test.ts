import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { isGif, readGif } from "../../src/content/media/sniff.js";
import { countedBytes } from "../support/counted-bytes.js";
import { bytesOf, gif, gifBlocks, gifExtension, gifFrame, type Part } from "../support/media-files.js";

const size = { width: 640, height: 480 };
const still = { kind: "image", mediaType: "image/gif", ...size, animated: false };
const moving = (frames: number) => ({ ...still, animated: true, frames });
const invalid = (reason: string) => ({ kind: "invalid", mediaType: "image/gif", reason });
const frame = gifFrame(300);

describe("readGif", () => {
  test.each<[string, Uint8Array, object]>([
    ["one frame", gif(size, [frame]), still],
    ["two frames", gif(size, [frame, frame]), moving(2)],
    [
      "frames among extensions",
      gif(size, [gifExtension(0xf9, 4), frame, gifExtension(0xfe, 600), frame], 8),
      moving(2),
    ],
    [
      "frames with colors of their own",
      gif(size, [gifFrame(9, 8), gifFrame(9, 1), gifFrame(9, 2)], 1),
      moving(3),
    ],
    ["frames without a trailer", gif(size, [frame, frame]).subarray(0, -1), moving(2)],
    ["zeros between blocks", gif(size, [[0, 0], frame, [0]]), still],
    ["nothing behind the end", bytesOf(gif(size, [frame]), frame, frame), still],
  ])("reads %s", (_, bytes, expected) => {
    expect(readGif(bytes)).toEqual(expected);
  });

  test.each<[string, Uint8Array, string]>([
    ["no frame", gif(size, []), "malformed"],
    ["what is no block", gif(size, [frame, [0x2b], frame]), "malformed"],
    ["a frame that is cut off", gif(size, [frame, frame]).subarray(0, 13 + frame.length + 10), "truncated"],
    [
      "a descriptor that is cut off",
      gif(size, [frame, frame]).subarray(0, 13 + frame.length + 9),
      "truncated",
    ],
    ["a frame without its last block", gif(size, [frame]).subarray(0, -2), "truncated"],
    ["a second one without its last block", gif(size, [frame, frame]).subarray(0, -2), "truncated"],
    ["zeros and no more", gif(size, [new Uint8Array(50)]).subarray(0, -1), "truncated"],
    ["the size and no more", gif(size, []).subarray(0, 10), "truncated"],
  ])("refuses %s", (_, bytes, reason) => {
    expect(readGif(bytes)).toEqual(invalid(reason));
  });

  it("counts frames however many there are", () => {
    expect(
      readGif(
        gif(
          size,
          Array.from({ length: 10_000 }, () => gifFrame(1)),
        ),
      ),
    ).toEqual(moving(10_000));
  });

  test.each([6, 7, 8, 9])("says that %i bytes are cut off", (length) => {
    expect(readGif(gif(size, [frame]).subarray(0, length))).toEqual(invalid("truncated"));
  });

  test.each([
    [0, 0],
    [0, 480],
    [640, 0],
  ])("refuses a size of %i by %i", (width, height) => {
    expect(readGif(gif({ width, height }, [frame]))).toEqual(invalid("zero-size"));
  });

  it("reads at most each byte and a few more, whatever is there", () => {
    const block: fc.Arbitrary<Part> = fc.oneof(
      fc.nat({ max: 500 }).map((length) => gifFrame(length, length % 9)),
      fc.nat({ max: 500 }).map((length) => gifExtension(0xfe, length)),
      fc
        .tuple(fc.nat({ max: 500 }), fc.integer({ min: 1, max: 3 }))
        .map(([n, each]) => bytesOf([0x21, 0xfe], gifBlocks(n, each))),
      fc.uint8Array(),
    );
    fc.assert(
      fc.property(fc.array(block, { maxLength: 8 }), (blocks) => {
        const { bytes, reads } = countedBytes(gif(size, blocks));
        readGif(bytes);
        expect(reads()).toBeLessThanOrEqual(bytes.length + 20);
      }),
    );
  });

  it("skips over pixels", () => {
    const { bytes, reads } = countedBytes(gif(size, [gifFrame(255_000)]));
    readGif(bytes);
    expect(reads()).toBeLessThan(1100);
  });
});

describe("isGif", () => {
  test.each(["GIF87a", "GIF89a"])("takes %s", (start) => {
    expect(isGif(bytesOf(start))).toBe(true);
  });

  test.each(["GIF88a", "GIF89b", "gif89a", "GIF89", "GIF", "", "GIG89a"])("does not take %s", (start) => {
    expect(isGif(bytesOf(start))).toBe(false);
  });
});
