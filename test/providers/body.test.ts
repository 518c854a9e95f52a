import fc from "fast-check";
import { type MediaPart, type NeutralRequest, toBody } from "sessile";
import { describe, expect, test } from "vitest";
import { mediaPart } from "../../src/providers/media-part.js";
import { jsonValue, text } from "../arbitraries/values.js";

const origin = { entryId: "e", item: 0, block: 0 };
const picture = (bytes: Uint8Array, mediaType = "image/png") =>
  mediaPart({ kind: "image", mediaType, bytes, origin });
/** A request that shows these, some in a tool's result. */
const requestOf = (parts: readonly MediaPart[]): NeutralRequest => {
  const [first, ...rest] = parts;
  const result = {
    type: "result",
    callId: "c",
    storedCallId: "c",
    name: "t",
    isError: false,
    origin,
  } as const;
  const results = first === undefined ? [] : [{ ...result, parts: [first] }];
  return { system: [], turns: [{ role: "user", results, parts: rest }] };
};

/** What JSON.stringify gives, but that bytes are base64. */
function written(value: object): string {
  return JSON.stringify(value, function (this: Record<string, unknown>, key: string, field: unknown) {
    const raw = this[key];
    return raw instanceof Uint8Array ? Buffer.from(raw).toString("base64") : field;
  });
}

const bodyOf = (value: object, parts: readonly MediaPart[] = [], extra?: Record<string, unknown>) =>
  toBody({ value, request: requestOf(parts) }, extra);
const joined = (pieces: Iterable<Uint8Array>) => Buffer.concat([...pieces]).toString();

/** Lengths around those from which payloads are written by themselves, and some that are equal. */
const payload = fc
  .tuple(fc.constantFrom(0, 1, 700, 767, 768, 769, 770, 5000), fc.nat({ max: 3 }))
  .map(([length, seed]) => Uint8Array.from({ length }, (_, at) => (at * 7 + seed * 31) % 256));
const mediaTypes = fc.constantFrom("image/png", "image/jpeg", "image/x");
const parts = fc.array(
  fc.tuple(payload, mediaTypes).map(([bytes, mediaType]) => picture(bytes, mediaType)),
  { maxLength: 4 },
);
const markLike = fc.constantFrom(
  "payload 0 of this request",
  '"payload 0 of this request"',
  "payload of this request",
  '\\"payload of this request',
  'a","payload of this request","b',
);

/** A value in which payloads stand as targets put them, or as texts have them, among anything. */
const values = parts.chain((all) => {
  const sent = all.flatMap((part) => [
    part.base64,
    part.dataUrl,
    part.bytes,
    Buffer.from(part.bytes),
    `x${part.base64}`,
  ]);
  const leaf = fc.oneof(
    jsonValue,
    text,
    markLike,
    sent.length === 0 ? fc.constant(null) : fc.constantFrom<unknown>(...sent),
    fc.constantFrom<unknown>(
      undefined,
      new Date(0),
      { toJSON: () => "said" },
      new Uint8Array(2),
      Buffer.from("hi"),
    ),
  );
  const tree = fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 3, depthIdentifier: "body" },
      leaf,
      fc.array(tie("node"), { maxLength: 4, depthIdentifier: "body" }),
      fc.dictionary(fc.oneof(fc.constantFrom("a", "data", "__proto__"), text, markLike), tie("node"), {
        maxKeys: 4,
        noNullPrototype: true,
        depthIdentifier: "body",
      }),
    ),
  })).node;
  return fc.tuple(
    fc.constant(all),
    fc.dictionary(fc.string({ maxLength: 5 }), tree, { maxKeys: 4, noNullPrototype: true }),
  );
});

