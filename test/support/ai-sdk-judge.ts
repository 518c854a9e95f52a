import fc from "fast-check";
import { type BlobStore, memoryBlobStore, type SessionStore } from "sessile";
import { aiSdkChats, fromUIMessages, toUIMessages, type UiMessage } from "sessile/ai-sdk";
import { expect } from "vitest";
import { makePng } from "../../examples/apps/support/make-media.js";
import { uiMessages } from "../adapters/ai-sdk/ui-messages.js";
import { hazardousSession } from "../arbitraries/hazards.js";

// biome-ignore lint/suspicious/noExplicitAny: the types of two versions, which differ
type Any = any;

/** The functions of a version of `ai`, and the model of its `ai/test`. */
export interface AiSdk {
  readonly streamText: (options: Any) => Any;
  readonly validateUIMessages: (options: Any) => Promise<Any>;
  readonly convertToModelMessages: (messages: Any) => Promise<Any>;
  readonly simulateReadableStream: (options: Any) => Any;
  readonly MockLanguageModelV3: new (options: Any) => Any;
}

/** A picture of more characters than stay in a log. */
const picture = {
  type: "file",
  mediaType: "image/png",
  filename: "holiday.png",
  url: `data:image/png;base64,${Buffer.concat([makePng(64, 48), Buffer.alloc(6000, 7)]).toString("base64")}`,
};

interface Prompted {
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[];
}

/** A model that says how many images it sees, in several pieces and after some reasoning. */
function model({ MockLanguageModelV3, simulateReadableStream }: AiSdk) {
  let calls = 0;
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  return new MockLanguageModelV3({
    doStream: async ({ prompt }: Prompted) => {
      const images = JSON.stringify(prompt).split('"mediaType":"image/png"').length - 1;
      const text = `Call ${++calls} sees ${images} images.`;
      const chunks = [
        { type: "stream-start", warnings: [] },
        { type: "reasoning-start", id: "r" },
        { type: "reasoning-delta", id: "r", delta: "Hm." },
        { type: "reasoning-end", id: "r", providerMetadata: { mock: { signature: "s" } } },
        { type: "text-start", id: "t" },
        ...text.split(/(?<= )/).map((delta) => ({ type: "text-delta", id: "t", delta })),
        { type: "text-end", id: "t" },
        { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
      ];
      return { stream: simulateReadableStream({ chunks }) };
    },
  });
}

async function chunksOf(stream: ReadableStream<unknown> | undefined): Promise<unknown[]> {
  const chunks: unknown[] = [];
  for await (const chunk of stream ?? []) chunks.push(chunk);
  return chunks;
}

/** Two turns and a regeneration, as the SDK's guide stores chats: load, validate, convert, stream, save. */
export async function judgeTurns(
  ai: AiSdk,
  stores: { readonly sessions: SessionStore; readonly blobs: BlobStore },
) {
  const chats = aiSdkChats<UiMessage>(stores);
  const chatId = "judge/1";
  const mock = model(ai);
  let ids = 0;
  const turn = async (originalMessages: UiMessage[]): Promise<number> => {
    const messages = await ai.validateUIMessages({ messages: originalMessages });
    const result = ai.streamText({ model: mock, messages: await ai.convertToModelMessages(messages) });
    let written = 0;
    const onFinish = async (end: { messages: UiMessage[] }) => {
      written = (await chats.save({ chatId, messages: end.messages })).written;
      expect(await chats.load(chatId)).toEqual(JSON.parse(JSON.stringify(end.messages)));
    };
    const options = { originalMessages: messages, generateMessageId: () => `a${ids++}`, onFinish };
    const stream = chats.stream(chatId, result.toUIMessageStream(options));
    const resumed = chats.resume(chatId);
    const [first, second] = await Promise.all([stream, resumed].map(chunksOf));
    expect(first?.length).toBeGreaterThan(6);
    expect(second).toEqual(first);
    return written;
  };
  const question = { id: "u0", role: "user" as const, parts: [picture, { type: "text", text: "Where?" }] };
  const counts = [await turn([...(await chats.load(chatId)), question])];
  const next = { id: "u1", role: "user" as const, parts: [{ type: "text", text: "When?" }] };
  counts.push(await turn([...(await chats.load(chatId)), next]));
  // As `regenerate` posts it: without the last reply.
  counts.push(await turn((await chats.load(chatId)).slice(0, -1)));
  let blobs = 0;
  for await (const _ of stores.blobs.list()) blobs++;
  const last = (await chats.load(chatId)).at(-1)?.parts.at(-1);
  const versions = (await chats.versions(chatId, "a2")).map(({ message }) => message.id);
  await chats.close();
  return { counts, blobs, last, versions };
}

/** Histories that the SDK accepts are accepted after the store and after a session, and mean the same to a model. */
export async function judgeHistories(ai: AiSdk, sessions: SessionStore): Promise<number> {
  const chats = aiSdkChats<UiMessage>({ sessions, blobs: memoryBlobStore(), outOfLine: 64 });
  const outcome = async (messages: unknown) => {
    try {
      const valid = await ai.validateUIMessages({ messages });
      return { valid, model: await ai.convertToModelMessages(valid).catch((error: Error) => error.name) };
    } catch (error) {
      return (error as Error).name;
    }
  };
  let accepted = 0;
  let chat = 0;
  await fc.assert(
    fc.asyncProperty(uiMessages, async (messages) => {
      const chatId = `history ${chat++}`;
      const half = messages.slice(0, messages.length >> 1);
      await chats.save({ chatId, messages: half });
      await chats.save({ chatId, messages });
      const expected = await outcome(JSON.parse(JSON.stringify(messages)));
      expect(await outcome(await chats.load(chatId))).toEqual(expected);
      if (typeof expected !== "string") accepted++;
    }),
    { numRuns: 60 },
  );
  const makers = [{ provider: "anthropic", model: "m", api: "anthropic-messages" }];
  await fc.assert(
    fc.asyncProperty(hazardousSession(12, makers), async ({ entries }) => {
      const messages = await toUIMessages(entries, {
        fileUrl: ({ blob }) => `https://files.example/${blob}`,
      });
      const shown = messages.filter(({ parts }) => parts.length > 0);
      if (shown.length === 0) return;
      const valid = await ai.validateUIMessages({ messages: shown });
      expect(await ai.convertToModelMessages(valid)).toBeInstanceOf(Array);
      const text = shown.map((message) => ({
        ...message,
        parts: message.parts.filter(({ type }) => type !== "file"),
      }));
      expect((await fromUIMessages(text)).length).toBeGreaterThan(0);
    }),
    { numRuns: 40 },
  );
  await chats.close();
  return accepted;
}
