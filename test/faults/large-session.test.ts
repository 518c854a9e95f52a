// Commands that write a copy of a session have little of it in memory, however long it is.

import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useProgram } from "./start-child.js";

const program = useProgram(new URL("../../src/cli/main.ts", import.meta.url));
const dir = mkdtempSync(join(tmpdir(), "sessile-large-"));
const session = join(dir, "session.jsonl");
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const turns = 80;
const megabyte = 1_000_000;
/** A process of Node with the program has 60, and the commands take up to 120, also for a session of 160 MB. */
const maxMegabytes = 155;

beforeAll(() => {
  const file = openSync(session, "w");
  const put = (value: object) => writeSync(file, `${JSON.stringify(value)}\n`);
  const id = "0198f000-0000-7000-8000-0000000000bb";
  put({ type: "session", version: 3, id, timestamp: "2026-09-04T08:00:00.000Z", cwd: "/w" });
  const output = "all work and no play. ".repeat(megabyte / 22);
  const reply = {
    role: "assistant",
    api: "a",
    provider: "p",
    model: "m",
    stopReason: "toolUse",
    timestamp: 1,
  };
  let parentId: string | null = null;
  for (let turn = 0; turn < turns; turn++) {
    const content = [{ type: "toolCall", id: `c${turn}`, name: "Bash", arguments: { command: "cat" } }];
    const text = [{ type: "text", text: output }];
    const result = {
      role: "toolResult",
      toolCallId: `c${turn}`,
      toolName: "Bash",
      isError: false,
      timestamp: 1,
    };
    const question = { role: "user", content: `question ${turn}`, timestamp: 1 };
    for (const [at, message] of [question, { ...reply, content }, { ...result, content: text }].entries()) {
      const entry = (0xa0000000 + 3 * turn + at).toString(16);
      put({ type: "message", id: entry, parentId, timestamp: "2026-09-04T08:00:00.000Z", message });
      parentId = entry;
    }
  }
  closeSync(file);
});

/** Prints the greatest memory at the end, in kilobytes. */
const measured =
  "data:text/javascript,process.on('exit', () => console.error(process.resourceUsage().maxRSS))";

/** Runs a command with less memory for objects than the session is long; returns its greatest memory. */
function run(...words: readonly string[]): { readonly code: number | null; readonly megabytes: number } {
  const node = ["--max-old-space-size=64", "--max-semi-space-size=2", "--import", measured];
  const { status, stderr } = spawnSync(process.execPath, [...node, program(), ...words], {
    cwd: dir,
    encoding: "utf8",
    env: { ...process.env, HOME: dir },
  });
  return { code: status, megabytes: Number(stderr.trim().split("\n").at(-1)) / 1000 };
}

const written = (out: string): number =>
  readdirSync(join(dir, out), { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);

describe(`a session of ${turns} MB`, () => {
  test.each(["claude-code", "codex", "gemini", "opencode"])("is exported to %s", (agent) => {
    const { code, megabytes } = run("export", session, "--to", agent, "-o", agent);
    expect(code).toBeLessThan(2);
    expect(written(agent)).toBeGreaterThan(turns * megabyte);
    expect(megabytes).toBeLessThan(maxMegabytes);
    rmSync(join(dir, agent), { recursive: true });
  });

  test("is redacted", () => {
    const { code, megabytes } = run("redact", session, "--to", "redacted.jsonl");
    expect(code).toBe(0);
    expect(statSync(join(dir, "redacted.jsonl")).size).toBeGreaterThan(turns * megabyte);
    expect(megabytes).toBeLessThan(maxMegabytes);
  });
});
