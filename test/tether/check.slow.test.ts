import { readFrame } from "sessile/tether";
import { describe, expect, test } from "vitest";
import { exponentOf, growing, maxExponent } from "../support/growth.js";
import { messageOf, pngOf } from "../support/tether.js";

const framed = (payload: unknown) => JSON.stringify(messageOf(payload));
/** JSON in which this piece stands so often that it is about so long. */
const repeated =
  (piece: string, around: (middle: string) => string) =>
  (size: number): string =>
    around(piece.repeat(Math.ceil(size / piece.length)));
const inText = (middle: string) => framed({ text: "" }).replace('"text":""', () => `"text":"${middle}"`);
const inImages = (middle: string) =>
  framed({ text: "", images: [] }).replace("[]", () => `[${middle.replace(/,$/, "")}]`);

const hostile: readonly (readonly [string, (size: number) => string])[] = [
  ["text", repeated("a", inText)],
  ["text of escapes", repeated("\\u0000", inText)],
  ["text of brackets", repeated("[{", inText)],
  ["text of quotes", repeated('\\"', inText)],
  ["text beyond ASCII", repeated("日", inText)],
  ["small images", repeated('{"media_type":"image/png","data":"AAAA"},', inImages)],
  ["images that are none", repeated("[],", inImages)],
  [
    "an image of no base64",
    repeated("!", (middle) => framed({ text: "", images: [{ media_type: "image/png", data: middle }] })),
  ],
  [
    "a media type",
    repeated("x", (middle) => framed({ text: "", images: [{ media_type: middle, data: "" }] })),
  ],
  [
    "a time",
    repeated("1", (middle) => JSON.stringify({ ...messageOf({}), ts: `2026-01-31T12:00:00.${middle}` })),
  ],
  ["depth", repeated("[", (middle) => middle)],
  ["arrays", repeated("[],", (middle) => `[${middle}0]`)],
  [
    "keys",
    (size) =>
      framed(Object.fromEntries(Array.from({ length: size / 80 }, (_, at) => [`key number ${at}`, 1]))),
  ],
  ["white space", repeated(" ", (middle) => middle + framed({ text: "" }))],
];

function attempt(body: string | Uint8Array): unknown {
  try {
    return readFrame(body);
  } catch (error) {
    return error;
  }
}

describe("readFrame takes time in proportion to", () => {
  test.each(hostile)("%s", (_, make) => {
    expect(exponentOf(growing(250_000), make, attempt)).toBeLessThan(maxExponent);
    expect(
      exponentOf(growing(250_000), (size) => new TextEncoder().encode(make(size)), attempt),
    ).toBeLessThan(maxExponent);
  });

  test("its images", () => {
    const make = (size: number) =>
      framed({
        text: "",
        images: [{ media_type: "image/png", data: Buffer.from(pngOf(size)).toString("base64") }],
      });
    const work = (body: string) => expect(readFrame(body).images).toHaveLength(1);
    expect(exponentOf(growing(1_000_000), make, work)).toBeLessThan(maxExponent);
  });
});