describe("toBody", () => {
  test("is byte for byte what JSON.stringify gives, and as long as it says", () => {
    fc.assert(
      fc.property(
        values,
        fc.dictionary(fc.string({ maxLength: 3 }), jsonValue, { maxKeys: 2, noNullPrototype: true }),
        ([all, value], extra) => {
          const body = bodyOf(value, all, extra);
          const expected = written({ ...extra, ...value });
          expect(joined(body)).toBe(expected);
          expect(body.size).toBe(Buffer.byteLength(expected));
        },
      ),
      { numRuns: 300 },
    );
  });

  test("gives the pieces anew each time, and as a stream", async () => {
    const one = picture(new Uint8Array(3000).fill(7));
    const value = { a: [one.base64, "é"], b: one.dataUrl };
    const body = bodyOf(value, [one], { model: "m" });
    const expected = JSON.stringify({ model: "m", ...value });
    expect([joined(body), joined(body)]).toEqual([expected, expected]);
    expect(await new Response(body.stream()).text()).toBe(expected);
    expect(await new Response(body.stream()).text()).toBe(expected);
  });

  test("what is attached stands in no larger piece", () => {
    const one = picture(new Uint8Array(100_000).fill(7));
    const pieces = [...bodyOf({ text: "x".repeat(50), data: one.base64, url: one.dataUrl }, [one])];
    const lengths = pieces.map(({ length }) => length).toSorted((a, b) => b - a);
    expect(lengths.slice(0, 2)).toEqual([one.base64.length, one.base64.length]);
    expect(lengths.slice(2).every((length) => length < 200)).toBe(true);
    expect(pieces.every(({ length }) => length > 0)).toBe(true);
  });

  test("no text is as long as the body: a body may be longer than the longest string", () => {
    const block = (length: number) => ({ type: "text", text: "x".repeat(length) });
    const value = {
      messages: [
        { role: "user", content: Array.from({ length: 50 }, () => block(100_000)) },
        ...Array.from({ length: 5000 }, () => ({ role: "user", content: [block(200)] })),
      ],
    };
    const { stringify } = JSON;
    let longest = 0;
    JSON.stringify = ((...args: Parameters<typeof stringify>) => {
      const text = stringify(...args);
      longest = Math.max(longest, text?.length ?? 0);
      return text;
    }) as typeof stringify;
    let body: ReturnType<typeof bodyOf>;
    try {
      body = bodyOf(value, []);
    } finally {
      JSON.stringify = stringify;
    }
    expect(longest).toBeLessThan(101_000);
    const pieces = [...body];
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(101_000 + 65_536);
    // Short values share a piece.
    expect(pieces.length).toBeLessThan(150);
    expect(joined(body)).toBe(stringify(value));
  });

  test.each([
    [{ a: undefined, b: () => 1, c: Symbol("c"), d: [undefined, () => 1], e: new Date(0), f: Number.NaN }],
    [{ a: { toJSON: () => undefined }, b: [{ toJSON: () => undefined }], c: { toJSON: () => "c" } }],
    [
      {
        a: Object.assign(Object.create(null), { b: 1 }),
        m: new Map([[1, 2]]),
        n: Object("n"),
        "\ud800": "\udc00",
      },
    ],
    [{ a: { b: { c: { d: { e: { f: [undefined, { g: undefined }] } } } } } }],
  ])("is what JSON.stringify gives of odd values", (value) => {
    expect(joined(bodyOf(value, []))).toBe(JSON.stringify(value));
  });

  test("members besides come first, and give way to the value's", () => {
    expect(joined(bodyOf({ messages: [], model: "own" }, [], { model: "m", max_tokens: 1 }))).toBe(
      '{"model":"own","max_tokens":1,"messages":[]}',
    );
  });

  test("a text cannot make it look for a mark again and again", () => {
    let looks = 0;
    const counter = { toJSON: () => looks++ };
    const texts = Array.from({ length: 500 }, (_, at) => `payload ${at} of this request`);
    expect(joined(bodyOf({ texts: ["payload of this request", ...texts], counter }))).toContain(
      "payload 499",
    );
    expect(looks).toBeLessThan(3);
  });

  test("takes a list, which is a body of its own", () => {
    const one = picture(new Uint8Array(3000).fill(7));
    expect(joined(bodyOf([{ data: one.base64 }], [one]))).toBe(JSON.stringify([{ data: one.base64 }]));
  });
});
