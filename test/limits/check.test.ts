import fc from "fast-check";
import {
  checkLimits,
  chiralityLimits,
  type LimitItem,
  type LimitProfile,
  type LimitRow,
  type LimitSituation,
  type LimitViolation,
  limitProfiles,
  tetherLimits,
} from "sessile/limits";
import { describe, expect, test } from "vitest";
import { base64Length, itemKind, measure } from "../../src/content/limits/check.js";

const png = (more: Partial<LimitItem> = {}): LimitItem => ({ mediaType: "image/png", size: 1000, ...more });
const pdf = (more: Partial<LimitItem> = {}): LimitItem => ({
  mediaType: "application/pdf",
  size: 1000,
  ...more,
});
const many = (count: number, item: LimitItem = png()): readonly LimitItem[] =>
  Array.from({ length: count }, () => item);
const rules = (violations: readonly LimitViolation[]) => violations.map(({ rule }) => rule);
const whole = { contextWindow: 1_000_000 };

/** What a request breaks, one side and the other of each bound. */
const bounds: readonly (readonly [
  string,
  LimitProfile,
  readonly LimitItem[],
  LimitSituation,
  string | undefined,
])[] = [
  ["an image of 7.5 MB", limitProfiles.anthropic, [png({ size: 7_500_000 })], {}, undefined],
  ["an image a byte larger", limitProfiles.anthropic, [png({ size: 7_500_001 })], {}, "imageBytes"],
  [
    "an image of 3.75 MB on Bedrock",
    limitProfiles.anthropic,
    [png({ size: 3_750_000 })],
    { transport: "bedrock" },
    undefined,
  ],
  [
    "one larger on Bedrock",
    limitProfiles.anthropic,
    [png({ size: 3_750_001 })],
    { transport: "bedrock" },
    "imageBytes",
  ],
  [
    "one larger on Vertex",
    limitProfiles.anthropic,
    [png({ size: 3_750_001 })],
    { transport: "vertex" },
    "imageBytes",
  ],
  ["8000 pixels", limitProfiles.anthropic, [png({ width: 8000, height: 8000 })], {}, undefined],
  ["8001 pixels", limitProfiles.anthropic, [png({ width: 1, height: 8001 })], {}, "imageSide"],
  ["20 images of 2001", limitProfiles.anthropic, many(20, png({ width: 2001, height: 9 })), {}, undefined],
  [
    "an image of 2001 among 20 elsewhere",
    limitProfiles.anthropic,
    [png({ width: 2001, height: 9 })],
    { imageCount: 20 },
    undefined,
  ],
  [
    "an image of 2001 among 21",
    limitProfiles.anthropic,
    [png({ width: 2001, height: 9 })],
    { imageCount: 21 },
    "imageSide",
  ],
  [
    "20 images and a document",
    limitProfiles.anthropic,
    [...many(19), png({ width: 2001, height: 9 }), pdf()],
    {},
    undefined,
  ],
  [
    "the same on Bedrock",
    limitProfiles.anthropic,
    [...many(19), png({ width: 2001, height: 9 }), pdf()],
    { transport: "bedrock" },
    "imageSide",
  ],
  ["100 images, window unknown", limitProfiles.anthropic, many(100), {}, undefined],
  ["101 images, window unknown", limitProfiles.anthropic, many(101), {}, "imageCount"],
  ["101 images, 200k", limitProfiles.anthropic, many(101), { contextWindow: 200_000 }, "imageCount"],
  ["600 images, 1M", limitProfiles.anthropic, many(600), whole, undefined],
  ["601 images, 1M", limitProfiles.anthropic, many(601), whole, "imageCount"],
  ["100 pages", limitProfiles.anthropic, [pdf({ pages: 60 }), pdf({ pages: 40 })], {}, undefined],
  ["101 pages", limitProfiles.anthropic, [pdf({ pages: 60 }), pdf({ pages: 41 })], {}, "documentPages"],
  ["101 documents of unknown pages", limitProfiles.anthropic, many(101, pdf()), {}, "documentPages"],
  ["600 pages, 1M", limitProfiles.anthropic, [pdf({ pages: 600 })], whole, undefined],
  ["601 pages, 1M", limitProfiles.anthropic, [pdf({ pages: 601 })], whole, "documentPages"],
  ["a document under a password", limitProfiles.anthropic, [pdf({ encrypted: true })], {}, "encryption"],
  ["an animation", limitProfiles.anthropic, [png({ mediaType: "image/gif", animated: true })], {}, undefined],
  ["HEIC", limitProfiles.anthropic, [png({ mediaType: "image/heic" })], {}, "imageTypes"],
  ["a body of 32 MB", limitProfiles.anthropic, many(4, pdf({ size: 6_000_000 })), {}, undefined],
  ["a larger body", limitProfiles.anthropic, many(4, pdf({ size: 6_000_001 })), {}, "bodyBytes"],
  [
    "text is not base64",
    limitProfiles.anthropic,
    [{ kind: "text", mediaType: "text/plain", size: 32_000_000 }],
    {},
    undefined,
  ],
  ["a body known to be larger", limitProfiles.anthropic, [], { bodyBytes: 32_000_001 }, "bodyBytes"],
  [
    "20 MB on Bedrock",
    limitProfiles.anthropic,
    [],
    { bodyBytes: 20_000_001, transport: "bedrock" },
    "bodyBytes",
  ],
  ["30 MB on Vertex", limitProfiles.anthropic, [], { bodyBytes: 30_000_000, transport: "vertex" }, undefined],
  [
    "more on Vertex",
    limitProfiles.anthropic,
    [],
    { bodyBytes: 30_000_001, transport: "vertex" },
    "bodyBytes",
  ],
  ["Converse: 3.75 MB", limitProfiles.bedrockConverse, [png({ size: 3_750_001 })], {}, "imageBytes"],
  ["Converse: 20 images", limitProfiles.bedrockConverse, many(20), {}, undefined],
  ["Converse: 21 images", limitProfiles.bedrockConverse, many(21), {}, "imageCount"],
  ["Converse: 5 documents", limitProfiles.bedrockConverse, many(5, pdf()), {}, undefined],
  ["Converse: 6 documents", limitProfiles.bedrockConverse, many(6, pdf()), {}, "documentCount"],
  ["Converse: 4.5 MB", limitProfiles.bedrockConverse, [pdf({ size: 4_500_001 })], {}, "documentBytes"],
  [
    "Converse: documents count toward the 20",
    limitProfiles.bedrockConverse,
    [...many(19), png({ width: 2001, height: 9 }), pdf()],
    {},
    "imageSide",
  ],
  [
    "OpenAI: a large image",
    limitProfiles.openai,
    [png({ size: 30_000_000, width: 20_000, height: 9 })],
    {},
    undefined,
  ],
  [
    "OpenAI: an animation",
    limitProfiles.openai,
    [png({ mediaType: "image/gif", animated: true })],
    {},
    "animation",
  ],
  ["OpenAI: 501 images", limitProfiles.openai, many(501), {}, "imageCount"],
  ["OpenAI: 50 MB", limitProfiles.openai, [], { bodyBytes: 50_000_001 }, "bodyBytes"],
  ["Gemini: GIF", limitProfiles.gemini, [png({ mediaType: "image/gif" })], {}, "imageTypes"],
  ["Gemini: HEIC", limitProfiles.gemini, [png({ mediaType: "image/heic" })], {}, undefined],
  ["Gemini: 20 MB inline", limitProfiles.gemini, [png({ size: 15_000_001 })], {}, "bodyBytes"],
  [
    "Gemini: the same by file",
    limitProfiles.gemini,
    [png({ size: 15_000_001 })],
    { transport: "files" },
    undefined,
  ],
  [
    "Gemini: more than 2 GB by file",
    limitProfiles.gemini,
    [png({ size: 2_000_000_001 })],
    { transport: "files" },
    "fileBytes",
  ],
  ["Gemini: 3601 images", limitProfiles.gemini, many(3601), {}, "imageCount"],
  ["Gemini: 1001 pages", limitProfiles.gemini, [pdf({ pages: 1001 })], {}, "documentPages"],
  ["Mistral: 9 images", limitProfiles.mistral, many(9), {}, "imageCount"],
  ["Mistral: 15 MB", limitProfiles.mistral, [png({ size: 15_000_001 })], {}, "imageBytes"],
  ["xAI: WebP", limitProfiles.xai, [png({ mediaType: "image/webp" })], {}, "imageTypes"],
  ["xAI: a GIF", limitProfiles.xai, [png({ mediaType: "image/gif" })], {}, "imageTypes"],
  ["MCP: 10 MiB over stdio", limitProfiles.mcp, [], { bodyBytes: 10_485_760 }, undefined],
  ["MCP: a byte more", limitProfiles.mcp, [], { bodyBytes: 10_485_761 }, "bodyBytes"],
  ["MCP: as much over HTTP", limitProfiles.mcp, [], { bodyBytes: 1e9, transport: "http" }, undefined],
  ["ACP: 32 MiB", limitProfiles.acp, [], { bodyBytes: 33_554_432 }, undefined],
  ["ACP: a byte more", limitProfiles.acp, [], { bodyBytes: 33_554_433 }, "bodyBytes"],
  ["Groq: 6 images", limitProfiles.groq, many(6), {}, "imageCount"],
  ["Groq: 6 images, 5 of them elsewhere", limitProfiles.groq, [png()], { imageCount: 6 }, "imageCount"],
  ["Groq: 5 images, all elsewhere", limitProfiles.groq, [], { imageCount: 5 }, undefined],
  ["Groq: 6 images, all elsewhere", limitProfiles.groq, [], { imageCount: 6 }, "imageCount"],
  ["Groq: 6 images, fewer of them told", limitProfiles.groq, many(6), { imageCount: 1 }, "imageCount"],
  ["Converse: 21 images elsewhere", limitProfiles.bedrockConverse, [png()], { imageCount: 21 }, "imageCount"],
  ["700 images elsewhere, 1M", limitProfiles.anthropic, [png()], { ...whole, imageCount: 700 }, "imageCount"],
  [
    "Tether: images elsewhere are in other frames",
    limitProfiles.tether,
    [png()],
    { imageCount: 9 },
    undefined,
  ],
  ["a type in capitals", limitProfiles.anthropic, [png({ mediaType: "IMAGE/PNG; a=b" })], {}, undefined],
  [
    "an image whose type is in capitals",
    limitProfiles.anthropic,
    [png({ mediaType: "IMAGE/PNG", width: 8001, height: 1 })],
    {},
    "imageSide",
  ],
  ["HEIC in capitals", limitProfiles.anthropic, [png({ mediaType: "Image/HEIC" })], {}, "imageTypes"],
  [
    "pages of a PDF in capitals",
    limitProfiles.anthropic,
    [pdf({ mediaType: "Application/PDF", pages: 101 })],
    {},
    "documentPages",
  ],
  ["Groq: the area of one", limitProfiles.groq, [png({ width: 7680, height: 4320 })], {}, undefined],
  [
    "Groq: the area of all",
    limitProfiles.groq,
    [png({ width: 7680, height: 4320 }), png({ width: 1, height: 1 })],
    {},
    "imageArea",
  ],
  ["Telegram: 10 MB", limitProfiles.telegram, [png({ size: 10_000_001 })], {}, "imageBytes"],
  ["Telegram: a sum of 10000", limitProfiles.telegram, [png({ width: 9000, height: 1000 })], {}, undefined],
  [
    "Telegram: a sum of 10001",
    limitProfiles.telegram,
    [png({ width: 9000, height: 1001 })],
    {},
    "imageSideSum",
  ],
  ["Telegram: a ratio of 20", limitProfiles.telegram, [png({ width: 100, height: 2000 })], {}, undefined],
  [
    "Telegram: a greater ratio",
    limitProfiles.telegram,
    [png({ width: 2001, height: 100 })],
    {},
    "imageRatio",
  ],
  [
    "Telegram: the same as a document",
    limitProfiles.telegram,
    [png({ size: 10_000_001, width: 2001, height: 100 })],
    { transport: "document" },
    undefined,
  ],
  [
    "Telegram: 50 MB as a document",
    limitProfiles.telegram,
    [pdf({ size: 50_000_001 })],
    { transport: "document" },
    "fileBytes",
  ],
  [
    "Telegram: 20 MB to download",
    limitProfiles.telegram,
    [pdf({ size: 20_000_001 })],
    { transport: "download" },
    "fileBytes",
  ],
  [
    "Telegram: a caption",
    limitProfiles.telegram,
    [{ kind: "text", mediaType: "text/plain", size: 1024, characters: 1024 }],
    {},
    undefined,
  ],
  [
    "Telegram: a longer caption",
    limitProfiles.telegram,
    [{ kind: "text", mediaType: "text/plain", size: 1025, characters: 1025 }],
    {},
    "textCharacters",
  ],
  ["Tether: 10 MiB", limitProfiles.tether, [png({ size: 10 * 2 ** 20 })], {}, undefined],
  ["Tether: more", limitProfiles.tether, [png({ size: 10 * 2 ** 20 + 1 })], {}, "imageBytes"],
  ["Tether: 20 MiB a frame", limitProfiles.tether, many(2, png({ size: 10 * 2 ** 20 })), {}, undefined],
  [
    "Tether: more a frame",
    limitProfiles.tether,
    [...many(2, png({ size: 10 * 2 ** 20 })), png({ size: 1 })],
    {},
    "imageBytes",
  ],
  ["Tether: 5 images", limitProfiles.tether, many(5), {}, "imageCount"],
  ["Tether: 5 images in two frames", limitProfiles.tether, [...many(4), png({ message: 1 })], {}, undefined],
  [
    "Tether: 28 MiB on the wire",
    limitProfiles.tether,
    [{ kind: "text", mediaType: "text/plain", size: 28 * 2 ** 20 + 1 }],
    {},
    "bodyBytes",
  ],
  ["Chirality: 10 MiB", limitProfiles.chirality, [pdf({ size: 10 * 2 ** 20 })], {}, undefined],
  ["Chirality: more", limitProfiles.chirality, [pdf({ size: 10 * 2 ** 20 + 1 })], {}, "fileBytes"],
  ["Chirality: 18 MiB", limitProfiles.chirality, many(2, pdf({ size: 9 * 2 ** 20 })), {}, undefined],
  [
    "Chirality: more a turn",
    limitProfiles.chirality,
    many(2, pdf({ size: 9 * 2 ** 20 + 1 })),
    {},
    "fileBytes",
  ],
  ["Chirality: a zip", limitProfiles.chirality, [pdf({ mediaType: "application/zip" })], {}, "fileTypes"],
  ["Chirality: a table", limitProfiles.chirality, [pdf({ mediaType: "text/csv" })], {}, undefined],
];

