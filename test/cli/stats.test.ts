import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { assistantMessage, memorySessionStore, toolResult, userMessage } from "sessile";
import { importSession } from "sessile/interop";
import { fileSessionStore } from "sessile/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { formats } from "../../src/agents/internal.js";
import { openCounted } from "../../src/cli/commands/stats.js";
import * as transcript from "../agents/claude-code/transcript.js";
import { transcripts } from "../arbitraries/claude-code.js";
import { rounds } from "../support/rounds.js";
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

describe("the sums of several sessions", () => {
  it("are made of imports as of the sessions that a store makes of them", async () => {
    const from = await Promise.all(Object.values(formats).map((load) => load()));
    let entries = 0;
    await fc.assert(
      fc.asyncProperty(transcripts, async (records) => {
        const bytes = new TextEncoder().encode(records.map((each) => `${JSON.stringify(each)}\n`).join(""));
        const imported = await importSession([{ path: "a.jsonl", bytes }], { from, keep: "none" }).catch(
          () => undefined,
        );
        if (imported === undefined) return;
        const named = { agent: "claude-code", path: "a.jsonl", home: "/", read: async () => imported };
        const counted = await openCounted({ ...named, open: () => expect.unreachable() });
        const stored = await memorySessionStore().adopt(imported);
        // A store records the leaf too.
        const all = Array.from((await stored.tree()).walk(), ({ node }) => node);
        const nodes = all.filter(({ type }) => type !== "leaf");
        expect(Array.from((await counted.session.tree()).walk(), ({ node }) => node)).toEqual(nodes);
        for (const { id } of nodes)
          expect(JSON.parse(JSON.stringify(await counted.session.entry(id)))).toEqual(await stored.entry(id));
        entries += nodes.length;
      }),
      { numRuns: rounds(40, 400) },
    );
    expect(entries).toBeGreaterThan(100);
  });
});

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

