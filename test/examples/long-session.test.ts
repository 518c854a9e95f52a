import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Anthropic from "@anthropic-ai/sdk";
import { openSessionFile } from "sessile/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventsOf } from "../support/providers/anthropic/events.js";
import { messageOf } from "../support/providers/anthropic/replies.js";
import { startProvider } from "../support/providers/local-server.js";
import { claudeAt, type ExampleRun, runClosingWords, runExample } from "./support/run-example.js";

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "sessile-long-test-"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const longSession = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  runExample("05-long-session", args, { TMPDIR: scratch, ...env });

/** Generous: it takes about three seconds where nothing else runs. */
const timeout = 600_000;
const fileOf = ({ stdout }: ExampleRun) => /^session: (.+)$/m.exec(stdout)?.[1] ?? "";

describe("the long session", () => {
  let run: ExampleRun;
  beforeAll(async () => {
    run = await longSession([]);
  }, timeout);

  it("ends well without a key, and never outgrows its window", () => {
    expect(run).toMatchObject({ code: 0, stderr: "" });
    const sizes = [...run.stdout.matchAll(/ (\d+) tokens, \w+$/gm)].map(([, tokens]) => Number(tokens));
    expect(sizes).toHaveLength(18);
    expect(Math.max(...sizes)).toBeLessThan(20_000);
  });

  it("ends with calls of the command line: what it cost, and what compactions dropped", async () => {
    const [stats, context] = await runClosingWords(run, scratch);
    expect(stats?.stdout).toMatch(/^\d+ sessions, \d+ turns, \d+ tool calls .*, [1-9]\d* compactions$/m);
    expect(context?.stdout).toMatch(/^Compaction \w{8} .*: keeps \d+ messages, and drops \d+:$/m);
  });

  it("lists the compactions, by each strategy", () => {
    expect(run.stdout).toMatch(/^turn +\d+ {2}rolling-summary, mid-turn: compacted, \d+ -> \d+ tokens$/m);
    expect(run.stdout).toMatch(/^turn +\d+ {2}prune-then-summarize, \S+: pruned, \d+ -> \d+ tokens$/m);
    expect(run.stdout).toMatch(/^turn +\d+ {2}recent-user-messages, \S+: compacted, \d+ -> \d+ tokens$/m);
  });

  it("keeps what is pinned, and shows what is edited out to no summary", async () => {
    expect(run.stdout).toMatch(/^pinned: {2}still there$/m);
    await using session = await openSessionFile(fileOf(run));
    expect(await session.diagnose()).toEqual([]);
    const lines = readFileSync(fileOf(run), "utf8").split("\n");
    expect(
      lines.filter((line) => line.includes("tok_5e55113a")).map((line) => JSON.parse(line).type),
    ).toEqual(["message"]);
  });

  it("leaves a branch with a summary, and knows the files that were read", async () => {
    expect(run.stdout).toMatch(/ 2 branches, \d+ messages in context$/m);
    expect(run.stdout).toMatch(/^files: {3}\d{2,} in the ledger, such as src\/\S+ \(read\)$/m);
    await using session = await openSessionFile(fileOf(run));
    expect((await session.path()).map(({ type }) => type)).toContain("branch_summary");
  });
});

describe("with a model that fails", () => {
  const text = (text: string): Anthropic.ContentBlock => ({ type: "text", text, citations: null });

  it("writes nothing without a summary, and goes on after a refusal as too long", { timeout }, async () => {
    let refusals = 0;
    let summaries = 0;
    await using server = await startProvider({
      breaches: ({ body }) => {
        const asked = JSON.stringify((body as Anthropic.MessageCreateParams).messages);
        if (asked.includes("<conversation>")) {
          summaries++;
          return summaries <= 3 ? [{ rule: "summary", path: "", problem: "No." }] : [];
        }
        const isTooLong = asked.split("What does").length > 2 && summaries > 3 && refusals === 0;
        if (isTooLong) refusals++;
        return isTooLong
          ? [{ rule: "size", path: "", problem: "prompt is too long: 9000 tokens > 8000 maximum" }]
          : [];
      },
      reply: ({ bytes }) => {
        const usage = { input_tokens: bytes.length >> 2, output_tokens: 500 };
        const content = [text("It may be the port. ".repeat(100))];
        const message = messageOf({ content, usage }, "claude-opus-5-5", 0);
        return { headers: { "content-type": "text/event-stream" }, text: eventsOf(message) };
      },
      refuse: ({ problem }) => ({
        json: { type: "error", error: { type: "invalid_request_error", message: problem } },
      }),
    });
    const run = await longSession(["18"], { ...claudeAt(server.url), CONTEXT_WINDOW: "7000" });
    expect({ refusals, stdout: run.stdout, stderr: run.stderr }).toMatchObject({ refusals: 1 });
    expect(run.stdout).toMatch(/, overflow: /);
    expect(run.stdout).toMatch(/: SUMMARY_FAILED, nothing was written$/m);
    expect(run.stdout).toMatch(/: compacted, \d+ -> \d+ tokens$/m);
    expect(run.code).toBe(0);
  });
});
