/** Media that a model made are attachments everywhere: in logs, frames, estimates, pages and exports. */
import fc from "fast-check";
import {
  type AssistantMessage,
  assistantMessage,
  buildSessionContext,
  collectGarbage,
  contextFrom,
  memoryBlobStore,
  memorySessionStore,
  parseSession,
  project,
  sessionBlobRoots,
  type Target,
  userMessage,
} from "sessile";
import { acpReplay } from "sessile/acp";
import { aiSdkMessages, fromUIMessages, toUIMessages } from "sessile/ai-sdk";
import { anthropicMessages, readAnthropicReply } from "sessile/anthropic";
import { findResource, grantResources, resourcesIn, viewResource } from "sessile/attachments";
import { bedrockConverse, readBedrockReply } from "sessile/bedrock";
import { claudeCode } from "sessile/claude-code";
import { codex } from "sessile/codex";
import { compact, rollingSummary } from "sessile/compaction";
import { estimateMessageTokens } from "sessile/estimate";
import { geminiContents, readGeminiReply } from "sessile/gemini";
import { gemini } from "sessile/gemini-cli";
import { exportSession } from "sessile/interop";
import type { LimitProfile } from "sessile/limits";
import { openaiChat, openaiResponses, readOpenaiChatReply, readOpenaiResponsesReply } from "sessile/openai";
import { finishTurn } from "sessile/tether";
import { describe, expect, test } from "vitest";
import { opaqueMedia, withMedia, withReferences } from "../../src/content/internal.js";
import { separateImages } from "../../src/viewer/images.js";
import { base64, png } from "../attachments/samples.js";
import { pngOf } from "../providers/samples.js";

const picture = pngOf({ width: 900, height: 700 }, 1, 40_000);
const data = base64(picture);
const google = { provider: "google", model: "gemini-3-pro-image", api: "google-generative-ai" };
const inlineData = { mimeType: "image/png", data };
const block = { type: "opaque", data: { inlineData, thoughtSignature: "c2ln" } } as const;
const reply = assistantMessage(google, "Here it is.", block);

async function recorded(message: AssistantMessage = reply) {
  const blobs = memoryBlobStore();
  const store = memorySessionStore({ blobs });
  const session = await store.create({ cwd: "/p", id: "s" });
  await session.appendMessage(userMessage("Draw a parrot."));
  const entry = await session.appendMessage(message);
  const context = await session.context();
  const [resource] = resourcesIn(context);
  if (resource === undefined || resource.kind === "link") return expect.fail("no resource");
  return { blobs, session, entry, context, resource };
}

