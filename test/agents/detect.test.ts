import { detectSession } from "sessile/interop";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../support/plain-values.js";

const time = "2026-01-01T00:00:00.000Z";
const uuid = "0f8fad5b-d9cb-469f-a165-70867728950e";
const line = (...values: readonly unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join("");
const meta = { id: uuid, timestamp: time, cwd: "/w", cli_version: "0.58.0", instructions: "x".repeat(100) };

const samples: readonly (readonly [string, string, object])[] = [
  [
    "this library",
    line({ type: "session", version: 3, id: "s", timestamp: time, cwd: "/w", sessile: 1 }),
    { format: "sessile", sure: true },
  ],
  [
    "pi",
    line({ type: "session", version: 3, id: "s", timestamp: time, cwd: "/w" }),
    { format: "pi", sure: true },
  ],
  [
    "pi's version 1",
    line({ type: "session", id: "s", timestamp: time, cwd: "/w" }),
    { format: "pi", sure: true },
  ],
  [
    "Claude Code",
    line({
      type: "user",
      uuid,
      parentUuid: null,
      sessionId: uuid,
      version: "2.1.0",
      message: { role: "user", content: "hi" },
    }),
    { format: "claude-code", agentVersion: "2.1.0", sure: true },
  ],
  [
    "a summary of Claude Code",
    line({ type: "summary", summary: "x", leafUuid: uuid }),
    { format: "claude-code", sure: true },
  ],
  [
    "Codex",
    line({ timestamp: time, type: "session_meta", payload: meta }),
    { format: "codex", variant: "legacy", agentVersion: "0.58.0", sure: true },
  ],
  [
    "Codex with ordinals",
    line({ ordinal: 0, timestamp: time, type: "session_meta", payload: meta }),
    { format: "codex", variant: "paginated", agentVersion: "0.58.0", sure: true },
  ],
  [
    "Codex with bare items",
    line({ id: uuid, timestamp: time, instructions: null }, { record_type: "state" }),
    { format: "codex", variant: "bare", sure: true },
  ],
  [
    "the first Codex",
    JSON.stringify({ session: { id: uuid, timestamp: time }, items: [] }, null, 2),
    { format: "codex", variant: "json", sure: true },
  ],
  [
    "Gemini CLI",
    line({ sessionId: uuid, projectHash: "0", startTime: time, lastUpdated: time }),
    { format: "gemini", variant: "jsonl", sure: true },
  ],
  [
    "Gemini CLI's JSON",
    JSON.stringify({ sessionId: uuid, projectHash: "0", startTime: time, messages: [] }, null, 2),
    { format: "gemini", variant: "json", sure: true },
  ],
  [
    "Qwen Code",
    line({ uuid, parentUuid: null, sessionId: uuid, type: "user", message: { role: "user", parts: [] } }),
    { format: "qwen-code", sure: true },
  ],
  [
    "Kimi Code",
    line({ type: "metadata", protocol_version: "1.5", created_at: 1 }),
    { format: "kimi-code", variant: "wire 1.5", sure: true },
  ],
  [
    "Qwen Code's system record",
    line({ uuid, parentUuid: null, sessionId: uuid, type: "system", version: "0.24.4", systemPayload: {} }),
    { format: "qwen-code", agentVersion: "0.24.4", sure: true },
  ],
  [
    "opencode",
    JSON.stringify({ info: { id: "ses_1", version: "1.1.0" }, messages: [] }, null, 2),
    { format: "opencode", variant: "export", agentVersion: "1.1.0", sure: true },
  ],
  [
    "a message of opencode",
    JSON.stringify({ id: "msg_1", sessionID: "ses_1", role: "user" }),
    { format: "opencode", variant: "storage", sure: true },
  ],
];

describe("detectSession", () => {
  it.each(samples)("knows %s", (_, text, expected) => {
    expect(detectSession(encodeUtf8(text))).toEqual(expected);
    expect(detectSession(encodeUtf8(`\n${text}`))).toEqual(expected);
  });

  it.each(samples)("knows %s by a first line that is cut", (_, text, expected) => {
    const [first = ""] = text.split("\n");
    const whole = first === "{" ? text.trimEnd() : first;
    const cut = `${whole.slice(0, -1)},"more":{"text":"${"x".repeat(100)}`;
    const found = detectSession(encodeUtf8(cut));
    expect(found?.format).toBe((expected as { format: string }).format);
  });

  it.each([
    ["sessions/2026/01/01/rollout-2026-01-01T00-00-00-x.jsonl.zst", "codex"],
    ["opencode.db", "opencode"],
    ["storage\\message\\ses_1\\msg_1.json", "opencode"],
    [".gemini/tmp/w/chats/x.jsonl", "gemini"],
    [".claude/projects/-w/x.jsonl", "claude-code"],
    [".qwen/projects/-w/chats/x.jsonl", "qwen-code"],
    [".kimi-code/sessions/wd_w/s/agents/main/wire.jsonl", "kimi-code"],
  ])("guesses %s by its path", (path, format) => {
    expect(detectSession(new Uint8Array([0, 1, 2]), path)).toEqual({ format, sure: false });
  });

  it.each([
    ["nothing", ""],
    ["text", "hello\nworld\n"],
    ["JSON of something else", line({ type: "session" }, { id: 1 }, { info: {} }, { sessionId: 4 })],
    ["deep nesting", "[".repeat(100_000)],
  ])("knows nothing of %s", (_, text) => {
    expect(detectSession(encodeUtf8(text))).toBeUndefined();
  });
});
