import {
  assistantMessage,
  contextFrom,
  memorySessionStore,
  messageText,
  project,
  toolResult,
  userMessage,
} from "sessile";
import { compact, rollingSummary } from "sessile/compaction";
import { escapeContextTokens, parseContextTokens, unescapeContextTokens } from "sessile/context-tokens";
import { estimateTextTokens } from "sessile/estimate";
import { secretRedaction } from "sessile/interop";
import { assistantDelta, readFrame } from "sessile/tether";
import { describe, expect, test, vi } from "vitest";
import { searchTermsOfLine } from "../../src/log/internal.js";
import { cleanLine } from "../../src/memory/blocks.js";
import { asContent } from "../../src/providers/internal.js";
import { viewerHtml } from "../../src/viewer/internal.js";
import { checkedTargets } from "../support/checked-targets.js";

/** Bytes of a text in JSON; a backtracking expression fails from some 6 MB on, and a line has at most 64 MiB. */
const size = 60_000_000;
/** Bytes of a text that many parts copy. */
const smaller = 9_000_000;
const units = ["y", "aGVsbG8gd29ybGQ", " ", "\n", "\t", '"', "\\", "[", "<<context:", "12", "-", "%41"];
const wide = ["é", "京", "\u{20000}", "👍🏽", "\u0301\u0323", "\u200b", "\ud800", "ﷺ"];

vi.setConfig({ testTimeout: 600_000 });

describe.each([...units, ...wide])("a run of %j", (unit) => {
  const unitBytes = Buffer.byteLength(JSON.stringify(unit)) - 2;
  const textOf = (bytes: number) => `${unit.repeat(Math.floor(bytes / unitBytes))} needle`;
  const text = textOf(size);

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

  test("is sent to every provider, summarised, framed and shown", async () => {
    const said = textOf(smaller);
    const call = { type: "toolCall", id: "c1", name: "read", arguments: { path: said } } as const;
    const asked = assistantMessage({ provider: "p", model: "m" }, said, call);
    const messages = [userMessage(said), asked, toolResult(call, said)];
    for (const { name, target } of checkedTargets) {
      const { value } = await project(contextFrom(messages), target);
      expect(JSON.stringify(value).length, name).toBeGreaterThan(0);
    }
    const session = await memorySessionStore().create({ cwd: "/w" });
    for (const message of [...messages, userMessage("next")]) await session.appendMessage(message);
    const generate = async () => ({ text: "Done." });
    const result = await compact(session, { strategy: rollingSummary(), window: 100_000, generate });
    expect(result.status).toBe("compacted");
    const frame = assistantDelta({ channel: "c", id: "i" }, said);
    expect(readFrame(JSON.stringify(frame)).frame).toBeDefined();
    const page = { header: session.header, entries: await session.path(), leafId: session.leafId };
    const { parts } = await viewerHtml(page, { template: "<head></head><!--session-data-->" });
    expect(parts.length).toBeGreaterThan(0);
  });
});