describe("the log", () => {
  // @covers R6
  test.each([
    ["a message", (message: AssistantMessage) => [{ type: "message", message }]],
    [
      "an update",
      (message: AssistantMessage) => [
        { type: "message", id: "one", message: assistantMessage(google, "…") },
        { type: "message_update", targetId: "one", message },
      ],
    ],
    [
      "an updated part",
      () => [
        { type: "message", id: "one", message: assistantMessage(google, "…") },
        { type: "part_update", targetId: "one", index: 1, part: block },
      ],
    ],
    [
      "an edit",
      ({ content }: AssistantMessage) => [
        { type: "message", id: "one", message: assistantMessage(google, "…") },
        { type: "context_edit", targetId: "one", replacement: { content } },
      ],
    ],
  ])("has no base64 of %s", async (_, draftsOf) => {
    const blobs = memoryBlobStore();
    const session = await memorySessionStore({ blobs }).create({ cwd: "/p" });
    const entries = await session.append(draftsOf(reply) as never);
    expect(JSON.stringify(entries)).not.toContain(data.slice(0, 40));
    const [resource] = resourcesIn(await session.context());
    expect(resource).toMatchObject({ kind: "image", source: "model" });
    const { value } = await project(await session.context(), geminiContents(google), { blobs });
    expect(JSON.stringify(value)).toContain(JSON.stringify(block.data).slice(1, -1));
  });

  test("refuses more than a kilobyte of it without a blob store, and takes an icon", async () => {
    const session = await memorySessionStore().create({ cwd: "/p" });
    await expect(session.appendMessage(reply)).rejects.toMatchObject({
      code: "INLINE_BYTES",
      details: { path: "drafts[0].message.content[1]" },
    });
    const icon = { type: "opaque", data: { inlineData: { ...inlineData, data: base64(png()) } } } as const;
    await session.appendMessage(assistantMessage(google, icon));
    const open = await memorySessionStore({ inline: "allow" }).create({ cwd: "/p" });
    await open.appendMessage(reply);
  });

  test("keeps long text of a provider's block that is no medium", async () => {
    const { session } = await recorded();
    const signature = base64(Uint8Array.from({ length: 3000 }, (_, at) => (at * 31) % 251));
    const own = {
      type: "opaque",
      data: { type: "web_search_tool_result", encrypted_content: signature },
    } as const;
    const broken = {
      type: "opaque",
      data: { type: "x", text: `iVBORw0KGgo ${"not base64 ".repeat(300)}` },
    } as const;
    const entry = await session.appendMessage(assistantMessage(google, own, broken));
    expect(entry).toMatchObject({ message: { content: [own, broken] } });
  });

  test("stores an image block of an assistant message as an attachment", async () => {
    const image = { type: "image", data, mimeType: "image/png" } as const;
    const { context, resource, blobs } = await recorded(assistantMessage(google, image));
    expect(context.items[1]?.message).toMatchObject({ content: [{ type: "text", resource }] });
    const { value, attachments } = await project(context, geminiContents(google), { blobs });
    expect(JSON.stringify(value)).toContain("[image, image/png");
    expect(attachments).toMatchObject([{ sent: "descriptor", reason: "unsupported" }]);
  });

  test("reads images of other writers in assistant messages, and keeps others as they are", () => {
    const line = (content: unknown) =>
      `${JSON.stringify({ type: "session", version: 3, id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/" })}\n${JSON.stringify({ type: "message", id: "a", parentId: null, timestamp: "2026-01-01T00:00:00.000Z", message: { ...reply, content } })}\n`;
    const image = { type: "image", data, mimeType: "image/png" };
    const foreign = { type: "image", source: { url: "x" } };
    const later = { type: "opaque", data: 1, resources: [{ kind: "hologram" }] };
    const [item] = buildSessionContext(parseSession(line([image, foreign, later]))).items;
    expect(item?.message).toMatchObject({
      content: [image, { type: "opaque", data: foreign }, { type: "opaque", data: 1, resources: [] }],
    });
  });

  test("names the blob as a root of a collection", async () => {
    const { blobs, session, resource } = await recorded();
    const lines = [session.header, ...(await session.path())].map((line) => `${JSON.stringify(line)}\n`);
    const marks = [await sessionBlobRoots("s", new TextEncoder().encode(lines.join("")))];
    expect(marks.flatMap(({ refs }) => [...refs])).toEqual([resource.blob]);
    await collectGarbage(blobs, { marks, graceMs: 0 });
    expect(await blobs.get(resource.blob)).toBeDefined();
  });
});

