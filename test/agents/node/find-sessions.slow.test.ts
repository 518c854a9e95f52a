import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { findSessions } from "sessile/node";
import { afterAll, expect, it } from "vitest";

const count = 10_000;
const root = mkdtempSync(join(tmpdir(), "sessile-many-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const line = (value: unknown) => `${JSON.stringify(value)}\n`;

/** Sessions of two agents, of 40 KB, each tenth of 160 KB. */
function fill(): void {
  const reply = line({ type: "assistant", message: { content: "x".repeat(800) } });
  for (let index = 0; index < count; index++) {
    const id = `${index.toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`;
    const rest = reply.repeat(index % 10 === 0 ? 200 : 50);
    const day = `2026/${String(1 + (index % 12)).padStart(2, "0")}/${String(1 + (index % 28)).padStart(2, "0")}`;
    const [path, start] =
      index % 2 === 0
        ? [
            `codex/sessions/${day}/rollout-2026-01-01T00-00-00-${id}.jsonl`,
            line({ type: "session_meta", payload: { id, cwd: "/w", timestamp: "2026-01-01T00:00:00Z" } }) +
              line({ type: "event_msg", payload: { type: "user_message", message: "hello" } }),
          ]
        : [
            `claude/projects/p${index % 50}/${id}.jsonl`,
            line({
              type: "user",
              sessionId: id,
              cwd: "/w",
              timestamp: "2026-01-01T00:00:00Z",
              message: { content: "hi" },
            }),
          ];
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, start + rest);
  }
}

it("lists 10,000 sessions in at most 3 s of the processor", { timeout: 120_000 }, async () => {
  fill();
  const homes = { codex: join(root, "codex"), "claude-code": join(root, "claude") };
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3; run++) {
    const started = process.cpuUsage();
    let found = 0;
    for await (const { cwd, title } of findSessions({ agents: ["codex", "claude-code"], homes }))
      if (cwd === "/w" && title !== undefined) found++;
    const { user, system } = process.cpuUsage(started);
    expect(found).toBe(count);
    least = Math.min(least, (user + system) / 1e6);
  }
  console.log(`10,000 sessions: ${least.toFixed(2)} s`);
  expect(least).toBeLessThan(3);
});