const numericRows = Object.values<LimitProfile>(limitProfiles).flatMap((profile) =>
  profile.rows.flatMap((row, index) =>
    typeof row.value === "number"
      ? [
          {
            title: `${profile.name}[${index}] ${row.rule} ${row.value} ${row.unit} a ${row.scope}`,
            profile,
            row,
          },
        ]
      : [],
  ),
);

/** Items that come to so much of what a row measures, with any amount that its unit can be. */
function amounting({ rule, unit, when }: LimitRow, amount: number): readonly LimitItem[] {
  // Base64 grows by four characters: the size below is the largest that has no more than the amount.
  const size = unit === "base64Bytes" ? Math.floor(amount / 4) * 3 : amount;
  switch (rule) {
    case "imageBytes":
    case "fileBytes":
      return [png({ size, ...(when?.inToolResult === true ? { inToolResult: true } : {}) })];
    case "documentBytes":
      return [pdf({ size })];
    case "imageSide":
    case "imageArea":
      return [png({ width: amount, height: 1 })];
    case "imageSideSum":
      return [png({ width: 1, height: amount - 1 })];
    case "imageRatio":
      return [png({ width: 100, height: 100 * amount })];
    case "imageCount":
      return many(amount);
    case "documentCount":
      return many(amount, pdf());
    case "documentPages":
      return [pdf({ pages: amount })];
    case "bodyBytes":
      return [{ kind: "text", mediaType: "text/plain", size }];
    case "textCharacters":
      return [{ kind: "text", mediaType: "text/plain", size: 1, characters: amount }];
    default:
      throw new Error(`no amount of ${rule}`);
  }
}

