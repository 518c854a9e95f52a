import fc from "fast-check";
import OpenAI from "openai";
import { contextFrom, project, userMessage } from "sessile";
import {
  type OpenaiResponsesEvent,
  openaiResponses,
  openaiResponsesStream,
  readOpenaiResponsesReply,
} from "sessile/openai";
import { describe, expect, it } from "vitest";
import { responsesReply } from "../../support/providers/openai/replies.js";
import { startOpenai } from "../../support/providers/openai/server.js";
import { checkCuts, eventsFrom } from "../../support/reply-streams.js";

type Item = OpenAI.Responses.ResponseOutputItem;

const model = "gpt-5.6";
const open = (source: AsyncIterable<OpenaiResponsesEvent>) => openaiResponsesStream(source, { model });
const messageFrom = (events: readonly object[]) =>
  open(eventsFrom(events as OpenaiResponsesEvent[])).message();

const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });
const item = fc.oneof(
  fc.record({
    type: fc.constant("message"),
    id: fc.uuid(),
    role: fc.constant("assistant"),
    status: fc.constant("completed"),
    content: fc.array(
      fc.oneof(
        fc.record({ type: fc.constant("output_text"), text, annotations: fc.constant([]) }),
        fc.record({ type: fc.constant("refusal"), refusal: text }),
      ),
      { minLength: 1, maxLength: 2 },
    ),
  }),
  fc.record({
    type: fc.constant("reasoning"),
    id: fc.uuid(),
    summary: fc.array(fc.record({ type: fc.constant("summary_text"), text }), { maxLength: 3 }),
    encrypted_content: text,
  }),
  fc.record({
    type: fc.constant("function_call"),
    id: fc.uuid(),
    call_id: fc.uuid(),
    name: fc.constantFrom("read", "bash"),
    arguments: fc
      .dictionary(text, fc.jsonValue(), { maxKeys: 3, noNullPrototype: true })
      .map((value) => JSON.stringify(value)),
    status: fc.constant("completed"),
  }),
  fc.record({
    type: fc.constant("custom_tool_call"),
    id: fc.uuid(),
    call_id: fc.uuid(),
    name: fc.constant("patch"),
    input: text,
  }),
  fc.record({
    type: fc.constant("web_search_call"),
    id: fc.uuid(),
    status: fc.constant("completed"),
    action: fc.constant({ type: "search" }),
  }),
) as unknown as fc.Arbitrary<Item>;

const pieces = (whole: string, size: number): readonly string[] =>
  Array.from({ length: Math.ceil(whole.length / size) }, (_, at) => whole.slice(at * size, (at + 1) * size));

/** The events of an item, its texts in pieces. */
function eventsOf(one: Item, output_index: number, size: number): readonly object[] {
  const fields = one as unknown as Record<string, unknown>;
  const deltas = (type: string, whole: string, more: object = {}) =>
    pieces(whole, size).map((delta) => ({ type: `response.${type}.delta`, output_index, delta, ...more }));
  const added = { ...fields };
  let between: readonly object[] = [];
  if (one.type === "message") {
    added.content = [];
    between = one.content.flatMap((part, content_index) =>
      part.type === "refusal"
        ? deltas("refusal", part.refusal, { content_index })
        : deltas("output_text", part.text, { content_index }),
    );
  } else if (one.type === "reasoning") {
    added.summary = [];
    between = one.summary.flatMap((part, summary_index) =>
      deltas("reasoning_summary_text", part.text, { summary_index }),
    );
  } else if (one.type === "function_call") {
    added.arguments = "";
    between = deltas("function_call_arguments", one.arguments);
  } else if (one.type === "custom_tool_call") {
    added.input = "";
    between = deltas("custom_tool_call_input", one.input);
  }
  return [
    { type: "response.output_item.added", output_index, item: { ...added, status: "in_progress" } },
    ...between,
    { type: "response.output_item.done", output_index, item: one },
  ];
}

