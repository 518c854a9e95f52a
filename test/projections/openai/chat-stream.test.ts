import fc from "fast-check";
import OpenAI from "openai";
import { contextOf, userMessage } from "sessile/content";
import { project } from "sessile/projections";
import {
  type OpenaiChatChunk,
  type OpenaiChatReply,
  openaiChat,
  openaiChatStream,
  readOpenaiChatReply,
} from "sessile/projections/openai";
import { describe, expect, it } from "vitest";
import { chatCallsReply } from "../../support/providers/openai/replies.js";
import { startOpenai } from "../../support/providers/openai/server.js";
import { checkCuts, eventsFrom, recordedStreams } from "../../support/reply-streams.js";

const model = "gpt-5.6";
const created = 1_790_000_000;
const open = (source: AsyncIterable<OpenaiChatChunk>) => openaiChatStream(source, { model });
const chunk = (delta: object, finish_reason: string | null = null): OpenaiChatChunk =>
  ({ model, created, choices: [{ index: 0, delta, finish_reason }] }) as OpenaiChatChunk;
const messageFrom = (...chunks: readonly object[]) => open(eventsFrom(chunks as OpenaiChatChunk[])).message();

const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });
const call = fc.record({
  id: fc.uuid(),
  type: fc.constant("function"),
  function: fc.record({
    name: fc.constantFrom("read", "bash"),
    arguments: fc
      .dictionary(text, fc.jsonValue(), { maxKeys: 3, noNullPrototype: true })
      .map((value) => JSON.stringify(value)),
  }),
});
const message = fc.record(
  {
    role: fc.constant("assistant"),
    reasoning_content: text,
    content: fc.option(text),
    tool_calls: fc.uniqueArray(call, { minLength: 1, maxLength: 3, selector: ({ id }) => id }),
  },
  { requiredKeys: ["role", "content"] },
);
const pieces = (whole: string, size: number): readonly string[] =>
  Array.from({ length: Math.ceil(whole.length / size) }, (_, at) => whole.slice(at * size, (at + 1) * size));