/** Over by the least that there is: a byte for base64, a pixel for a ratio. */
function leastOver(row: LimitRow): readonly LimitItem[] {
  const value = row.value as number;
  if (row.unit === "base64Bytes") {
    return amounting(row, value).map((item) => ({ ...item, size: item.size + 1 }));
  }
  return amounting(row, row.unit === "ratio" ? value + 0.01 : value + 1);
}

/** Where a row counts and no tighter one does; `short` by one of it where it depends on a number. */
function situationOf(
  row: LimitRow,
  profile: LimitProfile,
  short = 0,
): readonly [LimitSituation, LimitItem[]] {
  const {
    models,
    transport = profile.transports,
    contextWindowBelow,
    imagesOver,
    withDocuments,
  } = row.when ?? {};
  const isCount = row.rule === "imageCount" && imagesOver !== undefined;
  const elsewhere = transport.find((each) => !profile.rows.some((other) => tighter(other, row, each)));
  return [
    {
      transport: elsewhere ?? "none",
      ...(models === undefined ? {} : { model: `${models[0]}-x` }),
      contextWindow: contextWindowBelow === undefined ? 1e9 : contextWindowBelow - 1 + short,
      // A document is the one more, so that the row for images alone does not count.
      ...(imagesOver === undefined || isCount
        ? {}
        : { imageCount: imagesOver + (withDocuments ? 0 : 1) - short }),
    },
    isCount
      ? Array.from({ length: imagesOver - Number(row.value) - short }, pdf)
      : withDocuments
        ? [pdf()]
        : [],
  ];
}

