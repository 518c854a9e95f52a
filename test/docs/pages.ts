import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type Anthropic from "@anthropic-ai/sdk";
import ts from "typescript";
import { expect } from "vitest";
import { makePdf, makePng } from "../../examples/apps/support/make-media.js";
import { root } from "../../scripts/entries.mjs";
import type { GuidePage } from "../support/guide-page.js";
import type { ScriptedReply } from "../support/providers/anthropic/replies.js";
import { type ScriptStep, startAnthropic } from "../support/providers/anthropic/server.js";
import { geminiReply } from "../support/providers/gemini/replies.js";
import { startGemini } from "../support/providers/gemini/server.js";
import { responsesReply } from "../support/providers/openai/replies.js";
import { startOpenai } from "../support/providers/openai/server.js";
import { startS3Server } from "../support/s3/server.js";
import { checkConsole } from "./console-blocks.js";
import { lookFiles } from "./look-session.js";

const text = (words: string) => ({ type: "text", text: words, citations: null }) as const;
const said = (words: string): ScriptedReply => ({ content: [text(words)] });
const calls = (name: string, input: object, id = name) =>
  ({ type: "tool_use", id: `toolu_${id}`, name, input, caller: { type: "direct" } }) as const;

const reasoning = { type: "thinking", thinking: "A file.", signature: "c2lnbmVkLTE=" } as const;

/** A model that reads the log of the newest question, and the one that summarises. */
const logReader: ScriptStep = ({ model, messages }) => {
  const usage = { input_tokens: JSON.stringify(messages).length >> 2 };
  if (model === "claude-haiku-4-5") return { ...said("## Goal\nLook for oddities in the logs."), usage };
  const last = JSON.stringify(messages.at(-1));
  const name = /odd in the (\w+) log/.exec(last)?.[1];
  if (last.includes("tool_result") || name === undefined) return { ...said("Nothing odd."), usage };
  return { content: [calls("read_log", { name }, name)], usage };
};

/** A model that sees images, reads three logs one after the other, and summarises. */
const terminalReply: ScriptStep = (request) => {
  const { messages, tools } = request;
  const usage = { input_tokens: JSON.stringify(messages).length >> 2 };
  if (tools === undefined) return { ...said("## Goal\nLook for oddities in the logs."), usage };
  const last = JSON.stringify(messages.at(-1));
  const days = ["monday", "tuesday", "wednesday"];
  const read = last.includes("odd in the logs") ? -1 : days.findIndex((day) => last.includes(`200, ${day}`));
  const next = days[read + 1];
  if (last.includes("odd in the logs") || (read >= 0 && next !== undefined))
    return { content: [calls("read_log", { name: next }, next)], usage };
  if (read >= 0) return { ...said("Nothing odd."), usage };
  if (last.includes("Thank you.")) return { ...said("You are welcome."), usage };
  return { ...said(last.includes('"type":"image"') ? "An empty page." : "I cannot see it."), usage };
};

const openaiReply = (words: string) =>
  responsesReply([
    { type: "reasoning", id: "rs_a", summary: [], encrypted_content: "gAAAAAreasoning" },
    {
      type: "message",
      id: "msg_a",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: words, annotations: [] }],
    },
  ]);