describe("openaiChatStream", () => {
  it("gives what the reader of the whole reply gives, and of any cut a message that says it was aborted", async () => {
    await fc.assert(
      fc.asyncProperty(message, fc.integer({ min: 1, max: 9 }), async (said, size) => {
        const { reasoning_content = "", content, tool_calls = [] } = said;
        const reason = tool_calls.length > 0 ? "tool_calls" : "stop";
        const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
        const chunks = [
          chunk({ role: "assistant", content: null }),
          ...pieces(reasoning_content, size).map((piece) => chunk({ reasoning_content: piece })),
          ...pieces(content ?? "", size).map((piece) => chunk({ content: piece })),
          ...tool_calls.flatMap(({ id, type, function: { name, arguments: json } }, index) => [
            chunk({ tool_calls: [{ index, id, type, function: { name, arguments: "" } }] }),
            ...pieces(json, size).map((piece) =>
              chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
            ),
          ]),
          chunk({}, reason),
          { model, created, choices: [], usage } as OpenaiChatChunk,
        ];
        const whole = { model, created, usage, choices: [{ finish_reason: reason, message: said }] };
        const read = readOpenaiChatReply(whole as unknown as OpenaiChatReply, { model });
        expect(await checkCuts(chunks, open, chunks.length - 1)).toEqual(read);
      }),
      { numRuns: 30 },
    );
  });

  it.each(["chunks", "the client's helper", "bytes"])("takes from the official client: %s", async (kind) => {
    await using server = await startOpenai({ chat: [chatCallsReply()] });
    const client = new OpenAI({ apiKey: "key", baseURL: `${server.url}/v1`, maxRetries: 0 });
    const { value } = await project(contextOf([userMessage("Look.")]), openaiChat({ model }));
    const request = { model, messages: value.messages, stream: true as const };
    const source = async () => {
      if (kind === "the client's helper") return client.chat.completions.stream(request);
      if (kind === "bytes") return await client.chat.completions.create(request).asResponse();
      return await client.chat.completions.create(request);
    };
    const streamed = await openaiChatStream(await source(), { model }).message();
    expect(streamed).toEqual(readOpenaiChatReply(chatCallsReply(), { model }));
  });

  it("keeps calls apart that one number stands for, or none, as some providers send them", async () => {
    const numbered = (id: string, name: string) => ({
      index: 0,
      id,
      function: { name, arguments: '{"a":1}' },
    });
    const plain = (id: string, name: string) => ({ id, function: { name, arguments: '{"a":1}' } });
    for (const piece of [numbered, plain]) {
      const read = await messageFrom(
        chunk({ tool_calls: [piece("x", "read")] }),
        chunk({ tool_calls: [piece("y", "list")] }),
        chunk({}, "tool_calls"),
      );
      expect(read.content).toMatchObject([
        { id: "x", name: "read", arguments: { a: 1 } },
        { id: "y", name: "list", arguments: { a: 1 } },
      ]);
    }
  });

  it("goes on with a call that repeats its id and name, and takes arguments that are no text", async () => {
    const piece = (json: unknown) =>
      chunk({ tool_calls: [{ index: 0, id: "x", function: { name: "read", arguments: json } }] });
    expect((await messageFrom(piece('{"a"'), piece(":1}"), chunk({}, "tool_calls"))).content).toMatchObject([
      { id: "x", name: "read", arguments: { a: 1 } },
    ]);
    expect((await messageFrom(piece({ a: 1 }), chunk({}, "tool_calls"))).content).toMatchObject([
      { id: "x", arguments: { a: 1 } },
    ]);
  });

  it("leaves out a call that the limit of tokens cut", async () => {
    const cut = chunk({
      tool_calls: [{ index: 0, id: "x", function: { name: "write", arguments: '{"a":"b' } }],
    });
    expect(await messageFrom(cut, chunk({}, "length"))).toMatchObject({ stopReason: "length", content: [] });
  });

  it("does not repeat reasoning that comes in two members, and joins the details of it", async () => {
    const piece = (reasoning: string) =>
      chunk({
        reasoning,
        reasoning_content: reasoning,
        reasoning_details: [{ type: "reasoning.text", index: 0, text: reasoning }],
      });
    const stream = open(eventsFrom([piece("a"), piece("b"), chunk({}, "stop")]));
    const deltas = [];
    for await (const delta of stream) deltas.push(delta);
    expect(deltas).toMatchObject([
      { type: "thinking", text: "a" },
      { type: "thinking", text: "b" },
    ]);
    expect((await stream.message()).content).toMatchObject([
      { type: "thinking", thinking: "ab" },
      { type: "opaque", data: { message: { reasoning_details: [{ text: "ab" }] } } },
    ]);
  });

  it("ends as an error if a chunk has one", async () => {
    const stream = open(
      eventsFrom([chunk({ content: "We" }), { error: { code: 502, message: "upstream" } } as object]),
    );
    expect(await stream.message()).toMatchObject({
      stopReason: "error",
      errorMessage: "upstream",
      content: [{ text: "We" }],
    });
    expect(stream.error).toMatchObject({ code: "REPLY_FAILED" });
  });

  it("ignores chunks and members of any shape", async () => {
    const junk = fc.record({
      choices: fc.oneof(
        fc.jsonValue(),
        fc.array(
          fc.record({
            delta: fc.oneof(
              fc.jsonValue(),
              fc.record({
                content: fc.jsonValue(),
                tool_calls: fc.oneof(
                  fc.jsonValue(),
                  fc.array(
                    fc.record({ index: fc.jsonValue(), id: fc.jsonValue(), function: fc.jsonValue() }),
                  ),
                ),
                reasoning_details: fc.jsonValue(),
                audio: fc.jsonValue(),
              }),
            ),
          }),
        ),
      ),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(fc.jsonValue(), junk), { maxLength: 5 }), async (chunks) => {
        const read = await messageFrom(...(chunks as object[]));
        expect(read).toMatchObject({ role: "assistant" });
        expect(read.stopReason).toMatch(/aborted|error/);
      }),
    );
  });

  const recorded = [
    "openai",
    "azure",
    "deepseek",
    "groq",
    "mistral",
    "moonshotai",
    "openai-compatible",
    "xai",
    "alibaba",
  ].flatMap((folder) =>
    recordedStreams(folder)
      .filter(({ events }) =>
        (events as readonly { choices?: readonly { delta?: object }[] }[]).some(
          ({ choices }) => choices?.[0]?.delta,
        ),
      )
      .map((one) => ({ ...one, name: `${folder}/${one.name}` })),
  );
  it.skipIf(recorded.length === 0).each(recorded)("cuts of a recorded stream: $name", async ({ events }) => {
    const all = events as readonly { choices?: readonly { finish_reason?: string }[] }[];
    const completeAt = all.findIndex(({ choices }) => typeof choices?.[0]?.finish_reason === "string") + 1;
    expect((await checkCuts(all as OpenaiChatChunk[], open, completeAt)).stopReason).toMatch(
      /^(stop|toolUse|length)$/,
    );
  });
});