describe("a provider's block", () => {
  const anyMedium = fc.oneof(
    fc.constant(base64(png())),
    fc.constant(`data:image/png;base64,${base64(png())}`),
    fc.string(),
  );
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      anyMedium,
      fc.integer(),
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom("data", "result", "mimeType", "$base64", "__proto__", "x"), tie("tree")),
    ),
  }));

  test("is whole again after its media were replaced by references", () => {
    fc.assert(
      fc.property(tree, (value) => {
        const media = opaqueMedia(value);
        const ids = media.map((_, at) => `res_${at}`);
        const bare = withReferences(value, (at) => ids[at]);
        expect(opaqueMedia(bare)).toEqual([]);
        expect(withMedia(bare, (id) => media[ids.indexOf(id)]?.base64)).toEqual(value);
        if (media.length > 0) expect(withMedia(bare, () => undefined)).toBeUndefined();
      }),
    );
  });

  test.each([
    ["Gemini", { inlineData: { mimeType: "audio/L16;rate=24000", data: base64(new Uint8Array(900)) } }, 1],
    ["Responses", { type: "image_generation_call", id: "ig", status: "completed", result: data }, 1],
    [
      "a code interpreter",
      { type: "code_interpreter_call", outputs: [{ type: "image", url: `data:image/png;base64,${data}` }] },
      1,
    ],
    ["Converse", { image: { format: "png", source: { bytes: { $base64: data } } } }, 1],
    [
      "OpenRouter",
      { message: { images: [1, 2].map(() => ({ image_url: { url: `data:image/png;base64,${data}` } })) } },
      2,
    ],
    [
      "a fetch of Claude",
      {
        type: "web_fetch_tool_result",
        content: {
          content: {
            type: "document",
            source: {
              type: "base64",
              media_type: "application/pdf",
              data: base64(Buffer.from("%PDF-1.4\n".padEnd(60))),
            },
          },
        },
      },
      1,
    ],
    ["a tool of the AI SDK", { type: "tool-result", output: { type: "json", value: { result: data } } }, 1],
    ["MCP", { content: [{ type: "image", mimeType: "image/png", data }] }, 1],
    ["a short text", { mimeType: "text/plain", data: "aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ=" }, 0],
    ["an address", { image_url: { url: "https://a.example/iVBORw0KGgo.png" } }, 0],
  ])("of %s has its media", (_, value, count) => {
    expect(opaqueMedia(value)).toHaveLength(count);
  });
});

