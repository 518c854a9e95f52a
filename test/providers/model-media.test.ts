/** Media that a model made: in the log, in requests to their maker, and to others. */

import {
  type AssistantMessage,
  assistantMessage,
  contextFrom,
  memoryBlobStore,
  memorySessionStore,
  project,
  type Target,
  toBody,
  userMessage,
} from "sessile";
import { aiSdkMessages, readAiSdkReply } from "sessile/ai-sdk";
import { anthropicMessages } from "sessile/anthropic";
import { replayAlways, replayNever, resourcesIn } from "sessile/attachments";
import {
  geminiContents,
  geminiInteractions,
  geminiStream,
  readGeminiInteraction,
  readGeminiReply,
} from "sessile/gemini";
import {
  openaiChat,
  openaiChatStream,
  openaiResponses,
  readOpenaiChatReply,
  readOpenaiResponsesReply,
} from "sessile/openai";
import { describe, expect, test } from "vitest";
import { memoryStore, put } from "../sync/stores.js";
import { pngOf } from "./samples.js";

const picture = pngOf({ width: 900, height: 700 }, 1, 40_000);
const base64 = Buffer.from(picture).toString("base64");
const url = `data:image/png;base64,${base64}`;
const sigGemini = Buffer.from("a signature of a thought").toString("base64");

interface Maker {
  readonly reply: AssistantMessage;
  readonly target: Target<object>;
  /** Whether the provider needs its image in later turns too. */
  readonly required: boolean;
}

const geminiReply = (signed: boolean) => ({
  candidates: [
    {
      content: {
        parts: [
          { text: "Here it is." },
          {
            inlineData: { mimeType: "image/png", data: base64 },
            ...(signed ? { thoughtSignature: sigGemini } : {}),
          },
        ],
      },
      finishReason: "STOP",
    },
  ],
  modelVersion: "gemini-3-pro-image",
  responseId: "r",
});
const item = {
  id: "ig_1",
  type: "image_generation_call",
  status: "completed",
  output_format: "png",
  result: base64,
  revised_prompt: "a parrot",
};
const chat = { role: "assistant", content: "Here.", images: [{ type: "image_url", image_url: { url } }] };
const aiModel = { provider: "google.generative-ai", modelId: "gemini-3-pro-image" };
const aiReply = (part: object) => ({
  model: aiModel,
  content: [{ type: "file" }],
  finishReason: "stop",
  usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
  response: { messages: [{ role: "assistant", content: [{ type: "text", text: "Here." }, part] }] },
});
const file = { type: "file", mediaType: "image/png", data: base64 };
const gemini = geminiContents({ model: "gemini-3-pro-image" });

const makers: Readonly<Record<string, Maker>> = {
  "Gemini, signed": { reply: readGeminiReply(geminiReply(true)), target: gemini, required: true },
  "Gemini, unsigned": { reply: readGeminiReply(geminiReply(false)), target: gemini, required: false },
  Interactions: {
    reply: readGeminiInteraction({
      model: "gemini-3-pro-image",
      status: "completed",
      steps: [
        {
          type: "model_output",
          content: [
            { type: "text", text: "Here it is." },
            { type: "image", mime_type: "image/png", data: base64 },
          ],
        },
      ] as never,
    }),
    target: geminiInteractions({ model: "gemini-3-pro-image" }),
    required: false,
  },
  "Interactions, a thought": {
    reply: readGeminiInteraction({
      model: "gemini-3-pro-image",
      status: "completed",
      steps: [
        {
          type: "thought",
          signature: sigGemini,
          summary: [{ type: "image", mime_type: "image/png", data: base64 }],
        },
        { type: "model_output", content: [{ type: "text", text: "Here it is." }] },
      ] as never,
    }),
    target: geminiInteractions({ model: "gemini-3-pro-image" }),
    required: true,
  },
  Responses: {
    reply: readOpenaiResponsesReply({
      created_at: 1,
      model: "gpt-5.5",
      status: "completed",
      error: null,
      incomplete_details: null,
      output: [item],
    }),
    target: openaiResponses({ model: "gpt-5.5" }),
    required: true,
  },
  OpenRouter: {
    reply: readOpenaiChatReply(
      { created: 1, model: "m", choices: [{ finish_reason: "stop", message: chat }] } as never,
      { dialect: "openrouter" },
    ),
    target: openaiChat({ model: "m", dialect: "openrouter" }),
    required: false,
  },
  "AI SDK, signed": {
    reply: readAiSdkReply(
      aiReply({ ...file, providerOptions: { google: { thoughtSignature: sigGemini } } }) as never,
    ),
    target: aiSdkMessages({ model: aiModel }),
    required: true,
  },
  "AI SDK, unsigned": {
    reply: readAiSdkReply(aiReply(file) as never),
    target: aiSdkMessages({ model: aiModel }),
    required: false,
  },
};

