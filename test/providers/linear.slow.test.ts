import {
  assistantMessage,
  type Context,
  type ContextMessage,
  project,
  promptContract,
  toBody,
  toolResult,
  userMessage,
} from "sessile";
import { replayAlways } from "sessile/attachments";
import { limitProfiles } from "sessile/limits";
import { describe, expect, test } from "vitest";
import { inlineAsResources } from "../../src/attachments/internal.js";
import { cleanJson, withoutSpaceAtEnd } from "../../src/providers/block-reader.js";
import { CallIds, isBlank, namePrefix } from "../../src/providers/internal.js";

import { pathsIn } from "../../src/providers/rejection.js";
import { base64, contextWith, image, png } from "../attachments/samples.js";
import { exponentOf, exponentOfAsync, growing, maxExponent } from "../support/growth.js";
import { plainTarget, row, stored } from "./samples.js";

const maker = { provider: "p", model: "m" };
const picture = png();
const blobs = { get: async () => picture };
const call = (id: string) =>
  ({ type: "toolCall", id, name: "read", arguments: { path: `src/${id}.ts`, lines: [1, 2] } }) as const;
const limits = { profile: limitProfiles.anthropic, contextWindow: 1_000_000 };

/** A conversation of so many rounds: words, a call and its result. */
const rounds = (size: number, id: (at: number) => string = (at) => `call_${at}`): readonly ContextMessage[] =>
  Array.from({ length: size }, (_, at) => [
    userMessage(`what is in file ${at}?`),
    assistantMessage(maker, "let me see", call(id(at))),
    toolResult(call(id(at)), `contents of ${at}`),
  ]).flat();
const shots = (size: number, number: (at: number) => number) =>
  Array.from({ length: size }, (_, at) => [
    userMessage("see", stored(picture, { resourceId: image(number(at)).resourceId })),
    assistantMessage(maker, "ok"),
  ]).flat();

describe("project takes time in proportion to the context:", () => {
  const contexts: readonly (readonly [string, number, (size: number) => Context])[] = [
    ["words, calls and results", 1500, (size) => contextWith(rounds(size))],
    ["calls that all have one id", 1500, (size) => contextWith(rounds(size, () => "call"))],
    ["calls whose ids have to be rewritten", 1500, (size) => contextWith(rounds(size, (at) => `a b|${at}`))],
    [
      "parallel calls in one message",
      2000,
      (size) => {
        const calls = Array.from({ length: size }, (_, at) => call(`c${at}`));
        const results = calls.map((one) => toolResult(one, "r")).toReversed();
        return contextWith([userMessage("go"), assistantMessage(maker, ...calls), ...results]);
      },
    ],
    [
      "results that nothing called",
      4000,
      (size) => contextWith(Array.from({ length: size }, (_, at) => toolResult(call(`c${at}`), "r"))),
    ],
    [
      "blocks of one message",
      8000,
      (size) =>
        contextWith([
          userMessage(...Array.from({ length: size }, () => "x")),
          assistantMessage(maker, ...Array.from({ length: size }, () => "x")),
        ]),
    ],
    ["attachments, each its own", 500, (size) => contextWith(shots(size, (at) => at))],
    ["attachments, all the same", 500, (size) => contextWith(shots(size, () => 1))],
    [
      "inline images",
      500,
      (size) => {
        const content = [{ type: "image", data: base64(picture), mimeType: "image/png" } as const];
        return contextWith(Array.from({ length: size }, () => ({ ...userMessage(""), content })));
      },
    ],
    [
      "views",
      1000,
      (size) =>
        contextWith(
          shots(size, (at) => at),
          Array.from({ length: size }, (_, at) => ({ item: 2 * size, resourceId: image(at).resourceId })),
        ),
    ],
    [
      "views of resources that are nowhere",
      5000,
      (size) =>
        contextWith(
          [userMessage("see")],
          Array.from({ length: size }, (_, at) => ({ item: 1, resourceId: image(at).resourceId })),
        ),
    ],
  ];

  test.each(contexts)("%s", async (_, first, make) => {
    const target = plainTarget({ limits });
    const exponent = await exponentOfAsync(growing(first), make, (context) =>
      project(context, target, { blobs, replay: replayAlways }),
    );
    expect(exponent).toBeLessThan(maxExponent);
  });

  test("attachments of which most are too many", async () => {
    const rows = [
      row({ rule: "imageCount", value: 10, unit: "count", scope: "request" }),
      row({ rule: "bodyBytes", value: 300_000, unit: "bodyBytes", scope: "request" }),
    ];
    const target = plainTarget({ limits: { profile: { name: "test", transports: ["only"], rows } } });
    const make = (size: number) => contextWith(shots(size, (at) => at));
    const work = (context: Context) => project(context, target, { blobs, replay: replayAlways });
    expect(await exponentOfAsync(growing(500), make, work)).toBeLessThan(maxExponent);
  });

  test("attachments of which each message has too many", async () => {
    const rows = [row({ rule: "imageCount", value: 1, unit: "count", scope: "message" })];
    const target = plainTarget({ limits: { profile: { name: "test", transports: ["only"], rows } } });
    const make = (size: number) =>
      contextWith(
        Array.from({ length: size }, (_, at) =>
          userMessage(
            ...[0, 1, 2].map((block) => stored(picture, { resourceId: image(3 * at + block).resourceId })),
          ),
        ),
      );
    const work = (context: Context) => project(context, target, { blobs, replay: replayAlways });
    expect(await exponentOfAsync(growing(200), make, work)).toBeLessThan(maxExponent);
  });
});

