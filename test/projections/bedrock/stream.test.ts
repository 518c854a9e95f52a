import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ConverseStreamCommand, type ConverseStreamCommandOutput } from "@aws-sdk/client-bedrock-runtime";
import fc from "fast-check";
import { contextOf, userMessage } from "sessile/content";
import { project } from "sessile/projections";
import {
  type BedrockReply,
  type BedrockReplyBlock,
  type BedrockStreamReply,
  bedrockConverse,
  bedrockStream,
  readBedrockReply,
} from "sessile/projections/bedrock";
import { describe, expect, expectTypeOf, it, onTestFinished } from "vitest";
import { bedrockClient } from "../../support/providers/bedrock/client.js";
import { eventStreamFrames } from "../../support/providers/bedrock/event-stream.js";
import { checkCuts, eventsFrom, recordedStreams } from "../../support/reply-streams.js";

const model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const open = (source: AsyncIterable<object>) => bedrockStream(source, { model });
const messageFrom = (events: readonly object[]) => open(eventsFrom(events)).message();

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
        input: fc.dictionary(text, fc.jsonValue(), { maxKeys: 3, noNullPrototype: true }),
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
      { numRuns: 30 },
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
    const { value } = await project(contextOf([userMessage("hi")]), bedrockConverse({ model }));
    const send = () => client.send(new ConverseStreamCommand({ modelId: model, ...value }));
    expect(await bedrockStream(await send(), { model }).message()).toMatchObject({
      stopReason: "stop",
      content: [{ type: "text", text: "Hello" }],
    });
    const throttled = bedrockStream(await send(), { model });
    expect(await throttled.message()).toMatchObject({ stopReason: "error", content: [{ text: "Hel" }] });
    expect(throttled.error).toBeDefined();
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