async function recorded(...messages: readonly AssistantMessage[]) {
  const blobs = memoryBlobStore();
  const session = await memorySessionStore({ blobs }).create({ cwd: "/p" });
  await session.appendMessage(userMessage("Draw a parrot."));
  for (const message of messages) await session.appendMessage(message);
  return { blobs, session };
}

const count = (value: unknown) => JSON.stringify(value).split(base64).length - 1;

describe.each(Object.entries(makers))("an image of %s", (_, { reply, target, required }) => {
  // @covers R6 R63
  test("is a resource in the log, and its bytes are in the blob store", async () => {
    const { blobs, session } = await recorded(reply);
    const context = await session.context();
    const [resource] = resourcesIn(context);
    expect(resource).toMatchObject({ kind: "image", source: "model", mediaType: "image/png", width: 900 });
    if (resource?.kind !== "image") return expect.fail("no image");
    expect(Buffer.from((await blobs.get(resource.blob)) ?? []).equals(Buffer.from(picture))).toBe(true);
    expect(JSON.stringify(context).length).toBeLessThan(4000);
  });

  test("goes back to its maker in its own turn as it came", async () => {
    const { blobs, session } = await recorded(reply);
    const stored = await project(await session.context(), target, { blobs });
    const given = await project(contextFrom([userMessage("Draw a parrot."), reply]), target);
    expect(stored.value).toEqual(given.value);
    expect(count(stored.value)).toBe(1);
    expect(stored.losses).toEqual([]);
    const body = Buffer.concat([...toBody(await project(await session.context(), target, { blobs }))]);
    expect(JSON.parse(body.toString())).toEqual(JSON.parse(JSON.stringify(stored.value)));
  });

  // @covers R8
  test("goes back in later turns if its maker requires it, and is described otherwise", async () => {
    const { blobs, session } = await recorded(reply);
    await session.appendMessage(userMessage("And now?"));
    const context = await session.context();
    const { value, attachments, losses } = await project(context, target, { blobs });
    expect(count(value)).toBe(required ? 1 : 0);
    expect(losses).toEqual([]);
    expect(attachments).toMatchObject([
      required ? { sent: "bytes", reason: "replayed" } : { sent: "descriptor", reason: "earlierTurn" },
    ]);
    if (!required) expect(JSON.stringify(value)).toMatch(/\[image, image\/png, .*not sent again/);
    const always = await project(context, target, { blobs, replay: replayAlways });
    expect(count(always.value)).toBe(1);
    const never = await project(context, target, { blobs, replay: replayNever });
    expect(count(never.value)).toBe(0);
    expect(JSON.stringify(never.value)).toMatch(/\[image, image\/png/);
  });

  // @covers R16
  test("is asked of the boundary, which can withhold it", async () => {
    const { blobs, session } = await recorded(reply);
    const asked: unknown[] = [];
    const { value, attachments } = await project(await session.context(), target, {
      blobs,
      boundary: (resource, { wanted }) => {
        asked.push([resource.kind, wanted]);
        return "refuse";
      },
    });
    expect(asked).toEqual([["image", "full"]]);
    expect(count(value)).toBe(0);
    expect(JSON.stringify(value)).not.toContain("res_");
    expect(attachments).toMatchObject([{ sent: "nothing", reason: "boundary" }]);
  });

  test("counts as an image, not as text", async () => {
    const { blobs, session } = await recorded(reply);
    const { usage } = await project(await session.context(), target, { blobs });
    expect(usage.imageCount).toBe(1);
    expect(usage.total).toBeLessThan(4000);
  });

  test("is described to another model, with a loss", async () => {
    const { blobs, session } = await recorded(reply);
    await session.appendMessage(userMessage("And now?"));
    const other = anthropicMessages({ model: "claude-opus-5" });
    const { value, losses } = await project(await session.context(), other, { blobs });
    expect(count(value)).toBe(0);
    expect(JSON.stringify(value)).toMatch(/\[image, image\/png/);
    expect(losses).toMatchObject([{ code: "opaque", by: "target" }]);
  });

  test("is described if its bytes are gone", async () => {
    const { session } = await recorded(reply);
    const { value, losses } = await project(await session.context(), target, { blobs: memoryBlobStore() });
    expect(JSON.stringify(value)).toMatch(/no longer stored/);
    expect(losses.map(({ code }) => code)).toContain("missing");
  });
});

describe("a streamed image", () => {
  async function* events<T>(...all: readonly T[]) {
    for (const one of all) yield one;
  }

  test.each([
    ["Gemini", () => geminiStream(events(geminiReply(true)) as never), "Gemini, signed"],
    [
      "OpenRouter",
      () =>
        openaiChatStream(
          events(
            { model: "m", choices: [{ delta: { role: "assistant", content: "Here." } }] },
            { choices: [{ delta: { images: chat.images }, finish_reason: "stop" }] },
          ),
          { dialect: "openrouter" },
        ),
      "OpenRouter",
    ],
  ])("of %s is a resource as that of a whole reply", async (_, stream, whole) => {
    const message = await stream().message();
    expect(message.content).toEqual(makers[whole]?.reply.content);
    const { session } = await recorded(message);
    const context = await session.context();
    expect(resourcesIn(context)).toMatchObject([{ kind: "image", source: "model" }]);
    expect(count(context)).toBe(0);
  });
});

test.each([
  ["a source of text", { type: "text", media_type: "text/plain", data: "Internationalization".repeat(80) }],
  ["words beside their type", { mimeType: "text/plain", data: "Internationalizations ".repeat(80) }],
  ["lines beside their type", { mimeType: "TEXT/plain", data: "Internationalization\n".repeat(80) }],
])("%s is no base64, whatever its length", async (_, { data, ...source }) => {
  for (let length = 1400; length < 1408; length++) {
    const text = { ...source, data: data.slice(0, length) };
    const content = [
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_fetch", input: {} },
      { type: "web_fetch_tool_result", tool_use_id: "srvtoolu_1", content: { source: text } },
    ];
    const { blobs, session } = await recorded({
      ...assistantMessage({ provider: "anthropic", model: "m", api: "anthropic-messages" }),
      content: content.map((data) => ({ type: "opaque", data })),
    });
    const context = await session.context();
    const { value } = await project(context, anthropicMessages({ model: "m" }), { blobs });
    expect(resourcesIn(context)).toEqual([]);
    expect(value.messages[1]).toMatchObject({ content });
  }
});

describe("a provider's block with a member that looks like a reference", () => {
  const content = [
    { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { $resource: "res_1" } },
    { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
    { type: "text", text: "Done." },
  ];
  const reply = {
    ...assistantMessage({ provider: "anthropic", model: "m", api: "anthropic-messages" }),
    content: content.map((data) => (data.type === "text" ? data : { type: "opaque", data })),
  } as AssistantMessage;

  test("goes back as it came", async () => {
    const { session } = await recorded(reply);
    const { value, losses } = await project(await session.context(), anthropicMessages({ model: "m" }));
    expect(value.messages[1]).toMatchObject({ role: "assistant", content });
    expect(losses).toEqual([]);
  });

  test("has a reference all the same if its resources cannot be read", async () => {
    const [data] = content;
    const entry = { type: "message", id: "00000001", parentId: null, timestamp: "2026-01-01T00:00:00.000Z" };
    const message = { ...reply, content: [{ type: "opaque", data, resources: [{ kind: "later" }] }] };
    const header = { type: "session", version: 3, id: "s", timestamp: entry.timestamp, cwd: "/p" };
    const log = [header, { ...entry, message }].map((line) => `${JSON.stringify(line)}\n`).join("");
    const store = memoryStore();
    await put(store, "s", log, { timestamp: entry.timestamp });
    const session = await store.open("s");
    const { value, losses } = await project(await session.context(), anthropicMessages({ model: "m" }));
    expect(JSON.stringify(value)).not.toContain("$resource");
    expect(losses).toMatchObject([{ code: "opaque", by: "history" }]);
  });
});