describe("a request", () => {
  // @covers R16
  test("asks the boundary about the media of sessions that have them inline", async () => {
    const context = contextFrom([userMessage("Draw."), reply]);
    const asked: string[] = [];
    const { value, usage } = await project(context, geminiContents(google), {
      boundary: (resource, { wanted }) => {
        asked.push(`${resource.kind} ${wanted}`);
        return "allow";
      },
    });
    expect(asked).toEqual(["image full"]);
    expect(JSON.stringify(value)).toContain(data);
    expect(usage.total).toBeLessThan(3000);
    const refused = await project(context, geminiContents(google), { boundary: () => "refuse" });
    expect(JSON.stringify(refused.value)).not.toContain(data);
  });

  // @covers R16
  test("has no media that stand beside a call or a text, of which no boundary is asked", async () => {
    const image = { mime_type: "image/png", data };
    const functionCall = { name: "draw", args: {}, id: "c1" };
    const call = { id: "c1", type: "function", function: { name: "draw", arguments: "{}" } };
    const toolUse = { toolUseId: "c1", name: "draw", input: {} };
    const model = "m";
    const chat = (one: object) =>
      readOpenaiChatReply({
        ...{ model, created: 1 },
        choices: [
          { message: { role: "assistant", content: "Hi", tool_calls: [one] }, finish_reason: "tool_calls" },
        ],
      } as never);
    const fn = { type: "function_call", id: "fc_1", call_id: "c1", name: "draw", arguments: "{}", image };
    const own = (api: string, provider: string, ...content: readonly object[]) =>
      assistantMessage({ provider, model, api }, ...(content as never[]));
    const beside = { type: "text", text: "Hi", providerFields: { image } };
    const said = { type: "thinking", thinking: "Hm", thinkingSignature: "c2ln", providerFields: { image } };
    const marked = JSON.stringify({ openai: { itemId: "fc_1", image } });
    const marking = { type: "toolCall", id: "c1", name: "draw", arguments: {}, thoughtSignature: marked };
    const cases: readonly [AssistantMessage, Target<object>][] = [
      [
        readGeminiReply(
          { candidates: [{ content: { parts: [{ functionCall, image }] }, finishReason: "STOP" }] } as never,
          { model },
        ),
        geminiContents({ model }),
      ],
      [
        readAnthropicReply(
          {
            ...{ model, stop_reason: "tool_use", usage: {} },
            content: [{ type: "tool_use", id: "c1", name: "draw", input: {}, image }],
          } as never,
          { model },
        ),
        anthropicMessages({ model }),
      ],
      [
        readBedrockReply(
          {
            output: { message: { content: [{ toolUse: { ...toolUse, image } }] } },
            stopReason: "tool_use",
          } as never,
          { model },
        ),
        bedrockConverse({ model }),
      ],
      [chat({ ...call, image }), openaiChat({ model })],
      [chat({ ...call, function: { ...call.function, image } }), openaiChat({ model })],
      [
        readOpenaiResponsesReply({ model, created_at: 1, status: "completed", output: [fn] } as never),
        openaiResponses({ model }),
      ],
      [own("anthropic-messages", "anthropic", beside), anthropicMessages({ model })],
      [
        own("anthropic-messages", "anthropic", said, { type: "text", text: "Hi" }),
        anthropicMessages({ model }),
      ],
      [
        own("ai-sdk/openai.responses", "openai", marking),
        aiSdkMessages({ model: { provider: "openai.responses", modelId: model } as never }),
      ],
    ];
    for (const [message, to] of cases) {
      const context = contextFrom([userMessage("Draw."), message]);
      const { value, losses } = await project(context, to);
      expect(JSON.stringify(value)).not.toContain(data.slice(0, 40));
      expect(JSON.stringify(value)).toMatch(/draw|Hi/);
      expect(losses.map(({ code }) => code)).toContain("opaque");
    }
  });

  test("of a limited size describes the oldest", async () => {
    const blobs = memoryBlobStore();
    const limited = await memorySessionStore({ blobs }).create({ cwd: "/p" });
    for (const number of [1, 2, 3]) {
      await limited.appendMessage(userMessage(`Draw ${number}.`));
      const own = base64(pngOf({ width: 10, height: 10 }, number, 2000));
      await limited.appendMessage(
        assistantMessage(google, {
          type: "opaque",
          data: { ...block.data, inlineData: { ...inlineData, data: own } },
        }),
      );
    }
    const row = {
      rule: "imageCount",
      value: 2,
      unit: "count",
      scope: "request",
      evidence: "inferred",
      asOf: "2026-11-28",
      source: "made up",
    } as const;
    const profile: LimitProfile = { name: "two", transports: ["only"], rows: [row] };
    const target = geminiContents({ ...google, profile });
    const { attachments, losses } = await project(await limited.context(), target, { blobs });
    expect(attachments.map(({ sent, reason }) => `${sent} ${reason}`)).toEqual([
      "descriptor overLimit",
      "bytes replayed",
      "bytes currentTurn",
    ]);
    expect(losses.map(({ code }) => code)).toEqual(["overLimit"]);
  });

  test("to a provider that takes no such medium back describes it", async () => {
    const image = { image: { format: "png", source: { bytes: { $base64: data } } } };
    const nova = {
      provider: "amazon-bedrock",
      model: "amazon.nova-canvas-v2:0",
      api: "bedrock-converse-stream",
    };
    const { blobs, context } = await recorded(assistantMessage(nova, { type: "opaque", data: image }));
    const { value, losses } = await project(context, bedrockConverse(nova), { blobs });
    expect(JSON.stringify(value)).toContain("[image, image/png");
    expect(losses).toMatchObject([{ code: "opaque", by: "target" }, { code: "unsupported" }]);
    const images = {
      message: { images: [{ type: "image_url", image_url: { url: `data:image/png;base64,${data}` } }] },
    };
    const groq = { provider: "groq", model: "m", api: "openai-completions" };
    const gateway = await recorded(assistantMessage(groq, "Here.", { type: "opaque", data: images }));
    const sent = await project(gateway.context, openaiChat({ ...groq, dialect: "groq" }), gateway);
    expect(JSON.stringify(sent.value)).toContain("[image, image/png");
  });

  test("leaves out the reasoning that led to an item which is described", async () => {
    const gpt = { provider: "openai", model: "gpt-5.5", api: "openai-responses" };
    const rs = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "abc" };
    const item = { type: "image_generation_call", id: "ig_1", status: "completed", result: data };
    const message = assistantMessage(
      gpt,
      { type: "thinking", thinking: "", thinkingSignature: JSON.stringify(rs) },
      { type: "opaque", data: item },
      "Done.",
    );
    const { blobs, context } = await recorded(message);
    const target = openaiResponses(gpt);
    const whole = await project(context, target, { blobs });
    expect(whole.value.input.slice(1, 3)).toEqual([rs, item]);
    const { value } = await project(context, target, { blobs, boundary: () => "describe" });
    expect(value.input.slice(1)).toEqual([
      { role: "assistant", content: expect.stringMatching(/^\[image, image\/png/) },
      { role: "assistant", content: "Done." },
    ]);
  });

  test("that a provider refuses for it is accepted after its quarantine", async () => {
    const { blobs, session, context, resource } = await recorded();
    const projection = await project(context, geminiContents(google), { blobs });
    const found = await projection.explain({ status: 400, message: "Unable to process input image." });
    expect(found).toMatchObject({ resourceId: resource.resourceId });
    await session.append(found?.drafts ?? []);
    const { value } = await project(await session.context(), geminiContents(google), { blobs });
    expect(JSON.stringify(value)).not.toContain(data);
  });
});

