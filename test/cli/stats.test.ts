import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assistantMessage, toolResult, userMessage } from "sessile";
import { fileSessionStore } from "sessile/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { call } from "./call.js";
import { type CcusageDays, ccusageRows, sorted, statsRows, writeHomes } from "./ccusage-homes.js";

const dir = mkdtempSync(join(tmpdir(), "sessile-ccusage-"));
beforeAll(() => writeHomes(dir));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** What ccusage printed for the same files; bench/peers/ccusage.test.ts runs it again. */
const recorded: Readonly<Record<"alike" | "differing", CcusageDays>> = JSON.parse(
  readFileSync(join(root, "test/cli/ccusage.json"), "utf8"),
);

async function stats(homes: "alike" | "differing", agent: string) {
  const env = { CLAUDE_CONFIG_DIR: join(dir, homes, "claude"), CODEX_HOME: join(dir, homes, "codex") };
  const words = ["stats", "all", "--agent", agent, "--by", "model", "--by", "day", "--json"];
  return (await call(words, { cwd: dir, env })).json[0];
}

describe("stats beside ccusage 17", () => {
  it("has its tokens by model and day for Claude Code: forks, subagents, replies of several lines", async () => {
    const ours = await stats("alike", "claude-code");
    expect(sorted(statsRows(ours))).toEqual(sorted(ccusageRows(recorded.alike).claude));
    // Three sessions, and a subagent without one.
    expect(ours).toMatchObject({ sessions: 4, tokens: { calls: 9 } });
  });

  it("has its tokens by model and day for Codex", async () => {
    const ours = await stats("alike", "codex");
    expect(sorted(statsRows(ours))).toEqual(sorted(ccusageRows(recorded.alike).codex));
    expect(ours).toMatchObject({ sessions: 2, tokens: { calls: 4 } });
  });

  it("differs on purpose: counts of the last line, lines without request ids, repeated counts", async () => {
    const day = "2026-11-20";
    const claude = ccusageRows(recorded.differing).claude;
    const none = { cacheRead: 0, cacheWrite: 0 };
    const [opus, haiku] = ["claude-opus-5-5", "claude-haiku-4-5-20251001"];
    expect(sorted(claude)).toEqual([
      { day, model: haiku, input: 200, output: 40, ...none },
      { day, model: opus, input: 10, output: 1, ...none },
    ]);
    expect(sorted(statsRows(await stats("differing", "claude-code")))).toEqual([
      { day, model: haiku, input: 100, output: 20, ...none },
      { day, model: opus, input: 10, output: 25, ...none },
    ]);
    const codex = { day, model: "gpt-5.2-codex", cacheWrite: 0 };
    expect(ccusageRows(recorded.differing).codex).toEqual([
      { ...codex, input: 340, cacheRead: 360, output: 90 },
    ]);
    expect(statsRows(await stats("differing", "codex"))).toEqual([
      { ...codex, input: 220, cacheRead: 280, output: 50 },
    ]);
  });
});

describe("stats of one session", () => {
  it("has compactions with their cost, cache hits, what fills the context, and the files before it too", async () => {
    const store = fileSessionStore({ dir: join(dir, "own") });
    await using session = await store.create({ cwd: "/work" });
    const model = { provider: "anthropic", model: "claude-opus-5-5" };
    const usage = { input: 100, output: 10, cacheRead: 300, cacheWrite: 0, totalTokens: 410 };
    const work = async (id: string, name: string, path: string) => {
      const call = { type: "toolCall" as const, id, name, arguments: { path, content: "text" } };
      await session.appendMessage(userMessage(`Please ${name} ${path}.`));
      await session.appendMessage({ ...assistantMessage(model, "I do.", call), usage });
      return session.appendMessage(toolResult(call, "done ".repeat(40)));
    };
    await work("c1", "write", "old.ts");
    const kept = await work("c2", "read", "new.ts");
    const summarized = { input: 1_000_000, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 1_000_000 };
    await session.append([
      {
        ...{ type: "compaction", summary: "They wrote old.ts.", firstKeptEntryId: kept.parentId ?? "" },
        ...{ tokensBefore: 999, usage: summarized },
      },
    ]);
    const own = (await call(["stats", session.location ?? "", "--json"], { cwd: dir })).json[0];
    expect(own).toMatchObject({
      ...{ sessions: 1, turns: 2, toolCalls: 2, tokens: { calls: 3, total: 1_000_820 } },
      compactions: { count: 1, calls: 1, tokens: 1_000_000, cost: 4, unpriced: 0 },
      cacheHits: [
        { turn: 1, prompt: 400, cached: 300 },
        { turn: 2, prompt: 400, cached: 300 },
      ],
      files: [
        { path: "new.ts", operations: ["read"] },
        { path: "old.ts", operations: ["modified"] },
      ],
    });
    expect(own.pricesAsOf).toMatch(/^2026-/);
    const kinds = ["assistant", "call of read", "compaction summary", "result of read"];
    expect(Object.keys(own.context).sort()).toEqual(kinds);
    const { stdout } = await call(["stats", session.location ?? ""], { cwd: dir });
    expect(stdout).toContain("1 of the calls wrote summaries: 1,000,000 tokens, $4.00\n");
    expect(stdout).toMatch(/^ +\d+ +\d+ % {2}result of read$/m);
    expect(stdout).toContain("\n  new.ts  read\n  old.ts  modified\n");
  });
});
