/** Version 6 of the AI SDK; test/adapters/frameworks has version 7. */
import * as ai from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { memorySessionStore } from "sessile";
import { type AiSdkChats, toUIMessages, type UIReplies, type UiChunk, type UiMessage } from "sessile/ai-sdk";
import { describe, expect, expectTypeOf, it } from "vitest";
import { storesOf } from "../adapters/frameworks/stores.js";
import { type AiSdk, judgeHistories, judgeTurns } from "../support/ai-sdk-judge.js";

const sdk: AiSdk = { ...ai, MockLanguageModelV3 };

// PGlite is tested with version 7.
describe.each(storesOf().slice(0, 2))("AI SDK 6 in %s", (_name, open) => {
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
