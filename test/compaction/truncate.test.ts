import fc from "fast-check";
import { truncateToolResult } from "sessile/compaction";
import { type TextBlock, type ToolResultMessage, toolResult, userMessage } from "sessile/content";
import { memorySessionStore } from "sessile/session";
import { describe, expect, test } from "vitest";
import { truncateText } from "../../src/compaction/truncate.js";
import { imageBlock, textBlock } from "../arbitraries/messages.js";

const tokensOf = (text: string) => Math.ceil(new TextEncoder().encode(text).length / 4);
const note = /\[… (\d+) tokens left out …\]/;

const piece = fc.constantFrom("a", "é", "日", "\ud83d\ude00", "\ud83d", "\ude00", "\n", "a line of text\n");
const texts = fc
  .tuple(fc.array(piece, { maxLength: 60 }), fc.integer({ min: 1, max: 8 }))
  .map(([pieces, times]) => pieces.join("").repeat(times));
const bounds = fc.record(
  { maxTokens: fc.integer({ min: 1, max: 120 }), maxChars: fc.integer({ min: 1, max: 300 }) },
  { requiredKeys: ["maxTokens"] },
);

describe("truncateText", () => {
  test("is within the bounds, and the same text where that is", () => {
    fc.assert(
      fc.property(texts, bounds, (text, options) => {
        const { maxTokens, maxChars = Number.POSITIVE_INFINITY } = options;
        const cut = truncateText(text, options);
        expect(tokensOf(cut)).toBeLessThanOrEqual(maxTokens);
        expect(cut.length).toBeLessThanOrEqual(maxChars);
        expect(cut === text).toBe(tokensOf(text) <= maxTokens && text.length <= maxChars);
        expect(truncateText(cut, options)).toBe(cut);
      }),
    );
  });

  test("keeps a head and a tail of the text, and counts what is between them", () => {
    fc.assert(
      fc.property(texts, bounds, (text, options) => {
        const cut = truncateText(text, options);
        const found = cut === text ? null : note.exec(cut);
        fc.pre(found !== null);
        const [whole, tokens] = found as RegExpExecArray;
        const head = cut.slice(0, found?.index);
        const tail = cut.slice((found?.index ?? 0) + whole.length).replace(/^\n/, "");
        expect(text.startsWith(head)).toBe(true);
        expect(text.endsWith(tail)).toBe(true);
        const between = text.slice(head.length, text.length - tail.length);
        // A line end behind the note may be the note's or the text's.
        expect([tokensOf(between), tokensOf(between.slice(0, -1))]).toContain(Number(tokens));
      }),
    );
  });

  test("never makes a lone surrogate", () => {
    const wholeTexts = fc.array(fc.constantFrom("\ud83d\ude00", "a", "\n"), { maxLength: 200 });
    fc.assert(
      fc.property(wholeTexts, bounds, (pieces, options) => {
        expect(truncateText(pieces.join(""), options).isWellFormed()).toBe(true);
      }),
    );
  });

  test("cuts at lines' ends where lines are short, and within a line that is long", () => {
    const lines = Array.from({ length: 1000 }, (_, at) => `line ${at}\n`).join("");
    expect(truncateText(lines, { maxTokens: 100 })).toMatch(
      /^(?:line \d+\n)+\[… \d+ tokens left out …\]\n(?:line \d+\n)+$/,
    );
    const long = truncateText("x".repeat(10_000), { maxTokens: 100 });
    expect(long).toMatch(/^x{180,}\[… \d+ tokens left out …\]x{180,}$/);
  });

  test("leaves the head alone where there is no room for the note", () => {
    expect(truncateText("abcdefghijkl", { maxTokens: 2 })).toBe("abcdefgh");
    expect(truncateText("abcdefghijkl", { maxChars: 3 })).toBe("abc");
  });

  test("takes 10,000 tokens by default", () => {
    const most = "x".repeat(40_000);
    expect(truncateText(most)).toBe(most);
    expect(truncateText(`${most}x`)).toMatch(note);
  });

  test.each([{ maxTokens: 0 }, { maxTokens: 1.5 }, { maxChars: 0 }, { maxChars: Number.NaN }])(
    "refuses %j",
    (options) => {
      expect(() => truncateText("", options)).toThrow(RangeError);
    },
  );
});

describe("truncateToolResult", () => {
  const contents = fc.array(
    fc.oneof(
      texts.map((text): TextBlock => ({ type: "text", text })),
      textBlock,
      imageBlock,
    ),
    { maxLength: 6 },
  );
  const isPlain = (block: ToolResultMessage["content"][number]): block is TextBlock =>
    block.type === "text" && block.resource === undefined;
  const plainText = ({ content }: ToolResultMessage) =>
    content.map((block) => (isPlain(block) ? block.text : "")).join("");

  test("cuts all its texts as one, and keeps every other block", () => {
    fc.assert(
      fc.property(contents, bounds, (content, options) => {
        const message = { ...toolResult({ id: "c", name: "bash" }), content, details: { exit: 1 } };
        const cut = truncateToolResult(message, options);
        expect(plainText(cut)).toBe(truncateText(plainText(message), options));
        const others = (of: ToolResultMessage) => of.content.filter((block) => !isPlain(block));
        expect(others(cut)).toEqual(others(message));
        expect({ ...cut, content }).toEqual(message);
        if (plainText(cut) === plainText(message)) expect(cut).toBe(message);
        expect(truncateToolResult(cut, options)).toBe(cut);
      }),
    );
  });

  test("keeps blocks in their places, and leaves out those that are cut away", () => {
    const block = (text: string): TextBlock => ({ type: "text", text });
    const image = { type: "image" as const, data: "", mimeType: "image/png" };
    const marked = { ...block("m".repeat(400)), textSignature: "of the whole" };
    const message = {
      ...toolResult({ id: "c", name: "bash" }),
      content: [marked, image, block("n".repeat(400)), block("o".repeat(400))],
    };
    const { content } = truncateToolResult(message, { maxTokens: 50 });
    expect(content).toHaveLength(3);
    expect(content[0]).toEqual({
      type: "text",
      text: expect.stringMatching(/^m+\[… \d+ tokens left out …\]$/),
    });
    expect(content[1]).toBe(image);
    expect(content[2]).toEqual({ type: "text", text: expect.stringMatching(/^o+$/) });
  });
});

describe("truncateToolResult as the policy of a store", () => {
  test("holds what is recorded to 10,000 tokens, and a second append is the same entry", async () => {
    const sessions = memorySessionStore({ truncate: truncateToolResult });
    const session = await sessions.create({ cwd: "/p" });
    const draft = {
      type: "message",
      id: "r1",
      message: toolResult({ id: "c1", name: "bash" }, "a line of output\n".repeat(20_000)),
    } as const;
    const [entry] = await session.append([draft]);
    const stored = JSON.parse(new TextDecoder().decode(await session.raw("r1"))).message.content[0].text;
    expect(tokensOf(stored)).toBeLessThanOrEqual(10_000);
    expect(tokensOf(stored)).toBeGreaterThan(5000);
    expect(stored).toMatch(note);
    const { items } = await session.context();
    expect(items[0]?.message).toMatchObject({ content: [{ text: stored }] });
    expect(await session.append([draft])).toEqual([entry]);
    await session.appendMessage(userMessage("a line of output\n".repeat(20_000)));
    expect((await session.context()).items[1]?.message).toMatchObject({
      content: "a line of output\n".repeat(20_000),
    });
  });
});