/** A transcript of Claude Code: a command whose output has a token, an answer, a record that no model was sent. */
const claudeTranscript = () => {
  const sessionId = "3f0c1d5e-8a52-4c8e-9d4b-2f6a7b1c0d9e";
  const uuid = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;
  const line = (n: number, more: object) => ({
    parentUuid: n === 1 ? null : uuid(n - 1),
    isSidechain: false,
    userType: "external",
    cwd: "/srv/app",
    sessionId,
    version: "2.1.330",
    gitBranch: "main",
    ...more,
    uuid: uuid(n),
    timestamp: `2026-11-20T09:00:0${n}.000Z`,
  });
  const asked = (content: unknown) => ({ type: "user", message: { role: "user", content } });
  const answered = (id: string, content: unknown, stop_reason: string) => ({
    type: "assistant",
    requestId: `req_${id}`,
    message: {
      ...{ id, type: "message", role: "assistant", model: "claude-opus-5-5", content, stop_reason },
      usage: { input_tokens: 100, output_tokens: 20 },
    },
  });
  const call = { type: "tool_use", id: "toolu_a", name: "Bash", input: { command: "grep -rn parse src" } };
  const output = `src/parse.ts:1: export function parse\nsrc/env.ts:1: GITHUB_TOKEN=ghp_${"aB3".repeat(12)}`;
  return jsonLines([
    { type: "queue-operation", operation: "enqueue", timestamp: "2026-11-20T09:00:00.000Z", sessionId },
    line(1, asked("Where is the parser?")),
    line(2, answered("msg_a", [{ type: "text", text: "Let me look." }, call], "tool_use")),
    line(3, asked([{ type: "tool_result", tool_use_id: "toolu_a", content: output, is_error: false }])),
    line(4, answered("msg_b", [{ type: "text", text: "In src/parse.ts." }], "end_turn")),
  ]);
};

/** A rollout of Codex: a question and its answer. */
const codexRollout = () => {
  const line = (second: number, type: string, payload: object) => ({
    timestamp: `2026-11-20T14:00:0${second}.000Z`,
    type,
    payload,
  });
  const message = (role: string, type: string, text: string) => ({
    ...{ type: "message", role },
    content: [{ type, text }],
  });
  return jsonLines([
    line(0, "session_meta", {
      ...{
        id: "01a1f0c2-7c11-7d3e-9a55-0c5f6f2b1a10",
        timestamp: "2026-11-20T14:00:00.000Z",
        cwd: "/srv/app",
      },
      ...{ originator: "codex_cli_rs", cli_version: "0.128.0", source: "cli", model_provider: "openai" },
    }),
    line(1, "event_msg", { type: "user_message", message: "Does it have a test?", images: [] }),
    line(1, "response_item", message("user", "input_text", "Does it have a test?")),
    line(2, "event_msg", { type: "agent_message", message: "No." }),
    line(2, "response_item", message("assistant", "output_text", "No.")),
  ]);
};

const jsonLines = (values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join("");

const filesIn = (folder: string, ending: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name));

/** A file of the repository as JavaScript. */
const transpiled = (path: string): string =>
  ts.transpile(readFileSync(join(root, path), "utf8"), {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
  });

/** A PNG that is whole, and that the server does not read. */
const brokenPng = Buffer.from(makePng(64, 41));

