import Anthropic from "@anthropic-ai/sdk";
import fc from "fast-check";
import { contextFrom, project, userMessage } from "sessile";
import { anthropicMessages, anthropicStream, readAnthropicReply } from "sessile/anthropic";
import { describe, expect, it } from "vitest";
import { isRecord } from "../../support/plain-values.js";
import { eventsOf } from "../../support/providers/anthropic/events.js";
import { callingReply, messageOf, type ScriptedReply } from "../../support/providers/anthropic/replies.js";
import { startAnthropic } from "../../support/providers/anthropic/server.js";
import { checkCuts, eventsFrom, recordedStreams } from "../../support/reply-streams.js";

type Event = { readonly type: string; readonly [field: string]: unknown };

const model = "claude-opus-5-5";
const options = { timestamp: 1, model };
const parsed = (text: string): readonly Event[] =>
  // By line feeds alone: a text may hold other line separators.
  text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [JSON.parse(line.slice(6)) as Event] : []));

/** Each delta of text, of reasoning and of arguments in pieces of this many characters. */
const inPieces = (events: readonly Event[], size: number): readonly Event[] =>
  events.flatMap((event) => {
    const delta = event.delta as Record<string, unknown> | undefined;
    if (event.type !== "content_block_delta" || delta === undefined) return [event];
    const field = ["text", "thinking", "partial_json"].find((name) => typeof delta[name] === "string");
    if (field === undefined) return [event];
    const text = [...(delta[field] as string)];
    const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
      text.slice(at * size, (at + 1) * size).join(""),
    );
    return pieces.map((piece) => ({ ...event, delta: { ...delta, [field]: piece } }));
  });

/** JSON as it comes from the wire, which has no -0. */
const wireValue = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });
const block = fc.oneof(
  fc.record({ type: fc.constant("text" as const), text, citations: fc.constant(null) }),
  fc.record({
    type: fc.constant("text" as const),
    text,
    citations: fc.array(fc.record({ cited_text: text }), { minLength: 1, maxLength: 2 }),
  }),
  fc.record({ type: fc.constant("thinking" as const), thinking: text, signature: text }),
  fc.record({ type: fc.constant("redacted_thinking" as const), data: text }),
  fc.record({
    type: fc.constant("tool_use" as const),
    id: fc.uuid(),
    name: fc.constantFrom("read", "bash"),
    input: fc.dictionary(text, wireValue, { maxKeys: 3, noNullPrototype: true }),
    caller: fc.constant({ type: "direct" as const }),
  }),
  fc.record({
    type: fc.constant("server_tool_use" as const),
    id: fc.uuid(),
    name: fc.constant("web_search"),
    input: fc.record({ query: text }),
  }),
  fc.record({
    type: fc.constant("web_search_tool_result" as const),
    tool_use_id: fc.uuid(),
    content: fc.constant([]),
  }),
);
const reply: fc.Arbitrary<ScriptedReply> = fc.record({
  content: fc.array(block, { maxLength: 5 }) as unknown as fc.Arbitrary<Anthropic.ContentBlock[]>,
  usage: fc.record({ input_tokens: fc.nat(), output_tokens: fc.nat(), cache_read_input_tokens: fc.nat() }),
});

/** How many events come up to the stop reason. */
const endOf = (events: readonly Event[]): number =>
  events.findIndex(
    ({ type, delta }) => type === "message_delta" && isRecord(delta) && delta.stop_reason != null,
  ) + 1;