describe("what is made of a projection takes time in proportion to it:", () => {
  const sizes = growing(1000);
  const projections = (size: number) => project(contextWith(rounds(size)), plainTarget());

  test.each<[string, (projection: Awaited<ReturnType<typeof projections>>) => unknown]>([
    ["a body", (projection) => [...toBody(projection)].length],
    ["a contract", (projection) => promptContract(projection, { version: "1", model: "m" })],
    [
      "an explanation",
      (projection) => projection.explain({ status: 400, message: "turns.3.parts.0: no image for call_7" }),
    ],
  ])("%s", async (_, work) => {
    const made = new Map(
      await Promise.all(sizes.map(async (size) => [size, await projections(size)] as const)),
    );
    const exponent = exponentOf(
      sizes,
      (size) => made.get(size) as Awaited<ReturnType<typeof projections>>,
      work,
    );
    expect(exponent).toBeLessThan(maxExponent);
  });
});

describe("takes time in proportion to the text:", () => {
  test.each<[string, number, (size: number) => string, (text: string) => unknown]>([
    ["white space", 400_000, (size) => " ".repeat(size), isBlank],
    ["white space at the end", 400_000, (size) => `a${" \u001f".repeat(size)}`, withoutSpaceAtEnd],
    ["white space before the end", 400_000, (size) => `${" ".repeat(size)}a`, withoutSpaceAtEnd],
    ["a name", 100_000, (size) => "] \n".repeat(size), namePrefix],
    ["an id", 100_000, (size) => "é|".repeat(size), (id) => new CallIds().idFor(id)],
    [
      "arguments",
      100_000,
      (size) => "a\ud800".repeat(size),
      (text) => cleanJson({ text, list: [text] }, true),
    ],
    [
      "paths of an error, cut to a bound",
      100_000,
      (size) => "messages.1".repeat(size),
      (text) => pathsIn([text], ["messages"]),
    ],
    [
      "inline base64 in lines",
      40_000,
      (size) => "Zm9v\r\n".repeat(size),
      (data) =>
        inlineAsResources(
          contextWith([{ ...userMessage(""), content: [{ type: "image", data, mimeType: "" }] }]),
          false,
        ),
    ],
  ])("%s", (_, first, make, work) => {
    expect(exponentOf(growing(first), make, work)).toBeLessThan(maxExponent);
  });
});
