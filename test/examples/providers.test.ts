import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type Anthropic from "@anthropic-ai/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { messageOf } from "../support/providers/anthropic/replies.js";
import { startAnthropic } from "../support/providers/anthropic/server.js";
import { geminiReply } from "../support/providers/gemini/replies.js";
import { startGemini } from "../support/providers/gemini/server.js";
import { startProvider } from "../support/providers/local-server.js";
import { responsesReply } from "../support/providers/openai/replies.js";
import { startOpenai } from "../support/providers/openai/server.js";
import { claudeAt, runClosingWords, runExample } from "./support/run-example.js";

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "sessile-providers-test-"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const providers = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  runExample("04-providers", args, { TMPDIR: scratch, ...env });

/** Generous: each takes about two seconds where nothing else runs. */
const timeout = 600_000;
const fixtures = resolve(root, process.env.SESSILE_FIXTURES ?? "../shared/fixtures");
const real = join(fixtures, "pi/large-session.v1.jsonl");
const text = (text: string) => ({ type: "text", text, citations: null }) as const;

describe("one session for every provider", () => {
  it("prints a line for each target, with its losses, and answers without a key", { timeout }, async () => {
    const run = await providers([]);
    expect(run).toMatchObject({ code: 0, stderr: "" });
    const lines = run.stdout.match(/^[a-zA-Z]+ +\d+ +\d+ +\d+ {2}.*$/gm) ?? [];
    expect(lines.map((line) => line.split(" ")[0])).toEqual([
      ...["anthropicMessages", "openaiChat", "openaiResponses", "geminiContents"],
      ...[
        "geminiInteractions",
        "bedrockConverse",
        "aiSdkMessages",
        "mcpContent",
        "acpPrompt",
        "claudeAgentMessages",
        "codexExec",
      ],
    ]);
    expect(lines[0]).toContain("2 callId, interrupted, reasoning");
    expect(lines[10]).toContain("notRepeated");
    expect(run.stdout).toMatch(
      /^ {2}\w{8}\/2 interrupted \(history\) a call without a result: \[This call was interrupted/m,
    );
    expect(run.stdout).toContain("anthropic claude-opus-5-5 says: A red box below a blue bar.");
    const [projected] = await runClosingWords(run, scratch);
    expect(projected?.stdout).toContain("gemini-contents, gemini-3-pro\n");
    expect(projected?.code).toBe(1);
  });

  it("asks each provider whose key is there, in requests that keep its rules", { timeout }, async () => {
    await using anthropic = await startAnthropic([{ content: [text("Claude sees it.")] }]);
    const message = {
      type: "message" as const,
      id: "msg_1",
      role: "assistant" as const,
      status: "completed" as const,
      content: [{ type: "output_text" as const, text: "GPT sees it.", annotations: [] }],
    };
    await using openai = await startOpenai({ responses: [responsesReply([message])] });
    await using gemini = await startGemini([geminiReply("gemini-3-pro", [{ text: "Gemini sees it." }])]);
    const { code, stdout, stderr } = await providers([], {
      ...claudeAt(anthropic.url),
      ...{ OPENAI_API_KEY: "key", OPENAI_BASE_URL: `${openai.url}/v1` },
      ...{ GEMINI_API_KEY: "key", GOOGLE_GEMINI_BASE_URL: gemini.url },
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.match(/^\w+ \S+ says: .*$/gm)).toEqual([
      "anthropic claude-opus-5-5 says: Claude sees it.",
      expect.stringMatching(/^openai \S+ says: GPT sees it\.$/),
      expect.stringMatching(/^google \S+ says: Gemini sees it\.$/),
    ]);
  });

  it("says what a refusal is about, and asks again without it", { timeout }, async () => {
    const imagesIn = (body: unknown): readonly string[] =>
      (body as Anthropic.MessageCreateParams).messages.flatMap(({ content }, turn) =>
        (typeof content === "string" ? [] : content).flatMap(({ type }, at) =>
          type === "image" ? [`messages.${turn}.content.${at}`] : [],
        ),
      );
    await using server = await startProvider({
      breaches: ({ body }) =>
        imagesIn(body).map((path) => ({ rule: "image", path, problem: "Could not process image" })),
      reply: () => ({ json: messageOf({ content: [text("It is gone.")] }, "claude-opus-5-5", 0) }),
      refuse: ({ path, problem }) => ({
        json: { type: "error", error: { type: "invalid_request_error", message: `${path}: ${problem}` } },
      }),
    });
    const { code, stdout, stderr } = await providers([], claudeAt(server.url));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^anthropic-messages refuses entry \w{8}, block 1: .*Could not process image/m);
    expect(stdout).toContain("anthropic claude-opus-5-5 says: It is gone.");
    expect(server.requests.map(({ body }) => imagesIn(body).length)).toEqual([1, 0]);
  });
});

describe("a session file", () => {
  it.skipIf(!existsSync(real))(
    "of pi's first version is projected to all of them, and left alone (skipped where SESSILE_FIXTURES has none)",
    { timeout },
    async () => {
      const [before, { mtimeMs }] = [readFileSync(real), statSync(real)];
      const { code, stdout, stderr } = await providers([real]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(/^entries {4}1018\nbranches {3}1$/m);
      expect(stdout).toMatch(/^in context 914 messages, last of anthropic\/claude-sonnet-4-5$/m);
      expect(stdout).toMatch(/^problems {3}none$/m);
      expect(stdout).toMatch(/^anthropicMessages +\d{6,} /m);
      expect(readFileSync(real).equals(before)).toBe(true);
      expect(statSync(real).mtimeMs).toBe(mtimeMs);
    },
  );

  it("that is broken is read as far as it can be, with what is wrong, and left alone", {
    timeout,
  }, async () => {
    const path = join(scratch, "broken.jsonl");
    const entry = (id: string, parentId: string | null) =>
      `{"type":"message","id":"${id}","parentId":${JSON.stringify(parentId)},"timestamp":"2026-01-01T00:00:00.000Z",` +
      `"message":{"role":"user","content":"\\u001b[31mred ${id}","timestamp":1}}`;
    const lines = [
      `{"type":"session","version":3,"id":"broken","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}`,
      entry("aaaaaaaa", null),
      "{oops \u001b[31m",
      entry("bbbbbbbb", "cccccccc"),
      `{"type":"message","id":"dddd`,
    ].join("\n");
    writeFileSync(path, lines);
    const { code, stdout, stderr } = await providers([path]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^entries {4}2\nbranches {3}1$/m);
    expect(stdout).toMatch(
      /^problems {3}3\n {2}line 3 INVALID_JSON: .+\n {2}line 5 TORN_TAIL: .+\n {2}line 4 ORPHAN: /m,
    );
    expect(stdout).not.toContain("\u001b");
    expect(readFileSync(path, "utf8")).toBe(lines);
  });

  it("that does not exist is answered with one line and an exit code of 1", { timeout }, async () => {
    const { code, stdout, stderr } = await providers([join(scratch, "absent.jsonl")]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^there is no file .*\n$/);
  });
});
