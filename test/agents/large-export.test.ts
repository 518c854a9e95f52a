// An export may be longer than the longest string: its files are encoded in parts.

import { assistantMessage, memorySessionStore, userMessage } from "sessile";
import { claudeCode } from "sessile/claude-code";
import { codex } from "sessile/codex";
import { gemini } from "sessile/gemini-cli";
import { exportSession } from "sessile/interop";
import { kimiCode } from "sessile/kimi-code";
import { opencode } from "sessile/opencode";
import { qwenCode } from "sessile/qwen-code";
import { describe, expect, test } from "vitest";

const messages = 40;
const length = 50_000;

async function exported(to: typeof claudeCode, count: number) {
  const session = await memorySessionStore().create({ cwd: "/w" });
  for (let at = 0; at < count; at++) {
    await session.appendMessage(userMessage(`${at} ${"x".repeat(length)}`));
    await session.appendMessage(assistantMessage({ provider: "a", model: "m" }, `reply ${at}`));
  }
  return (await exportSession(session, { to, now: () => Date.UTC(2026, 0, 1) })).files;
}

describe.each([claudeCode, codex, gemini, opencode, qwenCode, kimiCode])("$name", (to) => {
  test("encodes no text of more than a few messages", async () => {
    const { encode } = TextEncoder.prototype;
    let longest = 0;
    TextEncoder.prototype.encode = function (text) {
      longest = Math.max(longest, text?.length ?? 0);
      return encode.call(this, text);
    };
    try {
      const [file] = await exported(to, messages);
      expect(file?.bytes.length).toBeGreaterThan(messages * length);
    } finally {
      TextEncoder.prototype.encode = encode;
    }
    expect(longest).toBeLessThan(5 * length);
  });
});

test.each([0, 1, 2])("opencode's file of %i turns is JSON that is indented by two", async (turns) => {
  const [file] = await exported(opencode, turns);
  const text = new TextDecoder().decode(file?.bytes);
  expect(text).toBe(`${JSON.stringify(JSON.parse(text), null, 2)}\n`);
});
