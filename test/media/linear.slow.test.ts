import { sniff } from "sessile/media";
import { describe, expect, test } from "vitest";
import { exponentOf, growing, maxExponent } from "../support/growth.js";
import {
  bytesOf,
  gif,
  gifBlocks,
  gifFrame,
  jpeg,
  jpegSegment,
  type Part,
  png,
  pngChunk,
  sof,
  vp8x,
  webp,
  webpAnimated,
  webpChunk,
} from "../support/media-files.js";

const pixel = { width: 1, height: 1 };
const repeated = (count: number, part: Uint8Array): Uint8Array => {
  const bytes = new Uint8Array(count * part.length);
  for (let at = 0; at < count; at++) bytes.set(part, at * part.length);
  return bytes;
};
const encoded = (text: string) => new TextEncoder().encode(text);
const jpegOf = (part: Part) => bytesOf([0xff, 0xd8, 0xff], part);

describe("sniff takes time in proportion to", () => {
  const files: readonly (readonly [string, number, (size: number) => Uint8Array])[] = [
    ["plain text", 1_000_000, (size) => repeated(size, encoded("a"))],
    ["text of many alphabets", 100_000, (size) => repeated(size, encoded("Größe – 漢字 😀 "))],
    ["text that is none at its end", 1_000_000, (size) => bytesOf(repeated(size, encoded("a")), [0])],
    ["a JPEG of fill", 1_000_000, (size) => jpegOf(repeated(size, Uint8Array.of(0xff)))],
    ["a JPEG of zeros", 1_000_000, (size) => jpegOf(new Uint8Array(size))],
    ["a JPEG of fill and zeros", 500_000, (size) => jpegOf(repeated(size, Uint8Array.of(0xff, 0)))],
    ["a GIF of frames", 50_000, (size) => gif(pixel, [repeated(size, gifFrame(1))])],
    [
      "a GIF of empty extensions",
      500_000,
      (size) => gif(pixel, [repeated(size, Uint8Array.of(0x21, 0xfe, 0))]),
    ],
    [
      "a GIF of the smallest sub-blocks",
      500_000,
      (size) => gif(pixel, [[0x21, 0xfe], repeated(size, gifBlocks(1).subarray(0, 2))]),
    ],
  ];

  test.each(files)("%s", (_, first, make) => {
    expect(exponentOf(growing(first), make, sniff)).toBeLessThan(maxExponent);
  });
});

describe("sniff takes no more time for", () => {
  const times = 100;
  const files: readonly (readonly [string, (size: number) => Uint8Array])[] = [
    ["a PNG of chunks", (size) => png(pixel, [repeated(size, pngChunk("tEXt"))])],
    ["a JPEG of segments", (size) => jpeg(repeated(size, jpegSegment(0xfe)), sof(pixel))],
    ["a WebP of frames", (size) => webp(vp8x(pixel, webpAnimated), repeated(size, webpChunk("ANMF")))],
  ];

  test.each(files)("%s", (_, make) => {
    const repeatedly = (bytes: Uint8Array) => {
      for (let time = 0; time < times; time++) sniff(bytes);
    };
    expect(exponentOf(growing(20_000), make, repeatedly)).toBeLessThan(0.5);
  });
});
