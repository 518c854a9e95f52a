/**
 * Every part type of the AI SDK, of pages and of replies, with a word and a picture in it: its own model is sent it again, and
 * another one the word and the picture, or there is a loss. A page gets each part back. The types are those of `ai`.
 */
import type { AssistantContent, ContentPart, ToolSet, UIDataTypes, UIMessagePart, UITools } from "ai";
import {
  contextFrom,
  type Loss,
  memoryBlobStore,
  memorySessionStore,
  project,
  type StoredResource,
  userMessage,
} from "sessile";
import { aiSdkMessages, fromUIMessages, readAiSdkReply, toUIMessages, type UiMessage } from "sessile/ai-sdk";
import { replayAlways } from "sessile/attachments";
import { openaiResponses } from "sessile/openai";
import { describe, expect, expectTypeOf, test } from "vitest";
import { pngOf } from "../../providers/samples.js";

type Fields = { readonly type: string } & Readonly<Record<string, unknown>>;

const data = Buffer.from(pngOf({ width: 9, height: 7 })).toString("base64");
const url = `data:image/png;base64,${data}`;
const meta = { anthropic: { mark: "m" } };
const identity = { provider: "anthropic.messages", modelId: "claude-sonnet-4-5" };
const foreign = openaiResponses({ model: "another-1", provider: "elsewhere" });

describe("parts of a page", () => {
  const called = { toolCallId: "c1", state: "output-available", input: { q: "zebra" }, output: "zebra" };
  /** By the type without the name of a tool or of data. */
  const parts = {
    text: [{ type: "text", text: "zebra", citations: [] }],
    reasoning: [{ type: "reasoning", text: "zebra", providerMetadata: meta }],
    file: [
      { type: "file", mediaType: "image/png", filename: "zebra.png", url },
      { type: "file", mediaType: "image/png", url: "https://example.com/zebra.png" },
    ],
    "reasoning-file": [{ type: "reasoning-file", mediaType: "image/png", url }],
    "source-url": [{ type: "source-url", sourceId: "s", url: "https://a.b", title: "zebra" }],
    "source-document": [{ type: "source-document", sourceId: "s", mediaType: "a/b", title: "zebra" }],
    custom: [{ type: "custom", kind: "anthropic.zebra", providerMetadata: meta }],
    "step-start": [{ type: "step-start" }],
    "steering-message": [
      { type: "steering-message", id: "s1", parts: [{ type: "text", text: "zebra" }] },
      { type: "steering-message", id: "s1", parts: [{ type: "file", mediaType: "image/png", url }] },
    ],
    data: [
      { type: "data-quote", data: { text: "zebra" } },
      { type: "data-page", data: { title: "t", content: "zebra" } },
      { type: "data-theme", data: "dark" },
    ],
    "dynamic-tool": [{ type: "dynamic-tool", toolName: "read", ...called }],
    tool: [
      { type: "tool-read", ...called },
      { type: "tool-read", ...called, state: "output-error", output: undefined, errorText: "zebra" },
      {
        type: "tool-read",
        ...called,
        state: "output-denied",
        output: undefined,
        approval: { id: "a", approved: false, reason: "zebra" },
      },
      {
        type: "tool-read",
        ...called,
        state: "approval-responded",
        output: undefined,
        input: {},
        approval: { id: "a", approved: false, reason: "zebra" },
      },
      { type: "tool-web", ...called, providerExecuted: true, resultProviderMetadata: meta },
    ],
  } satisfies Readonly<Record<string, readonly Fields[]>>;
  type Known<T> = T extends `tool-${string}` ? "tool" : T extends `data-${string}` ? "data" : T;

  test("are all those that a message of the page can have", () => {
    type Types = Known<UIMessagePart<UIDataTypes, UITools>["type"]>;
    expectTypeOf<Exclude<Types, keyof typeof parts>>().toBeNever();
  });

  /** Parts of replies, which no page makes of what a user writes. */
  const isReplys = (type: string) => /^(?:source|custom|dynamic-tool|tool|steering)/.test(type);
  const rows = Object.entries(parts as Readonly<Record<string, readonly Fields[]>>).flatMap(([type, list]) =>
    (["user", "assistant"] as const).flatMap((role) =>
      list.map((part, at) => ({ name: `${role}: ${type} ${at}`, role, type, part })),
    ),
  );
  test.each(rows)("$name", async ({ role, type, part }) => {
    const blobs = memoryBlobStore();
    const session = await memorySessionStore({ blobs }).create({ cwd: "/" });
    const message = { id: "m1", role, parts: [JSON.parse(JSON.stringify(part)) as Fields] } as UiMessage;
    const before: UiMessage = { id: "m0", role: "user", parts: [{ type: "text", text: "Go." } as Fields] };
    const model = { provider: identity.provider, modelId: identity.modelId };
    await session.append(await fromUIMessages([before, message], { blobs, model }));
    const fileUrl = async ({ blob }: StoredResource) =>
      `data:image/png;base64,${Buffer.from((await blobs.get(blob)) ?? []).toString("base64")}`;
    expect(await toUIMessages(await session.path(), { fileUrl, running: true })).toEqual([before, message]);

    const { value, losses } = await project(await session.context(), foreign, {
      blobs,
      replay: replayAlways,
    });
    const sent = JSON.stringify(value);
    const isTold =
      role === "assistant" && losses.some(({ code }) => /opaque|reasoning|unsupported/.test(code));
    if (isTold || (role === "user" && isReplys(type))) return;
    if (JSON.stringify(part).includes("zebra")) expect(sent).toContain("zebra");
    if (JSON.stringify(part).includes(data)) expect(sent).toContain(data);
  });
});

