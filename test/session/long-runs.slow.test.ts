import { messageText, userMessage } from "sessile/content";
import { escapeContextTokens, parseContextTokens, unescapeContextTokens } from "sessile/context-tokens";
import { estimateTextTokens } from "sessile/estimate";
import { secretRedaction } from "sessile/interop";
import { memorySessionStore } from "sessile/session";
import { describe, expect, test } from "vitest";
import { cleanLine } from "../../src/memory/text.js";
import { asContent } from "../../src/projections/transcript.js";
import { searchTermsOfLine } from "../../src/session/internal.js";

/** Bytes of a text; a backtracking expression fails from some 6 MB on. */
const size = 20_000_000;
const units = ["y", "aGVsbG8gd29ybGQ", " ", "\n", "\t", '"', "\\", "[", "<<context:", "12", "-", "%41"];
const wide = ["é", "京", "\u{20000}", "👍🏽", "\u0301\u0323", "\u200b", "\ud800", "ﷺ"];

describe.each([...units, ...wide])("a run of %j", (unit) => {
  const text = `${unit.repeat(Math.floor(size / Buffer.byteLength(unit)))} needle`;

  test("is appended, listed and searched", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/w" });
    await session.appendMessage(userMessage(text));
    let count = 0;
    for await (const _ of store.search({ text: "needle" })) count++;
    for await (const _ of store.list()) count++;
    expect(count).toBe(2);
    expect(messageText(userMessage(text)).length).toBe(text.length);
  });

  test("is read by every part that reads texts", () => {
    const message = { role: "user", content: text, timestamp: 0 };
    const place = { id: "00000001", parentId: null, timestamp: "2026-01-01T00:00:00.000Z" };
    const line = JSON.stringify({ type: "message", ...place, message });
    expect(searchTermsOfLine(new TextEncoder().encode(line)).length).toBeGreaterThan(0);
    expect(secretRedaction()(text).endsWith("needle")).toBe(true);
    expect(estimateTextTokens(text)).toBeGreaterThan(0);
    expect(parseContextTokens(text).length).toBeGreaterThan(0);
    expect(unescapeContextTokens(escapeContextTokens(text)) === text).toBe(true);
    expect(cleanLine(text, 200).length).toBeGreaterThan(0);
    expect(asContent(text).endsWith("needle")).toBe(true);
  });
});
