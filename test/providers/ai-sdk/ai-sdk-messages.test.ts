import { generateText, type ModelMessage, type StepResult, type SystemModelMessage, type ToolSet } from "ai";
import fc from "fast-check";
import {
  assistantMessage,
  cacheConversation,
  contextFrom,
  project,
  type StoredResource,
  toolResult,
  userMessage,
} from "sessile";
import { type AiSdkMessages, type AiSdkStep, aiSdkMessages } from "sessile/ai-sdk";
import { replayAlways } from "sessile/attachments";
import { limitProfiles } from "sessile/limits";
import { describe, expect, expectTypeOf, test } from "vitest";
import { providerFamily } from "../../../src/frameworks/ai-sdk/families.js";
import { contextAt, hazardousSession } from "../../arbitraries/hazards.js";
import { base64, pdf, png } from "../../attachments/samples.js";
import { validatingModel } from "../../support/providers/ai-sdk/model.js";
import { notesText, richSession, seenBytes } from "../../support/rich-session.js";

const anthropic = { provider: "anthropic.messages", modelId: "claude-sonnet-4-5" };
const chat = { provider: "openai.chat", modelId: "gpt-5" };
const foreign = { provider: "elsewhere", model: "other-1", api: "other-api" };

describe("aiSdkMessages", () => {
  test("gives Mistral ids of exactly nine letters and digits, and Chat Completions at most 40 characters", async () => {
    const idsOf = async (provider: string, ids: readonly string[]) => {
      const calls = ids.map((id) => ({ type: "toolCall" as const, id, name: "read", arguments: {} }));
      const said = assistantMessage({ provider: "elsewhere", model: "m" }, ...calls);
      const target = aiSdkMessages({ model: { provider, modelId: "m" } });
      const { value } = await project(contextFrom([userMessage("Go"), said]), target);
      const [, called, answered] = value.messages.map(({ content }) => content as { toolCallId?: string }[]);
      expect(answered?.map(({ toolCallId }) => toolCallId)).toEqual(
        called?.map(({ toolCallId }) => toolCallId),
      );
      return called?.map(({ toolCallId = "" }) => toolCallId) ?? [];
    };
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 6 }), async (ids) => {
        for (const id of await idsOf("mistral.chat", ids)) expect(id).toMatch(/^[A-Za-z0-9]{9}$/);
        for (const id of await idsOf("deepseek.chat", ids)) expect(id).toMatch(/^[!-~]{1,40}$/);
      }),
      { numRuns: 30 },
    );
    expect((await idsOf("openai.chat", ["x".repeat(60)]))[0]).toHaveLength(40);
    expect(await idsOf("mistral.chat", ["gSIMJiOkT"])).toEqual(["gSIMJiOkT"]);
  });

  test("names documents as Bedrock takes names, each once, and tools as Google does", async () => {
    const { blobs, report } = await richSession();
    const named = (resourceId: string) => ({ ...report, resourceId, name: "John's  résumé #1.pdf" });
    const both = [named("res_00000000000000a1"), named("res_00000000000000a2")];
    const model = { provider: "amazon-bedrock", modelId: "m" };
    const { value } = await project(contextFrom([userMessage(...both)]), aiSdkMessages({ model }), {
      blobs,
      replay: replayAlways,
    });
    const files = value.messages.flatMap(({ content }) =>
      (content as { type: string; mediaType?: string; filename?: string }[]).filter(
        ({ type, mediaType }) => type === "file" && mediaType === "application/pdf",
      ),
    );
    const names = files.map(({ filename }) => filename);
    expect(names).toHaveLength(2);
    for (const name of names) expect(name).toMatch(/^(?!.*\s\s)[A-Za-z0-9\s()[\]-]{1,200}$/);
    expect(new Set(names).size).toBe(names.length);

    const calls = ["2fa", "-x", "ok.v1"].map((name) => ({
      type: "toolCall" as const,
      id: name,
      name,
      arguments: {},
    }));
    const said = assistantMessage({ provider: "elsewhere", model: "m" }, ...calls);
    const google = aiSdkMessages({ model: { provider: "google.generative-ai", modelId: "gemini-3-pro" } });
    const made = await project(contextFrom([userMessage("Go"), said]), google);
    const [, called, answered] = made.value.messages.map(({ content }) => content as { toolName?: string }[]);
    const expected = ["_2fa", "_-x", "ok.v1"];
    expect(called?.map(({ toolName }) => toolName)).toEqual(expected);
    expect(answered?.map(({ toolName }) => toolName)).toEqual(expected);
    expect(made.losses.filter(({ code }) => code === "toolName")).toHaveLength(2);
  });

  test("gives instructions apart, results a message of tools, and files a media type", async () => {
    const { context, blobs, shot, report, notes, seen } = await richSession();
    const target = aiSdkMessages({ model: anthropic });
    const { value, losses } = await project(context, target, { blobs, replay: replayAlways });
    const text = (said: string) => ({ type: "text", text: said });
    expect(value.system).toBe("Be brief.");
    expect(value.messages.slice(0, 3)).toEqual([
      {
        role: "user",
        content: [
          text("[Alice]: What is wrong here? 🧷"),
          text(`[image screen shot.png, image/png, ${shot.size} B, ${shot.resourceId}]`),
          { type: "file", mediaType: "image/png", data: expect.any(String), filename: "screen shot.png" },
          text(`[file report.pdf, application/pdf, ${report.size} B, ${report.resourceId}]`),
          { type: "file", mediaType: "application/pdf", data: base64(pdf), filename: "report.pdf" },
          text(`[file notes.md, text/plain, ${notes.size} B, ${notes.resourceId}]`),
          {
            type: "file",
            mediaType: "text/plain",
            data: Buffer.from(notesText).toString("base64"),
            filename: "notes.md",
          },
          text("[link A page, https://example.com/page, res_00000000000000ff] (a link, never fetched)"),
          { type: "file", mediaType: "image/png", data: expect.any(String) },
        ],
      },
      {
        role: "assistant",
        content: [
          text("Let me look."),
          { type: "tool-call", toolCallId: "call_a", toolName: "screenshot", input: { window: 1 } },
          { type: "tool-call", toolCallId: "call_b", toolName: "read", input: { path: "gone.txt" } },
        ],
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "call_a",
            toolName: "screenshot",
            output: {
              type: "content",
              value: [
                text("Here."),
                text(`[image seen.png, image/png, ${seen.size} B, ${seen.resourceId}]`),
                { type: "image-data", data: base64(seenBytes), mediaType: "image/png" },
              ],
            },
          },
          {
            type: "tool-result",
            toolCallId: "call_b",
            toolName: "read",
            output: { type: "error-text", value: "no such file" },
          },
        ],
      },
    ]);
    expect(losses.map(({ code }) => code)).toEqual(["reasoning"]);
  });

  test("puts a tool's image behind its result where it would be written out as text", async () => {
    const { context, blobs } = await richSession();
    const { value, losses } = await project(context, aiSdkMessages({ model: chat }), {
      blobs,
      replay: replayAlways,
    });
    const results = value.messages.flatMap(({ role, content }) => (role === "tool" ? content : []));
    expect(results.map(({ output }) => output.type)).toEqual(["text", "error-text"]);
    expect(JSON.stringify(results)).not.toContain(base64(seenBytes));
    expect(value.messages[3]).toMatchObject({
      role: "user",
      content: [{}, { type: "file", data: base64(seenBytes) }],
    });
    expect(losses.map(({ code }) => code)).toEqual(["asText", "reasoning", "moved"]);
  });

  test("says in words that a result with an image is an error", async () => {
    const call = { type: "toolCall" as const, id: "c1", name: "look", arguments: {} };
    const image = { type: "image" as const, data: base64(png()), mimeType: "image/png" };
    const failed = { ...toolResult(call), content: [image], isError: true };
    const { value } = await project(
      contextFrom([userMessage("?"), assistantMessage(foreign, call), failed]),
      aiSdkMessages({ model: anthropic }),
    );
    expect(value.messages[2]).toMatchObject({
      content: [{ output: { value: [{ type: "text", text: "[error]" }, { type: "image-data" }] } }],
    });
  });

  test("has words for a document without a byte", async () => {
    const empty: StoredResource = {
      resourceId: "res_0000000000000001",
      kind: "file",
      source: "upload",
      mediaType: "text/plain",
      size: 0,
      blob: `sha256:${"0".repeat(64)}`,
      contentSha256: "0".repeat(64),
    };
    const blobs = { get: async () => new Uint8Array() };
    const { value, losses } = await project(
      contextFrom([userMessage("?", empty)]),
      aiSdkMessages({ model: anthropic }),
      { blobs },
    );
    expect(value.messages[0]).toMatchObject({
      content: [{}, {}, { type: "text", text: "[an empty document]" }],
    });
    expect(losses).toMatchObject([{ code: "invalid", by: "history", instead: "[an empty document]" }]);
  });

  test("gives reasoning and marks back to the package that made them, and to no other", async () => {
    const own = { provider: "anthropic", model: "claude-sonnet-4-5", api: "ai-sdk/anthropic.messages" };
    const options = { anthropic: { signature: "c2ln" } };
    const search = {
      type: "tool-call",
      toolCallId: "s1",
      toolName: "web_search",
      input: {},
      providerExecuted: true,
    };
    const said = assistantMessage(
      own,
      { type: "thinking", thinking: "Hm.", thinkingSignature: JSON.stringify(options) },
      { type: "thinking", thinking: "Of old.", thinkingSignature: "c2ln" },
      { type: "opaque", data: search },
      { type: "opaque", data: { type: "server_tool_use" } },
      { type: "text", text: "Yes.", textSignature: JSON.stringify({ anthropic: { x: 1 } }) },
    );
    const context = contextFrom([userMessage("?"), said, userMessage("!")]);
    const back = await project(context, aiSdkMessages({ model: anthropic }));
    expect(back.value.messages[1]).toEqual({
      role: "assistant",
      content: [
        { type: "reasoning", text: "Hm.", providerOptions: options },
        search,
        { type: "text", text: "Yes.", providerOptions: { anthropic: { x: 1 } } },
      ],
    });
    expect(back.losses.map(({ code, block }) => [code, block])).toEqual([
      ["reasoning", 1],
      ["opaque", 3],
    ]);
    for (const model of [chat, { ...anthropic, provider: "vertex.anthropic.messages" }]) {
      const { value, losses } = await project(context, aiSdkMessages({ model }));
      expect(value.messages[1]).toEqual({ role: "assistant", content: [{ type: "text", text: "Yes." }] });
      expect(losses).toHaveLength(4);
    }
    const other = await project(context, aiSdkMessages({ model: anthropic, account: "b" }));
    expect(other.losses).toHaveLength(4);
  });

  test("takes no call for an opaque block that nobody would answer", async () => {
    const own = { provider: "anthropic", model: "claude-sonnet-4-5", api: "ai-sdk/anthropic.messages" };
    const data = { type: "tool-call", toolCallId: "c1", toolName: "read", input: {} };
    const said = assistantMessage(own, "Yes.", { type: "opaque", data });
    const context = contextFrom([userMessage("?"), said, userMessage("!")]);
    const { value, losses } = await project(context, aiSdkMessages({ model: anthropic }));
    expect(value.messages[1]?.content).toEqual([{ type: "text", text: "Yes." }]);
    expect(losses.map(({ code }) => code)).toEqual(["opaque"]);
  });

  test("marks caches where the provider's options hold them", async () => {
    const { context } = await richSession();
    const cacheControl = { providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } };
    const { value } = await project(context, aiSdkMessages({ model: anthropic }), {
      cache: cacheConversation,
    });
    expect(value.system).toEqual({ role: "system", content: "Be brief.", ...cacheControl });
    expect(value.messages.at(-1)?.content.at(-1)).toMatchObject(cacheControl);
    expect(JSON.stringify(value).match(/ephemeral/g)).toHaveLength(3);
    const unmarked = await project(context, aiSdkMessages({ model: chat }), { cache: cacheConversation });
    expect(JSON.stringify(unmarked.value)).not.toContain("ephemeral");
  });

  test("keeps the limits of the provider, or those that are given", async () => {
    const wide = { type: "image" as const, data: base64(png(8001, 1)), mimeType: "image/png" };
    const context = contextFrom([{ role: "user", content: [wide], timestamp: 1 }]);
    const codes = async (options: Parameters<typeof aiSdkMessages>[0]) =>
      (await project(context, aiSdkMessages(options))).losses.map(({ code }) => code);
    expect(await codes({ model: anthropic })).toEqual(["overLimit"]);
    expect(await codes({ model: chat })).toEqual([]);
    expect(await codes({ model: chat, profile: limitProfiles.anthropic })).toEqual(["overLimit"]);
    expect(await codes({ model: chat, accepts: { user: [], toolResult: [] } })).toEqual(["unsupported"]);
  });

  test("is carried by generateText, whatever the session", async () => {
    const target = aiSdkMessages({ model: anthropic });
    await fc.assert(
      fc.asyncProperty(hazardousSession(20, [foreign]), async (session) => {
        const options = { blobs: session.blobs, replay: replayAlways };
        const { value } = await project(contextAt(session), target, options);
        const model = validatingModel(anthropic.provider, [{ type: "text", text: "ok" }]);
        expect((await generateText({ model, maxRetries: 0, ...value })).text).toBe("ok");
      }),
      { numRuns: 40 },
    );
  });

  test("gives arguments that are the caller's own", async () => {
    const input = { window: { at: 1 } };
    const call = { type: "toolCall" as const, id: "c1", name: "screenshot", arguments: input };
    const context = contextFrom([
      userMessage("?"),
      assistantMessage(foreign, call),
      toolResult(call, "done"),
    ]);
    const { value } = await project(context, aiSdkMessages({ model: chat }));
    const [, said] = value.messages;
    const [part] = said?.role === "assistant" ? said.content : [];
    expect(part).toMatchObject({ type: "tool-call", input });
    const sent: unknown = part?.type === "tool-call" ? part.input : undefined;
    expect(sent).not.toBe(input);
    Object.assign(sent ?? {}, { window: "changed" });
    expect(input).toEqual({ window: { at: 1 } });
  });

  test("refuses what is no model", () => {
    // @ts-expect-error: a name alone does not say what its provider takes.
    expect(() => aiSdkMessages({ model: "anthropic/claude" })).toThrow(TypeError);
    // @ts-expect-error: it has no provider.
    expect(() => aiSdkMessages({ model: { modelId: "m" } })).toThrow(TypeError);
  });

  test("is what the official types ask for, and give", () => {
    expectTypeOf<AiSdkMessages["messages"]>().toExtend<ModelMessage[]>();
    expectTypeOf<AiSdkMessages["system"]>().toExtend<string | SystemModelMessage | undefined>();
    expectTypeOf<StepResult<ToolSet>>().toExtend<AiSdkStep>();
  });
});