describe("anthropicStream", () => {
  it("gives what the reader of the whole reply gives, and of any cut a message that says it was aborted", async () => {
    await fc.assert(
      fc.asyncProperty(reply, fc.integer({ min: 1, max: 8 }), async (scripted, size) => {
        fc.pre(
          !scripted.content.some((one) => "input" in one && Object.hasOwn(one.input as object, "__proto__")),
        );
        // A minus before zero is lost in JSON.
        const whole = messageOf(JSON.parse(JSON.stringify(scripted)), model, 0);
        const events = inPieces(parsed(eventsOf(whole)), size);
        const open = (source: AsyncIterable<Event>) => anthropicStream(source, options);
        expect(await checkCuts(events, open, endOf(events))).toEqual(readAnthropicReply(whole, options));
      }),
      { numRuns: 12 },
    );
  });

  it.each(["raw events", "the client's stream", "the client's message stream", "bytes"])(
    "takes from the official client: %s",
    async (kind) => {
      await using server = await startAnthropic([callingReply]);
      const client = new Anthropic({ apiKey: "key", baseURL: server.url, maxRetries: 0 });
      const { value } = await project(contextFrom([userMessage("Read both.")]), anthropicMessages({ model }));
      const request = { model, max_tokens: 1024, ...value };
      const source = async () => {
        if (kind === "the client's message stream") return client.messages.stream(request);
        if (kind === "bytes") return await client.messages.create({ ...request, stream: true }).asResponse();
        return await client.messages.create({ ...request, stream: true });
      };
      const message = await anthropicStream(await source(), options).message();
      expect(message).toEqual(readAnthropicReply(messageOf(callingReply, model, 0), options));
    },
  );

  it("is aborted with the official client's stream, without the call that had only begun", async () => {
    const events = parsed(eventsOf(messageOf(callingReply, model, 0)));
    const until = events.findIndex(({ type, index }) => type === "content_block_delta" && index === 3);
    const message = await anthropicStream(eventsFrom(events.slice(0, until + 1)), options).message();
    expect(message).toMatchObject({ stopReason: "aborted", content: { length: 3 } });
    expect(message.content.map(({ type }) => type)).toEqual(["thinking", "thinking", "text"]);
  });

  it("leaves out a call whose arguments the limit of tokens cut", async () => {
    const events: readonly Event[] = [
      {
        type: "message_start",
        message: { model, content: [], stop_reason: null, usage: { input_tokens: 9 } },
      },
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "tool_use", id: "a", name: "write", input: {} },
      },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "input_json_delta", partial_json: '{"text":"a' },
      },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "max_tokens" }, usage: { output_tokens: 7 } },
      { type: "message_stop" },
    ];
    const message = await anthropicStream(eventsFrom(events), options).message();
    expect(message).toMatchObject({ stopReason: "length", content: [], usage: { input: 9, output: 7 } });
  });

  it("takes a second start before the end for a restart, and nothing behind the end", async () => {
    const start = { type: "message_start", message: { model, content: [], usage: { input_tokens: 1 } } };
    const begun = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
    const said = (text: string) => ({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text },
    });
    const end = [
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
      { type: "message_stop" },
    ];
    const events = [
      start,
      begun,
      said("first"),
      start,
      begun,
      said("second"),
      ...end,
      start,
      begun,
      said("third"),
    ];
    const message = await anthropicStream(eventsFrom(events), options).message();
    expect(message).toMatchObject({ stopReason: "stop", content: [{ type: "text", text: "second" }] });
  });

  it("takes content that comes with the start, as behind a tool that calls tools", async () => {
    const call = { type: "tool_use", id: "a", name: "roll", input: { n: 1 } };
    const events = [
      { type: "message_start", message: { model, content: [call], stop_reason: "tool_use", usage: {} } },
      { type: "message_stop" },
    ];
    const message = await anthropicStream(eventsFrom(events), options).message();
    expect(message).toMatchObject({ stopReason: "toolUse", content: [{ id: "a", arguments: { n: 1 } }] });
  });

  it("ends as an error that explain can read if the API sends one, and keeps what came", async () => {
    const events = [
      { type: "message_start", message: { model, content: [], usage: {} } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "Well" } },
      { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    ];
    const stream = anthropicStream(eventsFrom(events), options);
    expect(await stream.message()).toMatchObject({
      stopReason: "error",
      errorMessage: "Overloaded",
      content: [{ type: "text", text: "Well" }],
    });
    expect(stream.error).toMatchObject({ code: "REPLY_FAILED" });
  });

  it("ignores events and fields of any shape", async () => {
    const junk = fc.oneof(
      fc.jsonValue(),
      fc.record({
        type: fc.constantFrom(
          "message_start",
          "content_block_start",
          "content_block_delta",
          "content_block_stop",
          "message_delta",
        ),
        index: fc.oneof(fc.integer({ min: -1, max: 2 }), fc.jsonValue()),
        message: fc.jsonValue(),
        content_block: fc.oneof(
          fc.jsonValue(),
          fc.record({ type: fc.constantFrom("text", "tool_use", "thinking"), text: fc.jsonValue() }),
        ),
        delta: fc.oneof(
          fc.jsonValue(),
          fc.record({
            type: fc.constantFrom("text_delta", "input_json_delta"),
            text: fc.jsonValue(),
            partial_json: fc.jsonValue(),
          }),
        ),
        usage: fc.jsonValue(),
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(junk, { maxLength: 6 }), async (events) => {
        const message = await anthropicStream(eventsFrom(events as Event[]), options).message();
        expect(message).toMatchObject({ role: "assistant", stopReason: "aborted" });
      }),
    );
  });

  const recorded = recordedStreams("anthropic");
  it.skipIf(recorded.length === 0).each(recorded)("cuts of a recorded stream: $name", async ({ events }) => {
    const all = events as readonly Event[];
    const end = all.findIndex(({ type }) => type === "message_stop") + 1;
    // A recording of several replies one after the other is one reply and something behind it. A restart takes text back.
    const restarts = all.slice(0, end).filter(({ type }) => type === "message_start").length > 1;
    const one = restarts
      ? all.slice(all.findLastIndex(({ type }) => type === "message_start"))
      : all.slice(0, end);
    const open = (source: AsyncIterable<Event>) => anthropicStream(source, options);
    expect((await checkCuts(one, open, endOf(one))).stopReason).not.toBe("aborted");
  });
});
