import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ConverseStreamCommand, type ConverseStreamCommandOutput } from "@aws-sdk/client-bedrock-runtime";
import fc from "fast-check";
import { contextFrom, project, userMessage } from "sessile";
import {
  type BedrockReply,
  type BedrockReplyBlock,
  type BedrockStreamReply,
  bedrockConverse,
  bedrockStream,
  readBedrockReply,
} from "sessile/bedrock";
import { describe, expect, expectTypeOf, it, onTestFinished } from "vitest";
import { bedrockClient } from "../../support/providers/bedrock/client.js";
import { eventStreamFrames } from "../../support/providers/bedrock/event-stream.js";
import { checkCuts, eventsFrom, recordedStreams } from "../../support/reply-streams.js";

const model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const open = (source: AsyncIterable<object>) => bedrockStream(source, { model });
const messageFrom = (events: readonly object[]) => open(eventsFrom(events)).message();

/** JSON as it comes from the wire, which has no -0. */
const wireValue = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });
const block: fc.Arbitrary<BedrockReplyBlock> = fc.oneof(
  fc.record({ text }),
  fc.record({
    reasoningContent: fc.record({
      reasoningText: fc.record({ text, signature: text }, { requiredKeys: ["text"] }),
    }),
  }),
  fc.record({
    reasoningContent: fc.record({ redactedContent: fc.uint8Array({ minLength: 1, maxLength: 9 }) }),
  }),
  fc.record({
    toolUse: fc.record(
      {
        toolUseId: fc.uuid(),
        name: fc.constantFrom("read", "bash"),
        input: fc.dictionary(text, wireValue, { maxKeys: 3, noNullPrototype: true }),
        type: fc.constantFrom("tool_use", "server_tool_use"),
      },
      { requiredKeys: ["toolUseId", "name", "input"] },
    ),
  }),
);

const pieces = <T extends { length: number; slice(from: number, to: number): T }>(
  whole: T,
  size: number,
): readonly T[] =>
  Array.from({ length: Math.ceil(whole.length / size) }, (_, at) => whole.slice(at * size, (at + 1) * size));

function eventsOf(one: BedrockReplyBlock, contentBlockIndex: number, size: number): readonly object[] {
  const deltas = (list: readonly object[]) =>
    list.map((delta) => ({ contentBlockDelta: { contentBlockIndex, delta } }));
  const stop = { contentBlockStop: { contentBlockIndex } };
  if (one.text !== undefined)
    return [...deltas(pieces(one.text, size).map((piece) => ({ text: piece }))), stop];
  if (one.toolUse !== undefined) {
    const { input, ...start } = one.toolUse;
    const json = pieces(JSON.stringify(input), size).map((piece) => ({ toolUse: { input: piece } }));
    return [{ contentBlockStart: { contentBlockIndex, start: { toolUse: start } } }, ...deltas(json), stop];
  }
  const { reasoningText, redactedContent } = one.reasoningContent ?? {};
  const list =
    redactedContent === undefined
      ? [
          ...pieces(reasoningText?.text ?? "", size).map((piece) => ({ text: piece })),
          ...pieces(reasoningText?.signature ?? "", size).map((signature) => ({ signature })),
        ]
      : pieces(redactedContent, size).map((bytes) => ({ redactedContent: bytes }));
  return [...deltas(list.map((reasoningContent) => ({ reasoningContent }))), stop];
}