const stills = ["image/png", "image/jpeg", "image/webp"];
const images = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const pdfType = "application/pdf";

describe("familyOf", () => {
  test.each([
    ["anthropic.messages", "m", "anthropic", [...images, pdfType, "text/*"], [...images, pdfType]],
    ["vertex.anthropic.messages", "m", "anthropic", [...images, pdfType, "text/*"], [...images, pdfType]],
    ["bedrock.anthropic.messages", "m", "anthropic", [...images, pdfType, "text/*"], [...images, pdfType]],
    ["amazon-bedrock", "m", "bedrockConverse", [...images, pdfType], images],
    ["openai.responses", "m", "openai", [...images, pdfType], [...images, pdfType]],
    ["azure.responses", "m", "openai", [...images, pdfType], [...images, pdfType]],
    ["openai.chat", "m", "openai", [...images, pdfType], []],
    ["azure.chat", "m", "openai", [...images, pdfType], []],
    ["google.generative-ai", "gemini-2.5-pro", "gemini", [...stills, pdfType], []],
    ["google.generative-ai", "gemini-3-pro", "gemini", [...stills, pdfType], [...stills, pdfType]],
    ["google.vertex.chat", "gemini-3.6-flash", "gemini", [...stills, pdfType], [...stills, pdfType]],
    ["mistral.chat", "m", "mistral", [...images, pdfType], []],
    ["xai.chat", "m", "xai", ["image/png", "image/jpeg"], []],
    ["xai.responses", "m", "xai", ["image/png", "image/jpeg"], []],
    ["groq.chat", "m", "groq", images, []],
    ["openai-compatible.chat", "m", undefined, images, []],
    ["anthropic-like.chat", "m", undefined, images, []],
    ["gateway", "anthropic/claude-sonnet-4-5", undefined, images, []],
  ])("%s, %s: %s", (provider, modelId, limits, user, toolResult) => {
    const family = providerFamily(provider, modelId);
    expect(family.accepts).toEqual({ user, toolResult });
    expect(family.limits?.profile.name).toBe(limits);
  });

  test.each([
    ["moonshotai.chat", "kimi-k2.5", true],
    ["openai.chat", "kimi-k2.5", true],
    ["azure.chat", "kimi-k2.5", true],
    ["groq.chat", "moonshotai/kimi-k2-instruct", true],
    ["gateway", "moonshotai/kimi-k2.5", true],
    ["amazon-bedrock", "moonshot.kimi-k2-thinking", true],
    ["amazon-bedrock", "us.anthropic.claude-opus-5-v1:0", false],
    ["amazon-bedrock", "arn:aws:bedrock:us-east-1:1:application-inference-profile/a", false],
    ["gateway", "anthropic/claude-sonnet-4-5", false],
    ["openai.chat", "claude-sonnet-4-5", false],
    ["xai.responses", "m", false],
    ["openai.responses", "m", false],
    ["mistral.chat", "m", false],
    ["anthropic.messages", "m", false],
  ])("%s, %s: whether Kimi's own id goes as it is: %s", (provider, modelId, taken) => {
    const character = providerFamily(provider, modelId).callId?.character ?? /[A-Za-z0-9_-]/;
    expect(Array.from("functions.read:0").every((one) => character.test(one))).toBe(taken);
  });

  test.each([
    ["mistral.chat", "m", 9, 9],
    ["gateway", "mistral/mistral-large", 9, 9],
    ["openai.chat", "m", 40, undefined],
    ["groq.chat", "m", 40, undefined],
    ["xai.chat", "m", 40, undefined],
    ["deepseek.chat", "m", 40, undefined],
    ["openai.responses", "m", undefined, undefined],
    ["anthropic.messages", "m", undefined, undefined],
  ])("%s, %s: ids of at most %s characters", (provider, modelId, maxLength, minLength) => {
    const { callId } = providerFamily(provider, modelId);
    expect([callId?.maxLength, callId?.minLength]).toEqual([maxLength, minLength]);
  });

  test("tells the ways to Claude apart", () => {
    expect(providerFamily("bedrock.anthropic.messages", "m").limits).toEqual({
      profile: limitProfiles.anthropic,
      transport: "bedrock",
    });
    expect(providerFamily("vertex.anthropic.messages", "m").limits?.transport).toBe("vertex");
  });
});
