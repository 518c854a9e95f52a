import { assistantMessage, memorySessionStore, toolResult, userMessage } from "sessile";
import { claudeCode } from "sessile/claude-code";
import { codex } from "sessile/codex";
import { gemini } from "sessile/gemini-cli";
import { exportSession, type ForeignFormat, importSession, secretRedaction } from "sessile/interop";
import { opencode } from "sessile/opencode";
import { describe, expect, it } from "vitest";

const token = `ghp_${"aB3".repeat(12)}`;
const encoded = Buffer.from(`token: ${token}`).toString("base64");

/** Appends a text to the strings of a JSON value that are more than a name, a time or an id. */
function withText(value: unknown, text: string): unknown {
  if (typeof value === "string") return / |^\{/.test(value) ? value + text : value;
  if (Array.isArray(value)) return value.map((item) => withText(item, text));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([key, member]) => [key, withText(member, text)]);
  return Object.fromEntries(members);
}

/** The files of a session as an agent has them, with a text in each string. */
async function filesWith(format: ForeignFormat, text: string) {
  const session = await memorySessionStore().create({ cwd: "/srv/an app" });
  const maker = { provider: "anthropic", model: "claude-opus-5-5" };
  const call = {
    type: "toolCall",
    id: "call_a",
    name: "Bash",
    arguments: { command: "cat a file" },
  } as const;
  await session.appendMessage(userMessage("Where is the key?"));
  await session.appendMessage(assistantMessage(maker, { type: "text", text: "Let me look." }, call));
  await session.appendMessage(toolResult(call, "It is in a file."));
  await session.appendMessage(assistantMessage(maker, { type: "text", text: "In a file." }));
  const { files } = await exportSession(session, { to: format });
  return files.map(({ path, bytes }) => {
    const whole = new TextDecoder().decode(bytes);
    const parts = path.endsWith(".jsonl") ? whole.trimEnd().split("\n") : [whole];
    const planted = parts.map((part) => `${JSON.stringify(withText(JSON.parse(part), text))}\n`);
    return { path, bytes: new TextEncoder().encode(planted.join("")) };
  });
}

describe.each([
  ["Claude Code", claudeCode],
  ["Codex", codex],
  ["Gemini CLI", gemini],
  ["opencode", opencode],
] as const)("an import of %s with a redaction", (_, format) => {
  it.each([
    ["raw", ` ${token}`],
    ["in JSON", ` ${JSON.stringify({ "a key": [token] })}`],
    ["in base64", ` ${encoded}`],
  ])("has no secret: %s", async (_form, text) => {
    const files = await filesWith(format, text);
    expect(files.length).toBeGreaterThan(0);
    const secret = text.includes(token) ? token : encoded;
    const open = await importSession(files, { from: format });
    expect(JSON.stringify(open).split(secret).length).toBeGreaterThan(4);
    const redact = secretRedaction();
    const imported = await importSession(files, { from: format, redact });
    expect(JSON.stringify(imported)).not.toContain(secret);
    expect(imported.entries.filter(({ type }) => type === "message")).toHaveLength(4);
    expect(redact.counts["github-token"]).toBeGreaterThan(3);
  });
});