/** The surroundings of each page's program, by the name of its file. */
export const pages: Readonly<Record<string, GuidePage>> = {
  "look.md": {
    files: lookFiles(),
    after: ({ folder }) => checkConsole("look.md", folder),
  },
  "acp.md": {},
  "ai-sdk.md": {},
  "claude-agent.md": {},
  "compaction.md": {
    servers: {
      anthropic: () =>
        // A window smaller than the program assumes, so that it is refused once.
        startAnthropic(Array<ScriptStep>(20).fill(logReader), { window: 6_000 }),
    },
    after: ({ requests }) => {
      const models = requests("anthropic").map((body) => (body as Anthropic.MessageCreateParams).model);
      expect(models.filter((model) => model === "claude-haiku-4-5")).toHaveLength(4);
    },
  },
  "crash-and-recovery.md": {},
  "custom-backend.md": {},
  "custom-target.md": {},
  "turn.md": {
    files: { "notes.txt": "Water the plants.\nMaria\n" },
    servers: {
      anthropic: () =>
        startAnthropic([
          { content: [reasoning, text("Let me look."), calls("read_file", { path: "notes.txt" })] },
          said("Water the plants."),
          said("Maria did."),
        ]),
    },
    after: ({ requests }) => {
      const [first, second, third] = requests("anthropic") as Anthropic.MessageCreateParams[];
      expect(first?.tools).toMatchObject([{ name: "read_file", input_schema: { type: "object" } }]);
      expect(second?.system).toEqual(first?.system);
      expect(JSON.stringify(second?.messages.at(-1))).toContain("Maria");
      expect(JSON.stringify(third?.messages.at(-1))).toContain("Who wrote it?");
    },
  },
  "terminal-agent.md": {
    files: {
      ...{ "page.png": makePng(64, 40), "broken.png": brokenPng },
      ...Object.fromEntries(
        ["monday", "tuesday", "wednesday"].map((day) => [`${day}.log`, `GET / 200, ${day}\n`.repeat(500)]),
      ),
    },
    servers: {
      anthropic: () =>
        startAnthropic(Array<ScriptStep>(20).fill(terminalReply), {
          unreadable: (base64) => base64 === brokenPng.toString("base64"),
        }),
      openai: () => startOpenai({ responses: [openaiReply("It is 64 by 40 pixels.")] }),
    },
    after: ({ requests, stdout }) => {
      const asked = requests("anthropic").map((body) => JSON.stringify(body));
      const has = (words: string) => asked.map((body) => body.includes(words));
      const broken = brokenPng.toString("base64");
      // The image, and the reply of the first provider at the second one.
      expect(has('"type":"image"')[0]).toBe(true);
      expect(JSON.stringify(requests("openai"))).toContain("An empty page.");
      expect(has("It is 64 by 40 pixels.")[1]).toBe(true);
      // The refused image was sent once, and the edited question has neither it nor the first text.
      expect(has(broken).filter(Boolean)).toHaveLength(1);
      const edited = asked.findIndex((body) => body.includes("Thank you."));
      expect(asked[edited]).not.toContain("the same page?");
      // The last request has the summary in place of the older messages.
      expect(asked.at(-1)).toContain("Look for oddities");
      expect(asked.at(-1)).not.toContain("An empty page.");
      for (const line of ["refused a file", "older messages were summarised", "2 branches"])
        expect(stdout).toContain(line);
    },
  },
  "durable-agent.md": {
    files: { "notes.txt": "Water the plants.\nMaria\n" },
    servers: {
      anthropic: () =>
        startAnthropic([
          {
            // As a router answers: the reasoning still goes back to the model that was asked.
            model: "anthropic/claude-opus-router",
            content: [reasoning, text("Let me look."), calls("read_file", { path: "notes.txt" })],
          },
          said("It says: water the plants."),
          said("Maria did, as its last line says."),
          said("One of them was read."),
          said("You are welcome."),
        ]),
    },
    after: ({ folder, requests }) => {
      const [, result, question, recovered] = requests("anthropic") as Anthropic.MessageCreateParams[];
      expect(recovered?.messages.at(-1)?.content).toMatchObject([
        { type: "tool_result", is_error: true, content: [{ text: expect.stringContaining("unknown") }] },
        { type: "tool_result", content: [{ text: expect.stringContaining("Maria") }] },
      ]);
      expect(result?.system).toMatchObject([{ text: expect.stringContaining("terse") }]);
      expect(result?.messages[1]?.content).toContainEqual(reasoning);
      expect(JSON.stringify(result?.messages[2])).toContain("Maria");
      expect(question?.messages.length).toBe(5);
      expect(JSON.stringify(question)).toContain("cache_control");
      const [log = "", ...others] = filesIn(folder, ".jsonl");
      expect(others).toEqual([]);
      expect(readFileSync(log, "utf8")).toContain('"responseModel":"anthropic/claude-opus-router"');
    },
  },
  "from-agents-sdk.md": {
    // The storage and the bucket of the sqlite and r2 tests.
    files: {
      "cat.png": makePng(64, 40),
      "test/r2/bucket.js": transpiled("test/r2/bucket.ts"),
      "test/sqlite/databases.js": transpiled("test/sqlite/databases.ts"),
    },
  },
  "from-pi.md": {},
  "git-snapshots.md": {
    files: Object.fromEntries(
      filesIn(join(root, "examples/apps/git-snapshots"), ".ts").map((path) => [
        relative(root, path).replace(/ts$/, "js"),
        transpiled(relative(root, path)),
      ]),
    ),
  },
  "interop.md": {
    files: {
      ".claude/projects/-srv-app/3f0c1d5e-8a52-4c8e-9d4b-2f6a7b1c0d9e.jsonl": claudeTranscript(),
      ".codex/sessions/2026/11/20/rollout-2026-11-20T14-00-00-01a1f0c2-7c11-7d3e-9a55-0c5f6f2b1a10.jsonl":
        codexRollout(),
    },
  },
  "images.md": {
    files: {
      "screen.png": makePng(64, 40),
      "wide.png": makePng(9_000, 4),
      "broken.png": brokenPng,
      "paper.pdf": makePdf(),
    },
    servers: {
      anthropic: () =>
        startAnthropic(
          [
            said("It is disabled."),
            ({ messages }) => {
              const [resourceId] = /res_[0-9a-f]{16}/.exec(JSON.stringify(messages)) ?? [];
              return { content: [calls("view_resource", { resourceId })] };
            },
            said("It is."),
            said("I cannot see it."),
            said("The paper is right."),
          ],
          { unreadable: (base64) => base64 === brokenPng.toString("base64") },
        ),
    },
    after: ({ folder, requests }) => {
      const asked = requests("anthropic").map((body) => JSON.stringify(body));
      const images = asked.map((body) => body.match(/"type":"image"/g)?.length ?? 0);
      const documents = asked.map((body) => body.match(/"type":"document"/g)?.length ?? 0);
      expect([images, documents]).toEqual([
        [1, 0, 1, 1, 0, 1],
        [1, 0, 0, 0, 0, 1],
      ]);
      expect(asked[1]).toContain("to see it");
      const [log = ""] = filesIn(folder, ".jsonl");
      // The base64 of one image is longer.
      expect(readFileSync(log).length).toBeLessThan(7_000);
      expect(asked.join()).not.toContain("token=x");
    },
  },
  "scale.md": { bucket: startS3Server },
  "switching-providers.md": {
    files: { "page.png": makePng(64, 40) },
    servers: {
      anthropic: () =>
        startAnthropic([
          { content: [reasoning, text("Let me look."), calls("screenshot", {})] },
          said("You are welcome."),
        ]),
      openai: () => startOpenai({ responses: [openaiReply("The footer is grey.")] }),
      gemini: () => startGemini([geminiReply("gemini-2.5-pro", [{ text: "It is." }])]),
    },
    after: ({ requests }) => {
      const [, back] = requests("anthropic") as Anthropic.MessageCreateParams[];
      expect(back?.messages[1]?.content).toContainEqual(reasoning);
      expect(JSON.stringify(requests("gemini"))).toContain('"inlineData"');
      expect(JSON.stringify([requests("gemini"), requests("openai")])).not.toContain("c2lnbmVkLTE=");
    },
  },
  "memory.md": {
    servers: {
      anthropic: () => {
        const facts = { label: "facts", action: "add", text: "is called Kim\nlikes tea" };
        const refunds = { label: "policies", name: "refunds" };
        return startAnthropic([
          { content: [calls("set_memory", facts)] },
          said("Hello Kim."),
          { content: [calls("load_document", refunds)] },
          { content: [calls("unload_document", refunds)] },
          said("It takes 30 days."),
        ]);
      },
    },
    after: ({ requests }) => {
      const asked = requests("anthropic") as Anthropic.MessageCreateParams[];
      expect(new Set(asked.map(({ system, tools }) => JSON.stringify([system, tools]))).size).toBe(1);
      const shown = asked.map((body) => JSON.stringify(body).includes("A refund takes 30 days."));
      expect(shown).toEqual([false, false, false, true, false]);
    },
  },
  "erasure.md": {},
  "search.md": {},
  "sync.md": {},
  "langgraph.md": {},
  "openai-agents.md": {},
  "two-writers.md": {},
  "web-chat.md": {
    servers: {
      anthropic: () =>
        startAnthropic([
          { ...said("It is a warm"), isStalled: true },
          said(" red."),
          said("No, not dark."),
          said("Yes, bright."),
        ]),
    },
    after: ({ requests }) => {
      const asked = requests("anthropic") as Anthropic.MessageCreateParams[];
      const [first, goneOn, , branch] = asked.map((body) => JSON.stringify(body));
      expect(asked).toHaveLength(4);
      expect(first).toContain('"type":"image"');
      expect(goneOn).toContain("It is a warm");
      expect(branch).not.toContain("dark");
    },
  },
};
