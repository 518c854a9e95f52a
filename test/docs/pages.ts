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

const filesIn = (folder: string, ending: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name));

/** A PNG that ends within its pixels. */
const brokenPng = Buffer.from(makePng(64, 41).subarray(0, 200));

/** The surroundings of each page's program, by the name of its file. */
export const pages: Readonly<Record<string, GuidePage>> = {
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
  "from-pi.md": {},
  "git-snapshots.md": {
    files: Object.fromEntries(
      filesIn(join(root, "examples/apps/git-snapshots"), ".ts").map((path) => [
        relative(root, path).replace(/ts$/, "js"),
        ts.transpile(readFileSync(path, "utf8"), {
          target: ts.ScriptTarget.ES2022,
          module: ts.ModuleKind.ESNext,
        }),
      ]),
    ),
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
  "sync.md": {},
  "langgraph.md": {},
  "openai-agents.md": {},
  "two-writers.md": {},
  "web-chat.md": {
    servers: {
      anthropic: () => startAnthropic([said("It is red."), said("No, not dark."), said("Yes, bright.")]),
    },
    after: ({ requests }) => {
      const [first, , third] = requests("anthropic") as Anthropic.MessageCreateParams[];
      expect(JSON.stringify(first)).toContain('"type":"image"');
      expect(JSON.stringify(third)).not.toContain("dark");
    },
  },
};
