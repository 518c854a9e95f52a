/** Version 7 of the AI SDK; test/api/ai-sdk-chats.test.ts has version 6. */
import * as ai from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { memorySessionStore } from "sessile";
import {
  type AiSdkChats,
  fromUIMessages,
  toUIMessages,
  type UIReplies,
  type UiChunk,
  type UiMessage,
} from "sessile/ai-sdk";
import { describe, expect, expectTypeOf, it } from "vitest";
import { type AiSdk, judgeHistories, judgeTurns } from "../../support/ai-sdk-judge.js";
import { storesOf } from "./stores.js";

const sdk: AiSdk = { ...ai, MockLanguageModelV3 };

describe.each(storesOf())("AI SDK 7 in %s", (_name, open) => {
  it("two turns and a regeneration write 2, 2 and 1 messages, and the image once", async () => {
    expect(await judgeTurns(sdk, await open())).toEqual({
      counts: [2, 2, 1],
      blobs: 1,
      last: { type: "text", text: "Call 3 sees 1 images.", state: "done" },
      versions: ["a1", "a2"],
    });
  });
});

it("accepts every history from the store that it accepts without, and shows any session", async () => {
  expect(await judgeHistories(sdk, memorySessionStore())).toBeGreaterThan(5);
});

it("has types that fit", () => {
  expectTypeOf<ai.UIMessage>().toExtend<UiMessage>();
  expectTypeOf<ai.UIMessageChunk>().toExtend<UiChunk>();
  expectTypeOf<AiSdkChats<ai.UIMessage>["load"]>().returns.resolves.toEqualTypeOf<ai.UIMessage[]>();
  expectTypeOf<UIReplies<ai.UIMessageChunk>["stream"]>().returns.toExtend<
    ReadableStream<ai.UIMessageChunk>
  >();
  expectTypeOf(toUIMessages<ai.UIMessage>).returns.resolves.toExtend<
    Parameters<typeof ai.convertToModelMessages>[0]
  >();
  expectTypeOf<Parameters<ai.UIMessageStreamOnFinishCallback<ai.UIMessage>>[0]["messages"]>().toExtend<
    Parameters<AiSdkChats<ai.UIMessage>["save"]>[0]["messages"]
  >();
  // @ts-expect-error no message
  expectTypeOf<{ id: string; role: "tool"; parts: [] }>().toExtend<UiMessage>();
});

it("gives a model the steering messages of the user where the SDK gives them", async () => {
  const said = (text: string) => [{ type: "text" as const, text }];
  const steering = (id: string, text: string) => ({
    type: "steering-message" as const,
    id,
    parts: said(text),
  });
  const reply: ai.UIMessage["parts"] = [
    { type: "step-start" },
    { type: "tool-read", toolCallId: "c1", state: "output-available", input: {}, output: "ok" },
    steering("s1", "Use zebra."),
    steering("s2", "And quagga."),
    { type: "step-start" },
    { type: "text", text: "Changed course.", state: "done" },
    steering("s3", "Enough."),
  ];
  const messages: ai.UIMessage[] = [
    { id: "u1", role: "user", parts: said("Start.") },
    { id: "a1", role: "assistant", parts: reply },
    { id: "u2", role: "user", parts: said("Go on.") },
  ];
  const valid = await ai.validateUIMessages({ messages });
  const session = await memorySessionStore().create({ cwd: "/" });
  await session.append(await fromUIMessages(valid));
  expect(await toUIMessages(await session.path())).toEqual(messages);
  const roles = (await ai.convertToModelMessages(valid)).map(({ role }) => role);
  const ours = (await session.context()).items.map(({ message }) => message.role);
  expect(ours.map((role) => (role === "toolResult" ? "tool" : role))).toEqual(roles);
});
