import fc from "fast-check";
import {
  assistantMessage,
  type ContextMessage,
  describeResource,
  type StoredResource,
  toolResult,
  userMessage,
} from "sessile";
import {
  estimateMessageTokens,
  estimateResourceTokens,
  estimateTextTokens,
  type MessageTokenOptions,
} from "sessile/estimate";
import { describe, expect, test } from "vitest";
import { message } from "../arbitraries/messages.js";

const asPi: MessageTokenOptions = { text: "chars/4", image: { kind: "flat", tokens: 1200 } };
const resource = (more: Partial<StoredResource> = {}): StoredResource => ({
  resourceId: "res_0123456789abcdef",
  kind: "image",
  mediaType: "image/png",
  size: 90_000,
  blob: `sha256:${"0".repeat(64)}`,
  contentSha256: "0".repeat(64),
  source: "upload",
  ...more,
});
const full = () => "full" as const;
const call = {
  type: "toolCall",
  id: "c1",
  name: "write",
  arguments: { path: "a.txt", content: "hello" },
} as const;

describe("estimateMessageTokens", () => {
  test("counts every kind of message and block", () => {
    const timestamp = 0;
    const cases: readonly (readonly [ContextMessage, number])[] = [
      [userMessage("x".repeat(9)), 3],
      [userMessage("x".repeat(4), "x".repeat(4)), 2],
      [
        {
          ...assistantMessage({ provider: "p", model: "m" }, "x".repeat(8), call),
          content: [
            { type: "thinking", thinking: "x".repeat(4), thinkingSignature: "s".repeat(4000) },
            { type: "text", text: "x".repeat(4), textSignature: "s".repeat(4000) },
            call,
            { type: "opaque", data: [1, 2] },
          ],
        },
        Math.ceil((4 + 4 + "write".length + JSON.stringify(call.arguments).length + "[1,2]".length) / 4),
      ],
      [{ ...toolResult(call, "x".repeat(4)), details: "x".repeat(4000) }, 1],
      [
        {
          role: "bashExecution",
          command: "ls",
          output: "a b",
          exitCode: 0,
          cancelled: false,
          truncated: false,
          timestamp,
        },
        2,
      ],
      [
        {
          role: "bashExecution",
          command: "ls",
          output: "a b",
          cancelled: false,
          truncated: false,
          excludeFromContext: true,
          timestamp,
        },
        0,
      ],
      [{ role: "custom", customType: "note", content: "x".repeat(8), display: true, timestamp }, 2],
      [
        {
          role: "system",
          content: "x".repeat(4),
          sections: { a: "x".repeat(4), b: null },
          toolsAdded: [{ name: "read" }],
          timestamp,
        },
        Math.ceil((8 + '[{"name":"read"}]'.length) / 4),
      ],
      [{ role: "compactionSummary", summary: "x".repeat(5), tokensBefore: 9, timestamp }, 2],
      [{ role: "compactionSummary", summary: "x".repeat(5), tokensBefore: 9, details: ["y"], timestamp }, 2],
      [{ role: "branchSummary", summary: "x".repeat(5), fromId: "root", timestamp }, 2],
      [{ role: "branchSummary", summary: "x".repeat(5), fromId: "root", details: { a: "y" }, timestamp }, 2],
    ];
    for (const [each, tokens] of cases) expect(estimateMessageTokens(each, asPi), each.role).toBe(tokens);
  });

  test("counts an inline image as the most that the family knows", () => {
    const image = { type: "image", data: "AAAA", mimeType: "image/png" } as const;
    const shown: ContextMessage = { role: "user", content: [image, image], timestamp: 0 };
    expect(estimateMessageTokens(shown)).toBe(2 * 1568);
    expect(estimateMessageTokens(shown, { image: "gemini3" })).toBe(2 * 1120);
    expect(estimateMessageTokens(shown, asPi)).toBe(2400);
  });

  const described = (of: StoredResource) => estimateTextTokens(describeResource(of));
  const usageCost = (of: StoredResource, options: MessageTokenOptions) =>
    estimateMessageTokens(userMessage(of), options);

  test("counts what of an attachment is sent", () => {
    const sized = resource({ width: 1920, height: 1080 });
    expect(usageCost(sized, {})).toBe(described(sized));
    expect(usageCost(sized, { replay: () => "omit" })).toBe(0);
    expect(usageCost(sized, { replay: full })).toBe(described(sized) + 1560);
    expect(usageCost(sized, { replay: full, image: "anthropicLarge" })).toBe(described(sized) + 2691);
    for (const unknown of [resource(), resource({ width: 0, height: 5 })]) {
      expect(usageCost(unknown, { replay: full })).toBe(described(unknown) + 1568);
    }
  });

  test("counts documents in full by their size, where nothing better is known", () => {
    const pdf = resource({ kind: "file", mediaType: "application/pdf", size: 120_000 });
    expect(usageCost(pdf, { replay: full, pdf: "gemini" })).toBe(described(pdf) + 3 * 258);
    expect(usageCost(pdf, { replay: full })).toBe(described(pdf) + 3 * 4568);
    const text = resource({ kind: "file", mediaType: "text/csv", size: 3000 });
    expect(usageCost(text, { replay: full })).toBe(described(text) + 1000);
    const zip = resource({ kind: "file", mediaType: "application/zip" });
    expect(usageCost(zip, { replay: full })).toBe(described(zip));
  });

  test("counts a link as its description", () => {
    const link = {
      resourceId: "res_0123456789abcdef",
      kind: "link",
      source: "link",
      uri: "https://example.com/a",
    } as const;
    const text = describeResource(link);
    expect(estimateMessageTokens(userMessage(link), { replay: full })).toBe(estimateTextTokens(text));
  });

  test("takes any message, and gives a whole number", () => {
    fc.assert(
      fc.property(message, (any) => {
        const tokens = estimateMessageTokens(any, { replay: full });
        expect(Number.isSafeInteger(tokens)).toBe(true);
        expect(tokens).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  // @covers R127
  test("counts by a quarter of the length exactly, arguments as JSON.stringify writes them", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), (value, text) => {
        const said = assistantMessage({ provider: "p", model: "m" }, text, { ...call, arguments: value });
        const characters = text.length + "write".length + JSON.stringify(value).length;
        expect(estimateMessageTokens(said, asPi)).toBe(Math.ceil(characters / 4));
      }),
    );
  });

  test.each([[null], [undefined], [{}], ["hi"], [{ role: 5 }]])("refuses %j", (value) => {
    expect(() => estimateMessageTokens(value as never)).toThrow(/^message\.role: expected a string, got /);
  });

  test("refuses a role and a block that it does not know", () => {
    expect(() => estimateMessageTokens({ role: "oracle" } as never)).toThrow(TypeError);
    const odd = { role: "user", content: [{ type: "smell" }], timestamp: 0 };
    expect(() => estimateMessageTokens(odd as never)).toThrow(TypeError);
  });
});

describe("estimateResourceTokens", () => {
  const pdf = (size: number) => ({ mediaType: "application/pdf", size });

  test("counts a PDF by its pages of some 50 kB", () => {
    expect(estimateResourceTokens(pdf(0), { pdf: "gemini" })).toBe(258);
    expect(estimateResourceTokens(pdf(500_000), { pdf: "gemini" })).toBe(2580);
    expect(estimateResourceTokens(pdf(50_001))).toBe(2 * (3000 + 1568));
  });

  test("refuses a size that is not an integer and a family that is not known", () => {
    expect(() => estimateResourceTokens(pdf(1.5))).toThrow(
      new RangeError("size: expected an integer >= 0, got 1.5"),
    );
    expect(() => estimateResourceTokens(pdf(undefined as never))).toThrow(RangeError);
    for (const family of ["openai", "toString", null]) {
      expect(() => estimateResourceTokens(pdf(1), { pdf: family as never })).toThrow(
        /^pdf: expected one of anthropic, gemini, got /,
      );
    }
  });
});