describe("bedrockStream", () => {
  it("takes the official client's response", () => {
    expectTypeOf<ConverseStreamCommandOutput>().toExtend<BedrockStreamReply>();
  });

  it("gives what the reader of the whole response gives, and of any cut a message that says it was aborted", async () => {
    const normal = (message: object) => ({ ...message, timestamp: 0 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(block, { maxLength: 5 }),
        fc.integer({ min: 1, max: 8 }),
        fc.boolean(),
        async (content, size, early) => {
          const usage = { inputTokens: 3, outputTokens: 4, totalTokens: 7 };
          const whole: BedrockReply = { output: { message: { content } }, stopReason: "tool_use", usage };
          const events = [
            { messageStart: { role: "assistant" } },
            ...content.flatMap((one, index) => eventsOf(one, index, size)),
            ...(early ? [{ metadata: { usage } }] : []),
            { messageStop: { stopReason: "tool_use" } },
            ...(early ? [] : [{ metadata: { usage } }]),
          ];
          const completeAt = early ? events.length : events.length - 1;
          expect(normal(await checkCuts(events, open, completeAt))).toEqual(
            normal(readBedrockReply(whole, { model })),
          );
        },
      ),
      { numRuns: 12 },
    );
  });

  it("takes the official client's response from the wire, and an exception in it", async () => {
    const events = [
      { messageStart: { role: "assistant" } },
      { contentBlockDelta: { contentBlockIndex: 0, delta: { text: "Hel" } } },
      { contentBlockDelta: { contentBlockIndex: 0, delta: { text: "lo" } } },
      { contentBlockStop: { contentBlockIndex: 0 } },
      { messageStop: { stopReason: "end_turn" } },
    ];
    const scripts = [events, [...events.slice(0, 2), { throttlingException: { message: "slow down" } }]];
    const server = createServer((_, outgoing) => {
      outgoing.writeHead(200, { "content-type": "application/vnd.amazon.eventstream" });
      outgoing.end(eventStreamFrames(scripts.shift() ?? []));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const client = bedrockClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const { value } = await project(contextFrom([userMessage("hi")]), bedrockConverse({ model }));
    const send = () => client.send(new ConverseStreamCommand({ modelId: model, ...value }));
    expect(await bedrockStream(await send(), { model }).message()).toMatchObject({
      stopReason: "stop",
      content: [{ type: "text", text: "Hello" }],
    });
    const throttled = bedrockStream(await send(), { model });
    expect(await throttled.message()).toMatchObject({ stopReason: "error", content: [{ text: "Hel" }] });
    expect(throttled.error).toBeDefined();
  });

  describe("of the bytes of an HTTP body", () => {
    const usage = { inputTokens: 3, outputTokens: 4, totalTokens: 7 };
    const base64 = (value: unknown): unknown =>
      JSON.parse(
        JSON.stringify(value, (_, one) =>
          one instanceof Uint8Array ? Buffer.from(one).toString("base64") : one,
        ),
      );
    const eventsIn = (content: readonly BedrockReplyBlock[], size: number) =>
      [
        { messageStart: { role: "assistant" } },
        ...content.flatMap((one, index) => eventsOf(one, index, size)),
        { messageStop: { stopReason: "tool_use" } },
        { metadata: { usage, p: "abc" } },
      ].map(base64) as readonly Readonly<Record<string, unknown>>[];
    async function* chunksOf(bytes: Uint8Array, size: number) {
      for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
    }
    const normal = (message: object) => ({ ...message, timestamp: 0 });

    it("gives what the reader of the whole response gives, however the bytes are cut", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(block, { maxLength: 5 }),
          fc.integer({ min: 1, max: 8 }),
          fc.integer({ min: 1, max: 300 }),
          async (content, size, chunk) => {
            const whole: BedrockReply = { output: { message: { content } }, stopReason: "tool_use", usage };
            const frames = eventStreamFrames(eventsIn(content, size));
            const read = normal(readBedrockReply(whole, { model }));
            const body = new Response(chunksOf(frames, chunk) as unknown as BodyInit);
            expect(normal(await bedrockStream(chunksOf(frames, chunk), { model }).message())).toEqual(read);
            expect(normal(await bedrockStream(body, { model }).message())).toEqual(read);
          },
        ),
        { numRuns: 12 },
      );
    });

    it("is aborted by any cut, and failed by any changed byte", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(block, { maxLength: 3 }),
          fc.nat(),
          fc.boolean(),
          async (content, place, cut) => {
            const events = eventsIn(content, 3).slice(0, -1);
            const frames = eventStreamFrames(events);
            const at = place % frames.length;
            const bytes = cut ? frames.slice(0, at) : Uint8Array.from(frames);
            if (!cut) bytes[at] = (bytes[at] as number) ^ 0x10;
            const stream = bedrockStream(chunksOf(bytes, 64), { model });
            const { stopReason } = await stream.message();
            expect(stopReason).toBe(cut ? "aborted" : "error");
            if (!cut) expect(stream.error).toMatchObject({ code: "REPLY_FAILED" });
          },
        ),
        { numRuns: 20 },
      );
    });

    it("is streamed by a fetch with a bearer token", async () => {
      const scripts = [
        eventStreamFrames(eventsIn([{ text: "Hello" }], 2)),
        eventStreamFrames([
          { messageStart: { role: "assistant" } },
          { accessDeniedException: { message: "no" } },
        ]),
      ];
      const asked: unknown[] = [];
      const server = createServer((incoming, outgoing) => {
        asked.push(incoming.headers.authorization);
        const frames = scripts.shift();
        if (frames === undefined) {
          outgoing.writeHead(403, { "content-type": "application/json" });
          outgoing.end(JSON.stringify({ message: "the key has expired" }));
          return;
        }
        outgoing.writeHead(200, { "content-type": "application/vnd.amazon.eventstream" });
        outgoing.write(frames.subarray(0, 100));
        setTimeout(() => outgoing.end(frames.subarray(100)), 5);
      });
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      onTestFinished(() => void server.close());
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/model/${model}/converse-stream`;
      const { value } = await project(contextFrom([userMessage("hi")]), bedrockConverse({ model }));
      const ask = () =>
        fetch(url, { method: "POST", headers: { authorization: "Bearer key" }, body: JSON.stringify(value) });
      expect(await bedrockStream(await ask(), { model }).message()).toMatchObject({
        content: [{ type: "text", text: "Hello" }],
      });
      const denied = bedrockStream(await ask(), { model });
      expect(await denied.message()).toMatchObject({ errorMessage: "accessDeniedException: no" });
      const expired = bedrockStream(await ask(), { model });
      expect(await expired.message()).toMatchObject({ errorMessage: "403: the key has expired" });
      expect(expired.error).toMatchObject({ code: "REPLY_FAILED", details: { status: 403 } });
      expect(asked).toEqual(["Bearer key", "Bearer key", "Bearer key"]);
    });
  });

  it("leaves out a call that the limit of tokens cut", async () => {
    const events = [
      { contentBlockStart: { contentBlockIndex: 0, start: { toolUse: { toolUseId: "a", name: "write" } } } },
      { contentBlockDelta: { contentBlockIndex: 0, delta: { toolUse: { input: '{"text":"a' } } } },
      { contentBlockStop: { contentBlockIndex: 0 } },
      { messageStop: { stopReason: "max_tokens" } },
    ];
    expect(await messageFrom(events)).toMatchObject({ stopReason: "length", content: [] });
  });

  it("names the exception that a raw event holds", async () => {
    const stream = open(
      eventsFrom([{ modelStreamErrorException: { message: "broken", originalStatusCode: 500 } }]),
    );
    expect(await stream.message()).toMatchObject({ errorMessage: "modelStreamErrorException: broken" });
    expect(stream.error).toMatchObject({ code: "REPLY_FAILED" });
  });

  it("throws at once if no model is named", () => {
    expect(() => bedrockStream(eventsFrom([]), { model: "" })).toThrow(TypeError);
  });

  it("ignores events and members of any shape", async () => {
    const delta = fc.oneof(
      fc.jsonValue(),
      fc.record({ text: fc.jsonValue(), toolUse: fc.jsonValue(), reasoningContent: fc.jsonValue() }),
    );
    const junk = fc.oneof(
      fc.jsonValue(),
      fc.record({
        contentBlockDelta: fc.oneof(fc.jsonValue(), fc.record({ contentBlockIndex: fc.jsonValue(), delta })),
      }),
      fc.record({ contentBlockStart: fc.oneof(fc.jsonValue(), fc.record({ start: fc.jsonValue() })) }),
      fc.record({ metadata: fc.jsonValue() }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(junk, { maxLength: 6 }), async (events) => {
        expect(await messageFrom(events as object[])).toMatchObject({
          role: "assistant",
          stopReason: "aborted",
        });
      }),
    );
  });

  const recorded = recordedStreams("amazon-bedrock") as readonly {
    name: string;
    events: readonly object[];
  }[];
  it.skipIf(recorded.length === 0).each(recorded)("cuts of a recorded stream: $name", async ({ events }) => {
    const completeAt = events.findIndex((event) => "messageStop" in event) + 1;
    expect((await checkCuts(events, open, completeAt)).stopReason).toMatch(/^(stop|toolUse)$/);
  });
});