function tighter(other: LimitRow, row: LimitRow, transport: string): boolean {
  const { transport: transports = [transport], contextWindowBelow, imagesOver } = other.when ?? {};
  return (
    [other.rule, other.scope, other.unit].join() === [row.rule, row.scope, row.unit].join() &&
    other.value < row.value &&
    transports.includes(transport) &&
    contextWindowBelow === undefined &&
    imagesOver === undefined
  );
}

describe("each number of a profile", () => {
  const found = (row: LimitRow, profile: LimitProfile, items: readonly LimitItem[], short = 0) => {
    const [situation, others] = situationOf(row, profile, short);
    return checkLimits([...items, ...others], profile, situation).filter(
      ({ rule, scope, unit }) => rule === row.rule && scope === row.scope && unit === row.unit,
    );
  };

  test.each(numericRows)("is allowed, and the least over it is not: $title", ({ row, profile }) => {
    expect(found(row, profile, amounting(row, row.value as number))).toEqual([]);
    expect(found(row, profile, leastOver(row))).toMatchObject([{ limit: row.value, source: row.source }]);
  });

  test.each(numericRows.filter(({ row: { when } }) => when?.contextWindowBelow ?? when?.imagesOver))(
    "counts only under its condition: $title",
    ({ row, profile }) => {
      expect(found(row, profile, leastOver(row), 1)).toEqual([]);
    },
  );
});

