import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import * as compaction from "sessile/compaction";
import * as content from "sessile/content";
import * as projections from "sessile/projections";
import * as anthropic from "sessile/projections/anthropic";
import { readBedrockReply } from "sessile/projections/bedrock";
import { geminiStream, readGeminiReply } from "sessile/projections/gemini";
import { openaiChatStream, readOpenaiChatReply, readOpenaiResponsesReply } from "sessile/projections/openai";
import { memorySessionStore } from "sessile/session";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { examplesOf } from "../support/doc-examples.js";
import { callingReply } from "../support/providers/anthropic/replies.js";
import { startAnthropic } from "../support/providers/anthropic/server.js";
import { responsesReply } from "../support/providers/openai/replies.js";
import { eventsFrom } from "../support/reply-streams.js";

const readme = readFileSync(join(root, "README.md"), "utf8");
const asked = "claude-opus-5";
const answered = "anthropic/claude-opus-5-router";

describe("the model that was asked and the one that answered", () => {
  test("the README's loop keeps signed reasoning if the reply names another model", async () => {
    await using server = await startAnthropic([{ ...callingReply, model: answered }]);
    const client = new Anthropic({ apiKey: "test", authToken: null, baseURL: server.url, maxRetries: 0 });
    const session = await memorySessionStore().create({ cwd: "/" });
    await session.appendMessage(content.userMessage("Go."));
    const block = examplesOf("README.md", readme).find(
      ({ code }) => code.includes("for (;;)") && code.includes("readAnthropicReply("),
    );
    const source = ts.transpile(block?.code ?? "", { target: ts.ScriptTarget.ES2023 });
    const own = {
      client,
      session,
      model: asked,
      tools: undefined,
      blobs: { get: async () => new Uint8Array() },
      console,
    };
    const names = {
      ...compaction,
      ...content,
      ...projections,
      ...anthropic,
      ...own,
      runTool: async () => "ok",
    };
    const body = `return (async () => {${source.replace(/^(import .*|export \{\};)$/gm, "")}})();`;
    await new Function(...Object.keys(names), body)(...Object.values(names));
    const thinking = callingReply.content.filter(({ type }) => type === "thinking");
    expect(thinking.length).toBeGreaterThan(0);
    const sent = server.requests[1]?.body as Anthropic.MessageCreateParams;
    expect(sent.messages[1]?.content).toEqual(expect.arrayContaining(thinking));
    const messages = (await session.context()).items.map(({ message }) => message);
    expect(messages[1]).toMatchObject({ model: asked, responseModel: answered });
  });

  const model = "m-asked";
  const usage = { input_tokens: 1, output_tokens: 1 };
  const chat = { created: 1, choices: [{ finish_reason: "stop", message: { content: "Yes." } }] };
  const response = { ...responsesReply([]), output: [] };
  const readers: readonly (readonly [string, (name: string, model?: string) => content.AssistantMessage])[] =
    [
      [
        "readAnthropicReply",
        (name, model) =>
          anthropic.readAnthropicReply(
            { model: name, content: [], stop_reason: "end_turn", usage } as never,
            model === undefined ? {} : { model },
          ),
      ],
      [
        "readOpenaiChatReply",
        (name, model) => readOpenaiChatReply({ ...chat, model: name }, { ...(model && { model }) }),
      ],
      [
        "readOpenaiResponsesReply",
        (name, model) =>
          readOpenaiResponsesReply({ ...response, model: name } as never, { ...(model && { model }) }),
      ],
      [
        "readGeminiReply",
        (name, model) => readGeminiReply({ modelVersion: name }, { ...(model && { model }) }),
      ],
    ];

  test.each(readers)(
    "%s records both if they differ, and the answering one alone if only that is known",
    (_, read) => {
      expect(read("m-answered", model)).toMatchObject({ model, responseModel: "m-answered" });
      expect(read(model, model)).not.toHaveProperty("responseModel");
      expect(read("m-answered")).toMatchObject({ model: "m-answered" });
      expect(read("m-answered")).not.toHaveProperty("responseModel");
    },
  );

  test("streams record both, and nothing for a name that never came", async () => {
    const chunk = {
      ...chat,
      model: "m-answered",
      choices: [{ index: 0, delta: { content: "Yes." }, finish_reason: "stop" }],
    };
    const chats = openaiChatStream(eventsFrom([chunk]), { model });
    expect(await chats.message()).toMatchObject({ model, responseModel: "m-answered" });
    const contents = geminiStream(eventsFrom([{ modelVersion: "m-answered", candidates: [] }]), { model });
    expect(await contents.message()).toMatchObject({ model, responseModel: "m-answered" });
    const events = [{ type: "message_start", message: { model: "m-answered", content: [], usage } }];
    const messages = anthropic.anthropicStream(eventsFrom(events as never[]), { model });
    expect(await messages.message()).toMatchObject({ model, responseModel: "m-answered" });
    for (const none of [
      openaiChatStream(eventsFrom([]), { model }),
      anthropic.anthropicStream(eventsFrom([]), { model }),
    ])
      expect(await none.message()).not.toHaveProperty("responseModel");
    expect(readBedrockReply({}, { model })).not.toHaveProperty("responseModel");
  });

  test("the README and the examples tell readers and streams the model that they ask", () => {
    const folder = join(root, "examples");
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".ts"),
    );
    const sources = [readme, ...files.map((name) => readFileSync(join(folder, name), "utf8"))];
    const calls = sources.flatMap((source) =>
      [...source.matchAll(/\b(?:read(?:Anthropic|Openai\w*|Gemini|Bedrock)Reply)\([^;]*;/g)].map(
        ([call]) => call,
      ),
    );
    expect(calls.length).toBeGreaterThan(3);
    for (const call of calls) expect(call).toContain("model");
  });
});