describe("stats beside the agents' own numbers", () => {
  const time = (second: number) => new Date(Date.UTC(2026, 10, 20, 12, 0, second)).toISOString();
  function write(home: string, path: string, records: readonly object[] | object): void {
    const file = join(dir, home, path);
    mkdirSync(dirname(file), { recursive: true });
    const text = Array.isArray(records) ? records.map((each) => JSON.stringify(each)).join("\n") : undefined;
    writeFileSync(file, `${text ?? JSON.stringify(records)}\n`);
  }
  const statsOf = async (home: string, agent: string, ...more: readonly string[]) =>
    call(["stats", "all", "--agent", agent, "--dir", join(dir, home), ...more], { cwd: dir });

  /** A session with two replies of its own and one of a subagent of a workflow; a cost of 3 × 0.003885 dollars. */
  function claude(home: string, cost: number): void {
    const { user, reply, text, sessionId, mainPath } = transcript;
    const model = "claude-opus-5-5";
    const usage = {
      ...{ input_tokens: 100, output_tokens: 20, cache_read_input_tokens: 2_000 },
      ...{ cache_creation_input_tokens: 507, cache_creation: { ephemeral_5m_input_tokens: 507 } },
    };
    let second = 0;
    const counted = (line: object) => {
      const { message, ...rest } = line as { readonly message: object };
      return { ...rest, timestamp: time(++second), message: { ...message, model, usage } };
    };
    const side = { isSidechain: true, agentId: "a1", sessionId };
    write(home, mainPath, [
      user("u1", null, "Go."),
      counted(reply("r1", "u1", "m1", text("Yes."))),
      { type: "cost-state", sessionId, totalCostUSD: cost / 2 },
      user("u2", "r1", "Go on."),
      counted(reply("r2", "u2", "m2", text("Done."))),
      { type: "cost-state", sessionId, totalCostUSD: cost, hasUnknownModelCost: false },
    ]);
    write(home, `${mainPath.replace(/\.jsonl$/, "")}/subagents/workflows/wf_1/agent-a1.jsonl`, [
      { ...user("s1", null, "Look."), ...side },
      { ...counted(reply("s2", "s1", "m3", text("Seen."))), ...side },
    ]);
  }
  // 4 dollars a million tokens of input, 20 of output, 0.2 of reads, 5 of writes.
  const cost = (3 * (100 * 4 + 20 * 20 + 2_000 * 0.2 + 507 * 5)) / 1_000_000;

  it("equals Claude Code's sum within a thousandth, subagents and workflows included", async () => {
    claude("cost-same", cost);
    const [same] = (await statsOf("cost-same", "claude-code", "--json")).json;
    expect(same.tokens.calls).toBe(3);
    expect(same.counted).toMatchObject({ sessions: 1, byAgents: cost });
    expect(Math.abs(same.tokens.cost / cost - 1)).toBeLessThan(0.001);
    expect((await statsOf("cost-same", "claude-code")).stdout).not.toContain("the agents counted");
  });

  it("names what Claude Code counted beyond its files, and less", async () => {
    claude("cost-more", cost + 0.5);
    expect((await statsOf("cost-more", "claude-code")).stdout).toContain(
      "the agents counted $0.5112 for 1 of the sessions, $0.5000 more: calls that no file has, such as",
    );
    claude("cost-less", cost / 2);
    expect((await statsOf("cost-less", "claude-code")).stdout).toMatch(
      /the agents counted .*, \$0.0056 less\n/,
    );
  });

  it("has Codex's sum of a thread", async () => {
    const id = "01a20441-0000-7000-8000-000000000001";
    const counts = (calls: number) => ({
      ...{ input_tokens: 1_000 * calls, cached_input_tokens: 400 * calls, output_tokens: 200 * calls },
      ...{ reasoning_output_tokens: 50 * calls, total_tokens: 1_200 * calls },
    });
    const line = (second: number, type: string, payload: object) => ({
      timestamp: time(second),
      type,
      payload,
    });
    const turns = [1, 2, 3].flatMap((call) => [
      line(call, "response_item", {
        ...{ type: "message", role: "assistant" },
        content: [{ type: "output_text", text: `Answer ${call}` }],
      }),
      line(call, "event_msg", {
        type: "token_count",
        info: { total_token_usage: counts(call), last_token_usage: counts(1) },
      }),
    ]);
    write("codex-sum", `sessions/2026/11/20/rollout-2026-11-20T12-00-00-${id}.jsonl`, [
      line(0, "session_meta", { id, timestamp: time(0), cwd: "/work", cli_version: "0.169.0" }),
      line(0, "turn_context", { cwd: "/work", model: "gpt-5.2-codex" }),
      line(0, "response_item", {
        ...{ type: "message", role: "user" },
        content: [{ type: "input_text", text: "Go." }],
      }),
      ...turns,
    ]);
    const { tokens } = (await statsOf("codex-sum", "codex", "--json")).json[0];
    expect(tokens).toMatchObject({ calls: 3, input: 1_800, cacheRead: 1_200, output: 600, total: 3_600 });
  });

  it("has Gemini CLI's totals: thoughts are output, the prompts of tools are input", async () => {
    const reply = (second: number, tool: number) => ({
      ...{
        id: `g${second}`,
        timestamp: time(second),
        type: "gemini",
        content: "Yes.",
        model: "gemini-2.5-pro",
      },
      tokens: { input: 1_000, output: 20, cached: 400, thoughts: 5, tool, total: 1_025 + tool },
    });
    write("gemini-sum", "tmp/abc/chats/session-2026-11-20T12-00-00000001.json", {
      ...{ sessionId: "00000001-0000-4000-8000-000000000001", projectHash: "abc" },
      ...{ startTime: time(0), lastUpdated: time(3) },
      messages: [{ id: "u0", timestamp: time(0), type: "user", content: "Go." }, reply(1, 0), reply(2, 30)],
    });
    const { tokens } = (await statsOf("gemini-sum", "gemini", "--json")).json[0];
    expect(tokens).toMatchObject({ calls: 2, input: 1_230, cacheRead: 800, output: 50, total: 2_080 });
  });

  it("has the costs that opencode recorded, those of a subagent too; a cost of zero is unknown", async () => {
    const session = (id: string, cost: number, parentID?: string) => {
      const [first, second] = [Date.parse(time(1)), Date.parse(time(2 + 8 * cost))];
      const own = { sessionID: id, time: { created: second, completed: second } };
      write("opencode-sum", `storage/session/p1/${id}.json`, {
        ...{ id, version: "1.1.65", projectID: "p1", directory: "/work", title: id },
        ...{ time: { created: first, updated: second }, ...(parentID && { parentID }) },
      });
      const user = `msg_${id}1`;
      const reply = `msg_${id}2`;
      write("opencode-sum", `storage/message/${id}/${user}.json`, { ...own, id: user, role: "user" });
      write("opencode-sum", `storage/message/${id}/${reply}.json`, {
        ...{ ...own, id: reply, role: "assistant", parentID: user, modelID: "m1", providerID: "p" },
        ...{ cost, tokens: { input: 60, output: 20, reasoning: 3, cache: { read: 40, write: 0 } } },
      });
      for (const [at, messageID] of [user, reply].entries())
        write("opencode-sum", `storage/part/${messageID}/prt_${id}${at}.json`, {
          ...{ id: `prt_${id}${at}`, sessionID: id, messageID, type: "text", text: "Text." },
        });
    };
    session("ses_one", 0.25);
    session("ses_two", 0.125, "ses_one");
    session("ses_three", 0);
    const { tokens } = (await statsOf("opencode-sum", "opencode", "--json")).json[0];
    expect(tokens).toMatchObject({
      calls: 3,
      cost: 0.375,
      unpriced: 1,
      input: 180,
      output: 60,
      cacheRead: 120,
    });
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
