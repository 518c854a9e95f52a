import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type * as content from "sessile";
import * as anthropic from "sessile/anthropic";
import { readBedrockReply } from "sessile/bedrock";
import { geminiStream, readGeminiReply } from "sessile/gemini";
import { openaiChatStream, readOpenaiChatReply, readOpenaiResponsesReply } from "sessile/openai";
import { describe, expect, test } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { responsesReply } from "../support/providers/openai/replies.js";
import { eventsFrom } from "../support/reply-streams.js";

describe("the model that was asked and the one that answered", () => {
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

  test("the documents and the examples tell readers and streams the model that they ask", () => {
    const sources = ["examples", "docs"].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .filter((name) => /\.(?:ts|md)$/.test(name))
        .map((name) => readFileSync(join(root, folder, name), "utf8")),
    );
    const reader =
      /\b(?:read(?:Anthropic|Openai\w*|Gemini|Bedrock)Reply|(?:anthropic|openai\w*|gemini|bedrock)Stream)\([^;]+;/g;
    const calls = sources.flatMap((source) => [...source.matchAll(reader)].map(([call]) => call));
    expect(calls.length).toBeGreaterThan(8);
    for (const call of calls) expect(call).toContain("model");
  });
});