describe("checkLimits", () => {
  // @covers R39 › knows Tether: 10 MiB
  // @covers R41 › knows Tether: more
  // @covers R42 › knows Tether: more a frame
  // @covers R43 › knows Tether: 5 images
  // @covers R48 › knows Tether: 28 MiB on the wire
  // @covers R163 › knows Chirality: a zip
  // @covers R165 › knows Chirality: more
  // @covers R166 › knows Chirality: more a turn
  test.each(bounds)("knows %s", (_, profile, items, situation, rule) => {
    expect(rules(checkLimits(items, profile, situation))).toEqual(rule === undefined ? [] : [rule]);
  });

  test("says which item breaks which rule, by how much, and where it is written", () => {
    const items = [...many(20), png({ width: 3000, height: 2000, message: 7, resourceId: "res_a" })];
    expect(checkLimits(items, limitProfiles.anthropic)).toEqual([
      {
        rule: "imageSide",
        scope: "item",
        unit: "pixels",
        limit: 2000,
        actual: 3000,
        items: [{ index: 20, resourceId: "res_a" }],
        message: 7,
        source: "https://platform.claude.com/docs/en/build-with-claude/vision",
      },
    ]);
  });

  test("names what it counted together", () => {
    const items = [png({ size: 9e6, message: 3 }), pdf({ message: 3 }), png({ size: 12e6, message: 3 })];
    expect(checkLimits(items, limitProfiles.tether)).toMatchObject([
      {
        rule: "imageBytes",
        scope: "item",
        limit: tetherLimits.maxImageBytes,
        actual: 12e6,
        items: [{ index: 2 }],
      },
      {
        rule: "imageBytes",
        scope: "message",
        limit: tetherLimits.maxFrameBytes,
        actual: 21e6,
        items: [{ index: 0 }, { index: 2 }],
        message: 3,
      },
    ]);
    expect(checkLimits([], limitProfiles.anthropic, { bodyBytes: 4e7 })).toMatchObject([
      { rule: "bodyBytes", actual: 4e7, items: [] },
    ]);
  });

  test("takes a stored resource as it is", () => {
    const resource = {
      resourceId: "res_0123456789abcdef",
      kind: "image",
      mediaType: "image/png",
      size: chiralityLimits.maxFileBytes + 1,
      blob: `sha256:${"0".repeat(64)}`,
      contentSha256: "0".repeat(64),
      source: "upload",
    } as const;
    expect(checkLimits([resource], limitProfiles.chirality)).toMatchObject([
      { rule: "fileBytes", items: [{ index: 0, resourceId: "res_0123456789abcdef" }] },
    ]);
  });

  test.each([
    [5, {}, /^items: expected an array, got 5$/],
    [[null], {}, /^items\[0\]: expected an object, got null$/],
    [[{ size: 1 }], {}, /^items\[0\]\.mediaType: expected a string, got undefined$/],
    [[png(), { size: 1 }], {}, /^items\[1\]\.mediaType/],
    [[{ mediaType: "image/png" }], {}, /^items\[0\]\.size: expected a finite number >= 0, got undefined$/],
    [[png({ size: "5" as never })], {}, /^items\[0\]\.size: expected a finite number >= 0, got "5"$/],
    [
      [{ kind: "link", resourceId: "res_a", url: "https://example.org" }],
      {},
      /^items\[0\]: expected an item with bytes, got a link/,
    ],
    ...(["size", "width", "height", "pages", "characters", "message"] as const).flatMap((name) =>
      ([-1, Number.NaN, Number.POSITIVE_INFINITY, null] as never[]).map(
        (bad) =>
          [
            [png(), png({ [name]: bad })],
            {},
            new RegExp(`^items\\[1\\]\\.${name}: expected a finite number >= 0, got ${bad}$`),
          ] as const,
      ),
    ),
    ...(["contextWindow", "imageCount", "bodyBytes"] as const).flatMap((name) =>
      ([-1, Number.NaN, Number.POSITIVE_INFINITY, "5"] as never[]).map(
        (bad) =>
          [
            [],
            { [name]: bad },
            new RegExp(`^${name}: expected a finite number >= 0, got "?${bad}"?$`),
          ] as const,
      ),
    ),
  ] as const)("refuses %j with %j: %s", (items, situation, message) => {
    expect(() => checkLimits(items as never, limitProfiles.anthropic, situation)).toThrow(TypeError);
    expect(() => checkLimits(items as never, limitProfiles.anthropic, situation)).toThrow(message);
  });

  test("refuses a transport that the profile does not have", () => {
    expect(() => checkLimits([], limitProfiles.anthropic, { transport: "pigeon" })).toThrow(
      new RangeError('transport: expected one of api, bedrock, vertex, got "pigeon"'),
    );
  });

  test("keeps the rows of a profile of one's own apart", () => {
    const row = { scope: "item", evidence: "measured", asOf: "2026-11-21", source: "here" } as const;
    const own: LimitProfile = {
      name: "own",
      transports: ["wire"],
      rows: [
        { rule: "fileBytes", value: 10, unit: "decodedBytes", ...row },
        { rule: "fileBytes", value: 8, unit: "base64Bytes", ...row },
        { rule: "imageTypes", value: ["image/png"], unit: "mediaType", ...row },
        { rule: "imageTypes", value: ["image/gif"], unit: "mediaType", ...row },
      ],
    };
    expect(checkLimits([png({ size: 7 })], own)).toMatchObject([
      { rule: "fileBytes", unit: "base64Bytes", limit: 8, actual: 12 },
      { rule: "imageTypes", limit: ["image/gif"], actual: "image/png" },
    ]);
  });
});