describe("elsewhere", () => {
  // @covers R70
  test("is found and viewed by its id", async () => {
    const { blobs, session, resource } = await recorded();
    expect(await findResource(session, resource.resourceId)).toEqual(resource);
    expect(await viewResource(resource.resourceId, session, { blobs })).toMatchObject({ ok: true, resource });
  });

  test("is withheld from a subagent, unless it is granted", async () => {
    const { context, resource } = await recorded();
    const messages = context.items.map(({ message }) => message);
    expect(JSON.stringify(grantResources(messages))).not.toContain(resource.resourceId);
    expect(JSON.stringify(grantResources(messages, [resource.resourceId]))).toContain(resource.blob);
    expect(JSON.stringify(grantResources([reply]))).not.toContain(data);
  });

  test("is in the frame that ends the turn, stored or inline", async () => {
    const { blobs, context } = await recorded();
    const { frame, omitted } = await finishTurn({ channel: "mcp", id: "x" }, context, { blobs });
    const { text, images = [] } = frame.payload;
    expect(text).toBe("Here it is.");
    expect(images.map((image) => image.data === data)).toEqual([true]);
    expect(omitted).toEqual([]);
    const inline = contextFrom([userMessage("Draw."), reply]);
    expect(
      (await finishTurn({ channel: "mcp", id: "x" }, inline, { blobs })).frame.payload.images,
    ).toHaveLength(1);
  });

  test("counts as an image in an estimate, stored or inline", async () => {
    const { context } = await recorded();
    const [, item] = context.items;
    if (item === undefined) return expect.fail();
    expect(estimateMessageTokens(item.message)).toBeLessThan(200);
    expect(estimateMessageTokens(item.message, { replay: () => "full" })).toBeGreaterThan(500);
    expect(estimateMessageTokens(reply)).toBeLessThan(3000);
  });

  test("is a placeholder in a summary's prompt, and noted with its id", async () => {
    const { session, resource } = await recorded();
    await session.appendMessage(userMessage("x".repeat(4000)));
    await session.appendMessage(assistantMessage(google, "y"));
    await session.appendMessage(userMessage("And?"));
    const prompts: string[] = [];
    await compact(session, {
      strategy: rollingSummary({ keepRecentTokens: 1 }),
      window: 2000,
      trigger: "manual",
      generate: async ({ text }) => {
        prompts.push(text);
        return { text: "A parrot was drawn." };
      },
    });
    expect(prompts.join("\n")).toContain(`${resource.resourceId}]`);
    expect(prompts.join("\n")).not.toContain(data.slice(0, 60));
    expect(JSON.stringify(await session.context())).toContain(resource.resourceId);
  });

  test("is a picture of a page, stored or inline", async () => {
    const { entry, resource } = await recorded();
    expect(separateImages("s", [entry] as never).found).toMatchObject([{ key: resource.blob }]);
    const inline = { ...entry, message: reply };
    const { entries, found } = separateImages("s", [inline] as never);
    expect(found).toMatchObject([{ mediaType: "image/png", inline: data }]);
    expect(JSON.stringify(entries)).not.toContain(data.slice(0, 60));
  });

  test("is a file of a chat of the AI SDK, and comes back as one", async () => {
    const { session, blobs, resource } = await recorded();
    const fileUrl = ({ resourceId }: { readonly resourceId: string }) => `/files/${resourceId}`;
    const messages = await toUIMessages(await session.path(), { fileUrl });
    const file = { type: "file", mediaType: "image/png", url: `/files/${resource.resourceId}` };
    expect(messages[1]?.parts).toContainEqual(file);
    expect(JSON.stringify(await toUIMessages(await session.path()))).toContain(`${resource.resourceId}]`);
    const signed = { ...file, providerMetadata: { google: { thoughtSignature: "c2ln" } } };
    const posted = [{ id: "a", role: "assistant" as const, parts: [signed] }];
    const model = { provider: "google.generative-ai", modelId: "gemini-3-pro-image" };
    const drafts = await fromUIMessages(posted, { blobs, model, resource: () => resource });
    const made = await memorySessionStore({ blobs }).create({ cwd: "/p" });
    await made.append(drafts);
    expect(resourcesIn(await made.context())).toEqual([resource]);
    const [shown] = await toUIMessages(await made.path(), { fileUrl });
    expect(shown?.parts).toContainEqual(signed);
  });

  test("is an image of a replay to an editor", async () => {
    const { session, blobs } = await recorded();
    const updates = [];
    for await (const update of acpReplay(session, { blobs })) updates.push(update);
    expect(JSON.stringify(updates)).toContain(data);
  });

  test("is described in exports to other agents, and goes back to its own with its bytes", async () => {
    const { session, blobs, resource } = await recorded();
    for (const to of [claudeCode, codex, gemini]) {
      const { files } = await exportSession(session, { to, blobs });
      const text = files.map(({ bytes }) => new TextDecoder().decode(bytes)).join("\n");
      expect(text).toContain(`${resource.resourceId}]`);
      expect(text).not.toContain(data.slice(0, 60));
    }
    const gpt = { provider: "openai", model: "gpt-5.5", api: "openai-responses" };
    const item = { type: "image_generation_call", id: "ig_1", status: "completed", result: data };
    const own = await recorded(assistantMessage(gpt, { type: "opaque", data: item }));
    const { files } = await exportSession(own.session, { to: codex, blobs: own.blobs });
    expect(new TextDecoder().decode(files[0]?.bytes)).toContain(data);
  });

  test("goes to Claude as a descriptor", async () => {
    const { blobs, context, resource } = await recorded();
    const { value } = await project(context, anthropicMessages({ model: "claude-opus-5-5" }), { blobs });
    expect(value.messages[1]).toMatchObject({
      role: "assistant",
      content: [
        { type: "text", text: "Here it is." },
        { type: "text", text: expect.stringContaining(resource.resourceId) },
      ],
    });
  });
});