describe("openaiResponsesStream", () => {
  it("gives what the reader of the whole response gives, and of any cut a message that says it was aborted", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(item, { maxLength: 5 }),
        fc.integer({ min: 1, max: 9 }),
        fc.boolean(),
        fc.boolean(),
        async (items, size, bare, isNamed) => {
          // Servers that Codex talks to may name no items.
          const output = isNamed ? items : items.map(({ id: _id, ...unnamed }) => unnamed as Item);
          const whole = responsesReply(output);
          const events = [
            {
              type: "response.created",
              response: { ...whole, status: "in_progress", output: [], usage: null },
            },
            ...output.flatMap((one, index) => eventsOf(one, index, size)),
            // Some servers send the last event without the output.
            { type: "response.completed", response: bare ? { ...whole, output: [] } : whole },
          ] as OpenaiResponsesEvent[];
          expect(await checkCuts(events, open)).toEqual(readOpenaiResponsesReply(whole, { model }));
        },
      ),
      { numRuns: 12 },
    );
  });

  it.each(["events", "the client's helper", "bytes"])("takes from the official client: %s", async (kind) => {
    const reply = responsesReply([
      {
        type: "function_call",
        id: "fc_1",
        call_id: "call_1",
        name: "read",
        arguments: "{}",
        status: "completed",
      },
    ]);
    await using server = await startOpenai({ responses: [reply] });
    const client = new OpenAI({ apiKey: "key", baseURL: `${server.url}/v1`, maxRetries: 0 });
    const { value } = await project(contextFrom([userMessage("Look.")]), openaiResponses({ model }));
    const request = { model, store: false, stream: true as const, ...value };
    const source = async () => {
      if (kind === "the client's helper") return client.responses.stream({ model, store: false, ...value });
      if (kind === "bytes") return await client.responses.create(request).asResponse();
      return await client.responses.create(request);
    };
    const message = await openaiResponsesStream((await source()) as AsyncIterable<OpenaiResponsesEvent>, {
      model,
    }).message();
    expect(message).toEqual(readOpenaiResponsesReply(reply, { model }));
  });

  it("leaves out a call that the limit of tokens cut", async () => {
    const call = {
      type: "function_call",
      id: "fc_1",
      call_id: "call_1",
      name: "write",
      arguments: '{"text":"a',
      status: "incomplete",
    };
    const whole = {
      ...responsesReply([call as Item]),
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
    };
    const message = await messageFrom([{ type: "response.incomplete", response: whole }]);
    expect(message).toMatchObject({ stopReason: "length", content: [] });
  });

  it("ends as an error that explain can read, however the API says it, and keeps what came", async () => {
    const error = { code: "server_error", message: "Sorry." };
    const said = { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "We" };
    for (const last of [
      { type: "error", ...error },
      { type: "error", error },
      { type: "response.failed", response: { status: "failed", error } },
    ]) {
      const stream = open(eventsFrom([said, last] as OpenaiResponsesEvent[]));
      expect(await stream.message()).toMatchObject({
        stopReason: "error",
        errorMessage: "server_error: Sorry.",
        content: [{ type: "text", text: "We" }],
      });
      expect(stream.error).toMatchObject({ code: "REPLY_FAILED" });
    }
  });

  it("gives a text whose item was never announced no id", async () => {
    const said = { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "We" };
    const { content } = await messageFrom([said, { type: "error", message: "Sorry." }]);
    expect(JSON.stringify(content)).not.toContain("item_0");
    expect(content).toMatchObject([{ type: "text", text: "We" }]);
  });

  it("ignores events and members of any shape", async () => {
    const junk = fc.record({
      type: fc.constantFrom(
        "response.created",
        "response.output_item.added",
        "response.output_text.delta",
        "response.reasoning_summary_text.delta",
        "response.function_call_arguments.delta",
      ),
      output_index: fc.oneof(fc.integer({ min: -1, max: 2 }), fc.jsonValue()),
      content_index: fc.oneof(fc.integer({ min: -1, max: 2 }), fc.jsonValue()),
      item: fc.oneof(
        fc.jsonValue(),
        fc.record({
          type: fc.constantFrom("message", "function_call", "reasoning"),
          content: fc.jsonValue(),
        }),
      ),
      delta: fc.jsonValue(),
      response: fc.oneof(fc.jsonValue(), fc.record({ output: fc.jsonValue(), usage: fc.constant(null) })),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(fc.jsonValue(), junk), { maxLength: 6 }), async (events) => {
        expect(await messageFrom(events as object[])).toMatchObject({
          role: "assistant",
          stopReason: "aborted",
        });
      }),
    );
  });

  const begun = (index: number | undefined, id: string, name: string) => ({
    type: "response.output_item.added",
    ...(index === undefined ? {} : { output_index: index }),
    item: { type: "function_call", id, call_id: `call_${name}`, name, arguments: "", status: "in_progress" },
  });
  const grown = (at: object, delta: string, way = "delta") => ({
    type: `response.function_call_arguments.${way}`,
    ...at,
    [way === "delta" ? "delta" : "arguments"]: delta,
  });
  const ended = { type: "response.completed", response: { ...responsesReply([]), output: [] } };
  it.each([
    [
      "a skipped index",
      [
        begun(1, "fc_1", "read"),
        grown({ output_index: 1 }, '{"a":1}'),
        begun(4, "fc_2", "list"),
        grown({ output_index: 4 }, '{"a":2}'),
      ],
    ],
    [
      "one index for two items",
      [
        begun(0, "fc_1", "read"),
        grown({ output_index: 0 }, '{"a":1}'),
        begun(0, "fc_2", "list"),
        grown({ output_index: 0 }, '{"a":2}'),
      ],
    ],
    [
      "no index, but ids",
      [
        begun(undefined, "fc_1", "read"),
        begun(undefined, "fc_2", "list"),
        grown({ item_id: "fc_1" }, '{"a":1}'),
        grown({ item_id: "fc_2" }, '{"a":2}'),
      ],
    ],
    [
      "neither index nor ids",
      [
        begun(undefined, "", "read"),
        grown({}, '{"a":1}'),
        begun(undefined, "", "list"),
        grown({}, '{"a":2}'),
      ],
    ],
    [
      "other indexes and ids for the arguments",
      [
        begun(0, "fc_1", "read"),
        grown({ output_index: 1, item_id: "x" }, '{"a":1}'),
        begun(2, "fc_2", "list"),
        grown({ output_index: 3, item_id: "y" }, '{"a":2}'),
      ],
    ],
    [
      "arguments whole and not in pieces, or both",
      [
        begun(0, "fc_1", "read"),
        grown({ output_index: 0 }, '{"a":1}', "done"),
        begun(1, "fc_2", "list"),
        grown({ output_index: 1 }, '{"a":2}'),
        grown({ output_index: 1 }, '{"a":2}', "done"),
      ],
    ],
  ])("keeps items apart, as gateways send them: %s", async (_, events) => {
    const said = { type: "response.output_text.delta", delta: "We" };
    const { content } = await messageFrom([said, ...events, ended]);
    expect(content).toMatchObject([
      { type: "text", text: "We" },
      { name: "read", arguments: { a: 1 } },
      { name: "list", arguments: { a: 2 } },
    ]);
    const whole = { ...begun(undefined, "rotated", "read").item, arguments: '{"a":1}', status: "completed" };
    const done = { type: "response.output_item.done", output_index: 0, item: whole };
    const again = await messageFrom([begun(0, "fc_1", "read"), grown({}, '{"a"'), done, ended]);
    expect(again.content).toMatchObject([{ id: "call_read|rotated", arguments: { a: 1 } }]);
  });

  it("keeps a refusal and reasoning that end without their items, and no call that a limit cut", async () => {
    const piece = (type: string, delta: string, more: object = {}) => ({
      type,
      output_index: 0,
      delta,
      ...more,
    });
    const { content } = await messageFrom([
      piece("response.reasoning_text.delta", "Hm."),
      { ...piece("response.refusal.delta", "No."), output_index: 1 },
      ended,
    ]);
    expect(content).toMatchObject([
      { type: "thinking", thinking: "Hm." },
      { type: "text", text: "No.", textSignature: expect.stringContaining("refusal") },
    ]);
    const cut = {
      ...ended,
      response: { ...ended.response, status: "incomplete" },
      type: "response.incomplete",
    };
    const read = await messageFrom([begun(0, "fc_1", "read"), grown({}, '{"a":1}'), cut]);
    expect(read).toMatchObject({ stopReason: "length", content: [] });
  });
});