describe("for any request and any profile, checkLimits", () => {
  const near = (...values: readonly number[]) =>
    fc.oneof(...values.map((value) => fc.constantFrom(value - 1, value, value + 1)), fc.nat({ max: 20_000 }));
  const item: fc.Arbitrary<LimitItem> = fc.record(
    {
      mediaType: fc.constantFrom("image/png", "image/gif", "image/heic", "application/pdf", "text/plain"),
      size: near(10 * 2 ** 20, 7_500_000, 3_750_000),
      width: near(8000, 2000),
      height: near(8000, 2000),
      animated: fc.boolean(),
      pages: near(100, 600),
      encrypted: fc.boolean(),
      characters: near(1024),
      message: fc.nat({ max: 3 }),
      kind: fc.constant("text"),
    },
    { requiredKeys: ["mediaType", "size"] },
  );
  const request = fc
    .tuple(fc.array(item, { maxLength: 6 }), fc.constantFrom(0, 0, 18), item)
    .map(([items, copies, copied]) => [...items, ...many(copies, copied)]);
  const target = fc.constantFrom<LimitProfile>(...Object.values(limitProfiles)).chain((profile) =>
    fc.record({
      profile: fc.constant(profile),
      situation: fc.record<LimitSituation>(
        {
          transport: fc.constantFrom(...profile.transports),
          contextWindow: fc.constantFrom(200_000, 1_000_000),
          imageCount: fc.nat({ max: 30 }),
          bodyBytes: fc.nat({ max: 60_000_000 }),
        },
        { requiredKeys: [] },
      ) as fc.Arbitrary<LimitSituation>,
    }),
  );

  /** What a violation is of, whatever its numbers: with the items themselves in place of their indexes. */
  const identity = ({ rule, scope, message, items }: LimitViolation, of: readonly LimitItem[]) =>
    scope === "item" ? [rule, scope, of[items[0]?.index as number]] : [rule, scope, message];

  test("finds no less when an item more is sent, wherever it stands", () => {
    fc.assert(
      fc.property(request, item, fc.nat(), target, (items, more, at, { profile, situation }) => {
        const place = at % (items.length + 1);
        const larger = [...items.slice(0, place), more, ...items.slice(place)];
        const found = checkLimits(larger, profile, situation).map((each) => identity(each, larger));
        for (const each of checkLimits(items, profile, situation)) {
          expect(found).toContainEqual(identity(each, items));
        }
      }),
    );
  });

  test("finds the same in any order", () => {
    fc.assert(
      fc.property(
        request.chain((items) =>
          fc.tuple(fc.constant(items), fc.shuffledSubarray(items, { minLength: items.length })),
        ),
        target,
        ([items, shuffled], { profile, situation }) => {
          const found = (all: readonly LimitItem[]) =>
            checkLimits(all, profile, situation)
              .map((each) => {
                const counted = each.items.map(({ index }) => JSON.stringify(all[index])).sort();
                return JSON.stringify({ ...each, items: counted });
              })
              .sort();
          expect(found(shuffled)).toEqual(found(items));
        },
      ),
    );
  });

  test("reports each place once for a rule, unit and scope, and only what is over", () => {
    fc.assert(
      fc.property(request, target, (items, { profile, situation }) => {
        const violations = checkLimits(items, profile, situation);
        const places = violations.map(({ rule, unit, scope, message, items: which }) =>
          JSON.stringify([rule, unit, scope, scope === "item" ? which : message]),
        );
        expect(new Set(places).size).toBe(places.length);
        for (const { limit, actual } of violations) {
          if (typeof limit === "number") expect(actual).toBeGreaterThan(limit);
        }
      }),
    );
  });
});