describe("parts of a reply", () => {
  const output = { type: "text", value: "zebra" };
  const parts = {
    text: [
      { type: "text", text: "zebra", providerOptions: meta },
      { type: "text", text: "", providerOptions: meta },
    ],
    custom: [{ type: "custom", kind: "anthropic.zebra", providerOptions: meta }],
    file: [{ type: "file", mediaType: "image/png", data, providerOptions: meta }],
    reasoning: [{ type: "reasoning", text: "zebra", providerOptions: meta }],
    "reasoning-file": [{ type: "reasoning-file", mediaType: "image/png", data, providerOptions: meta }],
    "tool-call": [
      { type: "tool-call", toolCallId: "s1", toolName: "web", input: { q: "zebra" }, providerExecuted: true },
    ],
    "tool-result": [
      { type: "tool-result", toolCallId: "s1", toolName: "web", output, providerOptions: meta },
    ],
    "tool-approval-request": [
      { type: "tool-approval-request", approvalId: "a", toolCallId: "c1", reason: "zebra" },
    ],
  };
  /** Of a step's content: shown, and sent to no provider; or in the message of the tools. */
  type Beside = "source" | "tool-error" | "tool-approval-response";

  test("are all those that a message and a step can have", () => {
    type Types = Exclude<AssistantContent, string>[number]["type"] | ContentPart<ToolSet>["type"];
    expectTypeOf<Exclude<Types, keyof typeof parts | Beside>>().toBeNever();
  });

  const rows = Object.entries(parts).flatMap(([type, list]) =>
    list.map((part, at) => ({ name: `${type} ${at}`, part })),
  );
  test.each(rows)("$name", async ({ part }) => {
    const end = { type: "text", text: "End." };
    const content = [part, end];
    const reply = readAiSdkReply({
      model: identity,
      content: content.map(({ type }) => ({ type, text: "x", providerExecuted: true })),
      finishReason: "stop",
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
      response: { messages: [{ role: "assistant", content }] },
    });
    const blobs = memoryBlobStore();
    const session = await memorySessionStore({ blobs }).create({ cwd: "/" });
    for (const message of [userMessage("Go."), reply, userMessage("On.")])
      await session.appendMessage(message);
    const context = await session.context();
    const options = { blobs, replay: replayAlways };
    const own = await project(context, aiSdkMessages({ model: identity }), options);
    expect(own.value.messages[1]).toEqual({ role: "assistant", content });
    expect(own.losses).toEqual([]);
    const other = await project(context, foreign, options);
    const told = other.losses.map(({ code, block }: Loss) => [code, block]);
    if (told.length === 0) expect(JSON.stringify(other.value)).toContain("zebra");
    else expect(told[0]?.[1]).toBe(0);
  });

  test("of an unknown type keep their words, and a source and citations are shown", async () => {
    const citations = [{ type: "text", source: { type: "url", url: "https://a.b" } }];
    const reply = readAiSdkReply({
      model: identity,
      content: [
        { type: "text", text: "Blue.", citations } as Fields,
        { type: "source", sourceType: "url", id: "s1", url: "https://a.b", title: "A" } as Fields,
        { type: "source", sourceType: "place", id: "s2" } as Fields,
        { type: "remark" },
      ],
      finishReason: "stop",
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
      response: {
        messages: [
          {
            role: "assistant",
            content: [
              { type: "text", text: "Blue." },
              { type: "remark", text: "zebra" },
            ],
          },
        ],
      },
    });
    const entry = { type: "message", id: "r", parentId: null, timestamp: "", message: reply } as const;
    const [shown] = await toUIMessages([entry]);
    expect(shown?.parts).toEqual([
      { type: "step-start" },
      { type: "text", text: "Blue.", state: "done", citations },
      { type: "source-url", sourceId: "s1", url: "https://a.b", title: "A" },
      { type: "text", text: "zebra" },
    ]);
    for (const target of [aiSdkMessages({ model: identity }), foreign]) {
      const { value, losses } = await project(
        contextFrom([userMessage("?"), reply, userMessage("!")]),
        target as typeof foreign,
      );
      expect(JSON.stringify(value)).toContain("zebra");
      expect(losses.length).toBeGreaterThan(0);
    }
  });
});
