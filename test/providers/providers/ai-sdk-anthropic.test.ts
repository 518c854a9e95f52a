import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText, jsonSchema, type ToolSet } from "ai";
import {
  type AssistantMessage,
  cacheConversation,
  contextFrom,
  project,
  toolCalls,
  toolResult,
  userMessage,
} from "sessile";
import { aiSdkMessages, readAiSdkReply } from "sessile/ai-sdk";
import { replayAlways } from "sessile/attachments";
import { describe, expect, test } from "vitest";
import { base64 } from "../../attachments/samples.js";
import { type ScriptedReply, searchingReply } from "../../support/providers/anthropic/replies.js";
import { startAnthropic } from "../../support/providers/anthropic/server.js";
import type { ProviderServer } from "../../support/providers/local-server.js";
import { notesText, reportBytes, richSession, seenBytes } from "../../support/rich-session.js";

const thinking: ScriptedReply = {
  content: [
    { type: "thinking", thinking: "Both files, then.", signature: "c2lnbmVkLTE=" },
    { type: "redacted_thinking", data: "cmVkYWN0ZWQ=" },
    { type: "text", text: "I look at both. ", citations: null },
    { type: "tool_use", id: "toolu_A", name: "read", input: { path: "a.txt" }, caller: { type: "direct" } },
    { type: "tool_use", id: "toolu_B", name: "screenshot", input: {}, caller: { type: "direct" } },
  ],
  usage: {
    input_tokens: 120,
    output_tokens: 40,
    cache_creation_input_tokens: 900,
    cache_read_input_tokens: 300,
  },
};

const done: ScriptedReply = { content: [{ type: "text", text: "Done.", citations: null }] };

const tools: ToolSet = {
  read: { inputSchema: jsonSchema({ type: "object" }) },
  screenshot: { inputSchema: jsonSchema({ type: "object" }) },
};

/** Without cache markers, which move on as a session grows. */
function unmarked(messages: readonly object[]): unknown {
  return JSON.parse(
    JSON.stringify(messages, (key, value) => (key === "providerOptions" ? undefined : value)),
  );
}

/** As the API sends it: text that cites nothing has no member for it, and the SDK asks for that. */
function sent(reply: ScriptedReply): ScriptedReply {
  return JSON.parse(
    JSON.stringify(reply, (key, value) => (key === "citations" ? (value ?? undefined) : value)),
  );
}

function modelOf({ url }: ProviderServer) {
  return createAnthropic({ baseURL: `${url}/v1`, apiKey: "test" })("claude-opus-4-8");
}

describe("a session by way of the AI SDK", () => {
  test("goes to Anthropic with everything in it, comes back, and goes again verbatim", async () => {
    await using server = await startAnthropic([thinking, done].map(sent));
    const model = modelOf(server);
    const target = aiSdkMessages({ model });
    const { context, messages, blobs, seen } = await richSession();
    const options = { blobs, replay: replayAlways, cache: cacheConversation };
    const first = await project(context, target, options);
    const result = await generateText({ model, tools, maxRetries: 0, ...first.value });
    expect(result.warnings).toEqual([]);
    expect(JSON.stringify(server.requests[0]?.body)).toContain(base64(seenBytes));
    expect(server.requests[0]?.body).toMatchObject({
      system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
      messages: [
        {
          role: "user",
          content: expect.arrayContaining([
            expect.objectContaining({
              type: "document",
              title: "report.pdf",
              source: { type: "base64", media_type: "application/pdf", data: base64(reportBytes) },
            }),
            expect.objectContaining({
              type: "document",
              title: "notes.md",
              source: { type: "text", media_type: "text/plain", data: notesText },
            }),
          ]),
        },
        { role: "assistant" },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "call_a",
              content: [
                { type: "text", text: "Here." },
                { type: "text", text: expect.stringContaining(seen.resourceId) },
                {
                  type: "image",
                  source: { type: "base64", media_type: "image/png", data: base64(seenBytes) },
                },
              ],
            },
            { type: "tool_result", tool_use_id: "call_b", content: "no such file", is_error: true },
          ],
        },
        { role: "assistant" },
        { role: "user" },
      ],
    });

    const reply = readAiSdkReply(result);
    expect(reply).toMatchObject({
      provider: "anthropic",
      model: "claude-opus-4-8",
      api: "ai-sdk/anthropic.messages",
      stopReason: "toolUse",
      usage: { input: 120, output: 40, cacheRead: 300, cacheWrite: 900, totalTokens: 1360 },
    });
    const results = toolCalls(reply).map((call) => toolResult(call, "done"));
    const after = contextFrom([...messages, reply, ...results]);
    const second = await project(after, target, options);
    const [head, goneOn] = [first, second].map(({ value }) => unmarked(value.messages.slice(0, 4)));
    expect(goneOn).toEqual(head);
    expect(second.value.messages.at(-2)).toEqual(result.response.messages[0]);
    await generateText({ model, tools, maxRetries: 0, ...second.value });
    expect(server.requests).toHaveLength(2);
    expect(server.requests[1]?.body).toMatchObject({
      messages: [{}, {}, {}, {}, {}, { role: "assistant", content: sent(thinking).content }, {}],
    });
  });

  test("gives back what the provider ran itself", async () => {
    await using server = await startAnthropic([searchingReply, done].map(sent));
    const model = modelOf(server);
    const target = aiSdkMessages({ model });
    const question = userMessage("Why is the sky blue?");
    const searching: ToolSet = {
      web_search: {
        type: "provider",
        isProviderExecuted: true,
        id: "anthropic.web_search_20250305",
        args: {},
        inputSchema: jsonSchema({ type: "object" }),
      },
    };
    const first = await project(contextFrom([question]), target);
    const result = await generateText({ model, tools: searching, maxRetries: 0, ...first.value });
    const reply = readAiSdkReply(result);
    const isSource = (block: (typeof reply.content)[number]) =>
      block.type === "opaque" && (block.data as { readonly type: string }).type === "source-url";
    expect(reply.content.filter(isSource)).toHaveLength(1);
    expect(reply.content.filter((block) => !isSource(block)).map(({ type }) => type)).toEqual([
      "thinking",
      "opaque",
      "opaque",
      "text",
      "text",
      "text",
    ]);
    const stored: AssistantMessage = JSON.parse(JSON.stringify(reply));
    const second = await project(contextFrom([question, stored, userMessage("Thanks.")]), target);
    expect(second.losses).toEqual([]);
    expect(second.value.messages[1]).toEqual(result.response.messages[0]);
    await generateText({ model, tools: searching, maxRetries: 0, ...second.value });
    expect(server.requests).toHaveLength(2);
  });

  test("blames no entry for a place that is another one in these messages", async () => {
    await using server = await startAnthropic();
    const model = modelOf(server);
    const { context, blobs, latest } = await richSession();
    const projection = await project(context, aiSdkMessages({ model }), { blobs });
    const [message] = projection.value.messages;
    if (message?.role !== "user") throw new Error("no message of the user");
    message.content.push({ type: "text", text: " " });
    const refusal: unknown = await generateText({ model, maxRetries: 0, ...projection.value }).catch(
      (e) => e,
    );
    expect(refusal).toMatchObject({ statusCode: 400, message: expect.stringMatching(/^messages/) });
    expect(projection.explain(refusal)).toBeUndefined();
    const ofAnImage = { statusCode: 400, message: "messages.2.content.0: Could not process image" };
    expect(projection.explain(ofAnImage)).toMatchObject({
      certainty: "guess",
      resourceId: latest.resourceId,
    });
  });
});
