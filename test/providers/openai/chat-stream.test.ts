import fc from "fast-check";
import OpenAI from "openai";
import { contextFrom, project, toolCalls, userMessage } from "sessile";
import {
  type OpenaiChatChunk,
  type OpenaiChatReply,
  openaiChat,
  openaiChatStream,
  readOpenaiChatReply,
} from "sessile/openai";
import { describe, expect, it } from "vitest";
import { chatCallsReply } from "../../support/providers/openai/replies.js";
import { startOpenai } from "../../support/providers/openai/server.js";
import { checkCuts, eventsFrom } from "../../support/reply-streams.js";

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
      { numRuns: 12 },
    );
  });

  it.each(["chunks", "the client's helper", "bytes"])("takes from the official client: %s", async (kind) => {
    await using server = await startOpenai({ chat: [chatCallsReply()] });
    const client = new OpenAI({ apiKey: "key", baseURL: `${server.url}/v1`, maxRetries: 0 });
    const { value } = await project(contextFrom([userMessage("Look.")]), openaiChat({ model }));
    const request = { model, messages: value.messages, stream: true as const };
    const source = async () => {
      if (kind === "the client's helper") return client.chat.completions.stream(request);
      if (kind === "bytes") return await client.chat.completions.create(request).asResponse();
      return await client.chat.completions.create(request);
    };
    const streamed = await openaiChatStream(await source(), { model }).message();
    expect(streamed).toEqual(readOpenaiChatReply(chatCallsReply(), { model }));
  });

  const piece = (
    index: number | undefined,
    id: string | undefined,
    name: string | undefined,
    json: string,
  ) => ({
    ...(index === undefined ? {} : { index }),
    ...(id === undefined ? {} : { id }),
    function: { ...(name === undefined ? {} : { name }), arguments: json },
  });
  it.each([
    ["one index for two calls", [piece(0, "x", "read", '{"a":1}'), piece(0, "y", "list", '{"a":2}')]],
    ["no index", [piece(undefined, "x", "read", '{"a":1}'), piece(undefined, "y", "list", '{"a":2}')]],
    ["one id for two calls", [piece(0, "x", "read", '{"a":1}'), piece(1, "x", "list", '{"a":2}')]],
    ["no ids", [piece(0, undefined, "read", '{"a":1}'), piece(1, undefined, "list", '{"a":2}')]],
    ["no ids, one index", [piece(0, "", "read", '{"a":1}'), piece(0, "", "list", '{"a":2}')]],
    [
      "neither index nor ids",
      [piece(undefined, undefined, "read", '{"a":1}'), piece(undefined, undefined, "list", '{"a":2}')],
    ],
    ["a skipped index", [piece(1, "x", "read", '{"a":1}'), piece(4, "y", "list", '{"a":2}')]],
    [
      "other indexes for the arguments",
      [
        piece(0, "x", "read", ""),
        piece(1, undefined, "", '{"a":1}'),
        piece(2, "y", "list", ""),
        piece(3, "", undefined, '{"a":2}'),
      ],
    ],
    [
      "the next call's index for the arguments",
      [
        piece(0, "x", "read", '{"a"'),
        piece(1, undefined, undefined, ":1}"),
        piece(1, "y", "list", '{"a":2}'),
      ],
    ],
    [
      "arguments in turns",
      [
        piece(0, "x", "read", ""),
        piece(1, "y", "list", ""),
        piece(0, undefined, undefined, '{"a":1}'),
        piece(1, undefined, undefined, '{"a":2}'),
      ],
    ],
    [
      "names in pieces, or repeated",
      [
        piece(0, "x", "re", ""),
        piece(0, undefined, "ad", '{"a"'),
        piece(0, undefined, "read", ":1}"),
        piece(1, "y", "li", ""),
        piece(1, "y", "list", ""),
        piece(1, "y", "list", '{"a":2}'),
      ],
    ],
  ])("keeps calls apart, as gateways send them: %s", async (_, pieces) => {
    const read = await messageFrom(
      ...pieces.map((one) => chunk({ tool_calls: [one] }, "")),
      chunk({}, "tool_calls"),
    );
    expect(read.content).toMatchObject([
      { name: "read", arguments: { a: 1 } },
      { name: "list", arguments: { a: 2 } },
    ]);
    expect(new Set(toolCalls(read).map(({ id }) => id)).size).toBe(2);
    expect(read.content).toHaveLength(2);
  });

  it("takes no call whose arguments may still come, and no empty reason, for a whole", async () => {
    const begun = [piece(0, "x", "read", ""), piece(1, "y", "list", '{"a":1')];
    for (const pieces of [begun, begun.slice(0, 1)]) {
      const read = await messageFrom(chunk({ content: "We" }, ""), chunk({ tool_calls: pieces }, ""));
      expect(read).toMatchObject({ stopReason: "aborted", content: [{ type: "text", text: "We" }] });
    }
    const cut = await messageFrom(chunk({ tool_calls: [piece(0, "x", "read", "")] }), chunk({}, "length"));
    expect(cut).toMatchObject({ stopReason: "length", content: [] });
  });

  it("keeps the answer that follows reasoning in a list", async () => {
    const thinking = (text: string) => [{ type: "thinking", thinking: [{ type: "text", text }] }];
    const read = await messageFrom(
      chunk({ content: thinking("let ") }),
      chunk({ content: thinking("me see") }),
      chunk({ content: "The answer " }),
      chunk({ content: "is 42." }),
      chunk({ content: thinking("more") }),
      chunk({ content: "Yes." }, "stop"),
    );
    expect(read.content).toMatchObject([
      { type: "thinking", thinking: "let me see" },
      { type: "text", text: "The answer is 42." },
      { type: "thinking", thinking: "more" },
      { type: "text", text: "Yes." },
    ]);
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

  it("joins what comes in pieces and is not known, and keeps blocks of a list apart", async () => {
    const list = (name: string, ...items: readonly object[]) => chunk({ [name]: items });
    const thinking = (text: string, signature = "") => ({ type: "thinking", thinking: text, signature });
    const detail = (index: number, text: string) => ({ type: "reasoning.text", index, text });
    const read = await messageFrom(
      chunk({ tool_plan: "First ", name: "bot" }),
      chunk({ tool_plan: "read.", name: "bot" }),
      list("thinking_blocks", thinking("a")),
      list("thinking_blocks", thinking("b"), thinking("", "sig")),
      list("thinking_blocks", thinking("c")),
      list("reasoning_details", detail(0, "x"), detail(1, "y")),
      list("reasoning_details", detail(0, "z")),
      { ...chunk({}), choices: [{ index: null, delta: null, finish_reason: null }] },
      chunk({}, "stop"),
    );
    const message = {
      tool_plan: "First read.",
      name: "bot",
      thinking_blocks: [thinking("ab", "sig"), thinking("c")],
      reasoning_details: [detail(0, "xz"), detail(1, "y")],
    };
    expect(read.content).toEqual([{ type: "opaque", data: { message } }]);
  });

  it("takes a message in place of a delta", async () => {
    const choices = [{ message: { role: "assistant", content: "Yes." }, finish_reason: "stop" }];
    expect(await messageFrom({ model, created, choices })).toMatchObject({
      stopReason: "stop",
      content: [{ type: "text", text: "Yes." }],
    });
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
});
