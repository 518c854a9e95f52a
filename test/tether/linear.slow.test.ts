import { type ContextMessage, contextFrom } from "sessile";
import { FrameRing, readFrame, type TetherFrame, windowContext } from "sessile/tether";
import { describe, expect, test } from "vitest";
import { payloadBytes } from "../../src/tether/ring.js";
import { exponentOf, growing, maxExponent } from "../support/growth.js";
import { messageOf, pngOf } from "../support/tether.js";
import { frameOf } from "./frames.js";

/** Rounds of a call and its result; in the second kind all results come at the end. */
const rounds = (size: number, isTogether: boolean): readonly ContextMessage[] => {
  const calls = Array.from(
    { length: size },
    (_, at): ContextMessage => ({
      role: "assistant",
      content: [{ type: "toolCall", id: `c${isTogether ? at : 0}`, name: "read", arguments: { at } }],
      provider: "p",
      model: "m",
      timestamp: 0,
    }),
  );
  const results = calls.map(
    (_, at): ContextMessage => ({
      role: "toolResult",
      toolCallId: `c${isTogether ? at : 0}`,
      toolName: "read",
      content: [{ type: "text", text: "found" }],
      isError: false,
      timestamp: 0,
    }),
  );
  const question: ContextMessage = { role: "user", content: "What?", timestamp: 0 };
  if (isTogether) return [question, ...calls, ...results];
  return [question, ...calls.flatMap((call, at) => [call, results[at] as ContextMessage])];
};

describe("windowContext takes time in proportion to a context", () => {
  test.each([
    ["that fits", false, 1],
    ["of which nothing fits", false, 0],
    ["of which half fits", false, 0.5],
    ["whose results all come at the end", true, 0.5],
  ] as const)("%s", (_, isTogether, part) => {
    const make = (size: number) => contextFrom(rounds(size, isTogether));
    const work = (context: ReturnType<typeof make>) =>
      windowContext(context, Math.floor(context.items.length * 10 * part));
    expect(exponentOf(growing(4_000), make, work)).toBeLessThan(maxExponent);
  });
});

describe("payloadBytes takes time in proportion to a payload", () => {
  const payloads: readonly (readonly [string, (size: number) => unknown])[] = [
    ["of many values", (size) => Array.from({ length: size }, (_, at) => ({ at, text: `${at}` }))],
    ["that is deep", (size) => Array.from({ length: size }).reduce((inner) => [inner], "x")],
    [
      "of many names",
      (size) => Object.fromEntries(Array.from({ length: size }, (_, at) => [`name ${at}`, at])),
    ],
    ["that shares its parts", (size) => Array.from({ length: size }).reduce((inner) => [inner, inner], "x")],
  ];
  test.each(payloads)("%s", (_, make) => {
    expect(exponentOf(growing(8_000), make, payloadBytes)).toBeLessThan(maxExponent);
  });

  test("and none at all to the length of a text", () => {
    const work = (text: string) => {
      for (let i = 0; i < 100_000; i++) payloadBytes({ text });
    };
    expect(exponentOf(growing(1_000_000), (size) => "x".repeat(size), work)).toBeLessThan(0.5);
  });
});

describe("an append takes no longer where the ring is full of more frames", () => {
  test("than where it holds few", () => {
    const frame: TetherFrame = frameOf({ text: "a word" });
    const make = (size: number) => {
      const ring = new FrameRing({ maxFrames: size });
      for (let at = 0; at < size; at++) ring.append(frame);
      return ring;
    };
    const work = (ring: FrameRing) => {
      for (let i = 0; i < 100_000; i++) ring.append(frame);
    };
    expect(exponentOf([1000, 10_000, 100_000], make, work)).toBeLessThan(0.5);
  });
});

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