describe("base64Length", () => {
  test("is the length of the base64, without encoding", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        expect(base64Length(bytes.length)).toBe(Buffer.from(bytes).toString("base64").length);
      }),
    );
  });

  test("agrees with the other direction: floor(limit / 4) * 3 bytes fit, and no more", () => {
    fc.assert(
      fc.property(fc.nat(), (limit) => {
        const fits = Math.floor(limit / 4) * 3;
        expect(base64Length(fits)).toBeLessThanOrEqual(limit);
        expect(base64Length(fits + 1)).toBeGreaterThan(limit);
      }),
    );
  });
});

describe("kindOf", () => {
  test.each([
    ["image/png", undefined, "image"],
    ["application/pdf", undefined, "document"],
    ["text/plain", undefined, "document"],
    ["text/plain", "file", "document"],
    ["text/plain", "text", "text"],
  ])("of %s, %s is %s", (mediaType, kind, expected) => {
    expect(itemKind({ mediaType, size: 1, ...(kind === undefined ? {} : { kind }) })).toBe(expected);
  });
});

describe("measure", () => {
  const image = { mediaType: "image/png", size: 10, width: 30, height: 60 };
  const pdf = { mediaType: "application/pdf", size: 10, pages: 3 };
  const note = { mediaType: "text/plain", size: 10 };
  const caption = { ...note, kind: "text", characters: 9 };
  test.each([
    ["imageBytes", "decodedBytes", [10, undefined, undefined, undefined]],
    ["imageBytes", "base64Bytes", [16, undefined, undefined, undefined]],
    ["documentBytes", "decodedBytes", [undefined, 10, 10, undefined]],
    ["fileBytes", "decodedBytes", [10, 10, 10, undefined]],
    ["imageSide", "pixels", [60, undefined, undefined, undefined]],
    ["imageSideSum", "pixels", [90, undefined, undefined, undefined]],
    ["imageRatio", "ratio", [2, undefined, undefined, undefined]],
    ["imageArea", "pixels", [1800, undefined, undefined, undefined]],
    ["imageCount", "count", [1, undefined, undefined, undefined]],
    ["documentCount", "count", [undefined, 1, 1, undefined]],
    ["documentPages", "pages", [undefined, 3, undefined, undefined]],
    ["bodyBytes", "bodyBytes", [16, 16, 10, 10]],
    ["textCharacters", "characters", [undefined, undefined, undefined, 9]],
  ] as const)("%s in %s", (rule, unit, expected) => {
    expect([image, pdf, note, caption].map((item) => measure(rule, unit, item))).toEqual(expected);
  });

  test("says nothing of sides that are not told", () => {
    expect(measure("imageSide", "pixels", { mediaType: "image/png", size: 1, width: 9000 })).toBeUndefined();
  });
});
