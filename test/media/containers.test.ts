/** HEIC, HEIF, AVIF, BMP and TIFF: their type and size survive, and a missing end is found. */
import fc from "fast-check";
import { mediaTypeOfName, sniff } from "sessile/media";
import { describe, expect, it, test } from "vitest";
import { damage, damaged } from "../arbitraries/bytes.js";
import { be32, bmp, box, bytesOf, heif, tiffImage } from "../support/media-files.js";

const size = { width: 40, height: 30 };
const tile = { width: 16, height: 16 };
const image = (mediaType: string, extras = {}) => ({
  kind: "image",
  mediaType,
  ...size,
  animated: false,
  ...extras,
});

const files: readonly (readonly [string, Uint8Array, object])[] = [
  ["HEIC", heif(["heic", "mif1", "heic"], size, tile), image("image/heic")],
  ["HEIC whose tiles are larger", heif(["heix"], size, { width: 64, height: 64 }), image("image/heic")],
  ["a sequence", heif(["hevc", "msf1"], size), image("image/heic", { animated: true })],
  ["HEIF of any codec", heif(["mif1", "heic"], size, tile), image("image/heif")],
  ["AVIF", heif(["avif", "mif1", "miaf"], size), image("image/avif")],
  ["AVIF under the brand of HEIF", heif(["mif1", "miaf", "avif"], size), image("image/avif")],
  ["an animated AVIF", heif(["avis"], size), image("image/avif", { animated: true })],
  ["BMP", bmp(size), image("image/bmp")],
  ["BMP from the top down", bmp(size).with(22, 226).fill(255, 23, 26), image("image/bmp")],
  ["TIFF of one strip", tiffImage(size, [100]), image("image/tiff")],
  ["TIFF of several strips", tiffImage(size, [10, 20, 30], "II"), image("image/tiff")],
];

describe("images that need a conversion", () => {
  test.each(files)("%s", (_, bytes, expected) => {
    expect(sniff(bytes)).toEqual(expected);
    expect(sniff(bytesOf(bytes, new Uint8Array(100)))).toEqual(expected);
  });

  test.each(files)("%s, cut anywhere, is found to be cut", (_, bytes) => {
    const { mediaType } = sniff(bytes) as { mediaType: string };
    for (let end = 36; end < bytes.length; end++) {
      expect([end, sniff(bytes.subarray(0, end))]).toEqual([
        end,
        { kind: "invalid", mediaType, reason: "truncated" },
      ]);
    }
  });

  it("does not throw on damaged ones", () => {
    fc.assert(
      fc.property(fc.constantFrom(...files), damage, ([, bytes], changes) => {
        const media = sniff(damaged(bytes, changes));
        expect(["image", "invalid", "pdf", "text", undefined]).toContain(media?.kind);
      }),
      { numRuns: 500 },
    );
  });

  test.each<[string, Uint8Array, string | undefined]>([
    ["a film", bytesOf(box("ftyp", "isom", be32(0), "isom"), box("mdat", new Uint8Array(40))), undefined],
    ["text that begins with BM", bytesOf("BM is the beginning of this longer text"), "text/plain"],
    ["a TIFF without a directory", bytesOf("II*", [0], be32(0x08000000), new Uint8Array(20)), "image/tiff"],
    [
      "what follows the brands of a HEIC and is no box",
      bytesOf(heif(["heic"], size).subarray(0, 20), new Uint8Array(40).fill(7)),
      "image/heic",
    ],
  ])("%s", (_, bytes, mediaType) => {
    expect(sniff(bytes)?.mediaType).toBe(mediaType);
  });

  it("ends where lengths, counts and offsets are hostile", () => {
    const huge = be32(0xffffffff);
    const meta = (...content: Uint8Array[]) =>
      bytesOf(box("ftyp", "heic", be32(0)), box("meta", be32(0), ...content), box("mdat"));
    const hostile = [
      meta(box("iprp", box("ipma", be32(0), huge), box("ipco", box("ispe", be32(0), huge, huge)))),
      meta(bytesOf(be32(0), "iprp", be32(1), "ipco")),
      bytesOf(box("ftyp", "heic", be32(0)), bytesOf(be32(1), "meta", huge, huge)),
      tiffImage(size, [1, 2]).fill(0xff, 40, 60),
      bmp(size).fill(0xff, 18, 26),
    ];
    for (const bytes of hostile) expect(["image", "invalid"]).toContain(sniff(bytes)?.kind);
  });
});

describe("names", () => {
  test.each([
    ["IMG_0001.HEIC", "image/heic"],
    ["a.heif", "image/heif"],
    ["a.hif", "image/heif"],
  ])("%s", (name, mediaType) => {
    expect(mediaTypeOfName(name)).toBe(mediaType);
  });
});
