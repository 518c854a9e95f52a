import {
  jsonSchema,
  simulateReadableStream,
  stepCountIs,
  streamText,
  type TextStreamPart,
  type ToolSet,
} from "ai";
import { MockLanguageModelV4 } from "ai/test";
import fc from "fast-check";
import type { AssistantMessage, ReplyStream } from "sessile";
import { type AiSdkStreamPart, aiSdkStream, readAiSdkReply } from "sessile/ai-sdk";
import { describe, expect, expectTypeOf, test } from "vitest";
import { base64, png } from "../../attachments/samples.js";
import { checkCuts, eventsFrom } from "../../support/reply-streams.js";

const identity = { provider: "anthropic.messages", modelId: "claude-sonnet-4-5" };
const usage = {
  inputTokens: { total: 10, noCache: 4, cacheRead: 5, cacheWrite: 1 },
  outputTokens: { total: 3, text: 2, reasoning: 1 },
  raw: { cache_creation: { ephemeral_1h_input_tokens: 1 }, server_tool_use: { web_search_requests: 1 } },
};
const citations = [{ type: "text", start: 0, end: 3, source: { type: "url", url: "https://a.b" } }];
type Chunks = readonly ({ readonly type: string } & Readonly<Record<string, unknown>>)[];

const text = (id: string, words: readonly string[], end: object = {}): Chunks => [
  { type: "text-start", id },
  ...words.map((delta) => ({ type: "text-delta", id, delta })),
  { type: "text-end", id, ...end },
];
const meta = { anthropic: { signature: "c2ln" } };
const reasoning: Chunks = [
  { type: "reasoning-start", id: "r" },
  { type: "reasoning-delta", id: "r", delta: "Hm, " },
  { type: "reasoning-delta", id: "r", delta: "so." },
  { type: "reasoning-delta", id: "r", delta: "", providerMetadata: meta },
  { type: "reasoning-end", id: "r" },
];
const searched: Chunks = [
  { type: "tool-input-start", id: "s1", toolName: "web_search", providerExecuted: true },
  { type: "tool-input-delta", id: "s1", delta: "{}" },
  { type: "tool-input-end", id: "s1" },
  { type: "tool-call", toolCallId: "s1", toolName: "web_search", input: '{"q":1}', providerExecuted: true },
  { type: "tool-result", toolCallId: "s1", toolName: "web_search", result: { found: [1] } },
  { type: "source", sourceType: "url", id: "u1", url: "https://a.b", title: "A" },
];
const calls = (...ids: readonly string[]): Chunks =>
  ids.flatMap((id) => [
    { type: "tool-input-start", id, toolName: "read" },
    { type: "tool-input-delta", id, delta: '{"path":' },
    { type: "tool-input-delta", id, delta: `"${id}"}` },
    { type: "tool-input-end", id },
    { type: "tool-call", toolCallId: id, toolName: "read", input: `{"path":"${id}"}` },
  ]);
const made: Chunks = [
  { type: "file", mediaType: "image/png", data: { type: "data", data: base64(png()) } },
  { type: "reasoning-file", mediaType: "image/png", data: { type: "data", data: base64(png()) } },
  { type: "custom", kind: "anthropic.compaction", providerMetadata: meta },
];

const finish = (unified: string, raw?: string): Chunks => [
  {
    type: "finish",
    usage,
    finishReason: { unified, raw },
    providerMetadata: { anthropic: { container: { id: "c" } } },
  },
];

function modelOf(...steps: readonly Chunks[]): MockLanguageModelV4 {
  let at = 0;
  return new MockLanguageModelV4({
    ...identity,
    doStream: async () => ({
      stream: simulateReadableStream({
        initialDelayInMs: null,
        chunkDelayInMs: null,
        chunks: [
          { type: "stream-start", warnings: [] },
          { type: "response-metadata", id: "r1", modelId: "claude-sonnet-4-5-20260101" },
          ...(steps[at++] ?? []),
        ] as never[],
      }),
    }),
  });
}

const tools: ToolSet = { read: { inputSchema: jsonSchema({ type: "object" }) } };
const running: ToolSet = {
  read: { inputSchema: jsonSchema({ type: "object" }), execute: async () => "done" },
};

/** The parts of a stream, and the message of the whole result. */
async function streamed(steps: readonly Chunks[], used: ToolSet = tools) {
  const model = modelOf(...steps);
  const result = streamText({
    model,
    prompt: "?",
    tools: used,
    stopWhen: stepCountIs(steps.length),
    onError: () => undefined,
  });
  const events: AiSdkStreamPart[] = [];
  for await (const part of result.fullStream) events.push(part);
  return { events, whole: undated(readAiSdkReply({ steps: await result.steps })) };
}

const undated = (message: AssistantMessage) => ({ ...message, timestamp: 0 });
const open = (source: AsyncIterable<AiSdkStreamPart>, signal?: AbortSignal): ReplyStream =>
  aiSdkStream(source, { model: identity, ...(signal && { signal }) });
const rich = [
  ...reasoning,
  ...text("a", ["The ", "sky"], { citations }),
  ...searched,
  ...made,
  ...calls("c1", "c2"),
];

describe("aiSdkStream", () => {
  test.each<[string, readonly Chunks[], ToolSet?]>([
    ["a text", [[...text("a", ["Hel", "lo"]), ...finish("stop", "end_turn")]]],
    ["everything", [[...rich, ...finish("tool-calls", "tool_use")]]],
    ["nothing", [finish("stop")]],
    ["a limit", [[...text("a", ["Hel"]), ...finish("length", "max_tokens")]]],
    ["a pause", [[...text("a", ["Hel"]), ...searched, ...finish("stop", "pause_turn")]]],
    ["a refusal", [[...text("a", ["No"]), ...finish("content-filter", "refusal")]]],
    [
      "texts at once",
      [
        [
          ...text("a", ["x"]).slice(0, 2),
          ...text("b", ["y"]),
          { type: "text-end", id: "a" },
          ...finish("stop"),
        ],
      ],
    ],
    [
      "a signature on no text",
      [[...text("a", [], { providerMetadata: meta }), ...text("b", []), ...finish("stop")]],
    ],
    [
      "steps with tools",
      [
        [...text("a", ["I read."]), ...calls("c1"), ...finish("tool-calls")],
        [...reasoning, ...text("a", ["Done."]), ...finish("stop")],
      ],
      running,
    ],
  ])(
    "gives the message of the whole, however it is cut, and nothing behind the end changes it: %s",
    async (_, steps, used) => {
      const { events, whole } = await streamed(steps, used);
      const end = events.findLastIndex(({ type }) => type === "finish-step") + 1;
      const last = events.findLastIndex(({ type }) => type === "start-step");
      const one = [...events.slice(0, 1), ...events.slice(last)];
      expect(undated(await checkCuts(one, open, end - last + 1))).toEqual(whole);
      const reset = async function* () {
        yield* events;
        throw new Error("terminated");
      };
      const stop = new AbortController();
      const stopped = async function* () {
        yield* events;
        stop.abort();
      };
      const late = [
        open(eventsFrom(events)),
        open(reset()),
        open(stopped(), stop.signal),
        ...[
          { type: "error", error: "late" },
          { type: "abort" },
          { type: "text-delta", id: "a", text: "late" },
        ].map((part) => open(eventsFrom([...events, part]))),
        open(eventsFrom([...events, ...events.slice(0, -2)])),
      ];
      for (const stream of late) {
        expect(undated(await stream.message())).toEqual(whole);
        expect(stream.error).toBeUndefined();
      }
    },
  );

  test("gives the reply's own members, and each kind of block", async () => {
    const { whole } = await streamed([[...rich, ...finish("tool-calls", "tool_use")]]);
    expect(whole).toMatchObject({
      provider: "anthropic",
      usage: { input: 4, cacheWrite: 1, cacheWrite1h: 1 },
      providerFields: {
        id: "r1",
        rawFinishReason: "tool_use",
        providerMetadata: { anthropic: { container: { id: "c" } } },
        usage: {
          outputTokenDetails: { reasoningTokens: 1 },
          raw: { server_tool_use: { web_search_requests: 1 } },
        },
      },
      content: [
        { type: "thinking", thinking: "Hm, so.", thinkingSignature: JSON.stringify(meta) },
        { type: "text", text: "The sky", providerFields: { citations } },
        { type: "opaque", data: { type: "tool-call", toolCallId: "s1", input: { q: 1 } } },
        { type: "opaque", data: { type: "tool-result", output: { type: "json", value: { found: [1] } } } },
        { type: "opaque", data: { type: "source-url", sourceId: "u1", url: "https://a.b", title: "A" } },
        { type: "opaque", data: { type: "file", data: base64(png()) } },
        { type: "opaque", data: { type: "reasoning-file", data: base64(png()) } },
        { type: "opaque", data: { type: "custom", kind: "anthropic.compaction" } },
        { type: "toolCall", id: "c1", arguments: { path: "c1" } },
        { type: "toolCall", id: "c2", arguments: { path: "c2" } },
      ],
    });
  });

  test("gives texts in any pieces, with or without streamed arguments", async () => {
    const piece = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 5 }), fc.boolean(), async (words, isWhole) => {
        const called = calls("c1").filter(({ type }) => !isWhole || type === "tool-call");
        const { events, whole } = await streamed([[...text("a", words), ...called, ...finish("tool-calls")]]);
        expect(undated(await checkCuts(events, open, events.length - 1))).toEqual(whole);
        const deltas = [];
        for await (const delta of open(eventsFrom(events))) deltas.push(delta);
        const json = deltas.map((delta) => (delta.type === "toolCall" ? delta.arguments : "")).join("");
        expect(JSON.parse(json)).toEqual({ path: "c1" });
      }),
      { numRuns: 8 },
    );
  });

  test("keeps what came before a failure or an abort, without a call whose arguments are cut", async () => {
    const { events } = await streamed([
      [...text("a", ["Hel", "lo"]), ...calls("c1", "c2"), ...finish("tool-calls")],
    ]);
    const before = events.slice(
      0,
      events.findLastIndex(({ type }) => type === "tool-input-delta"),
    );
    const refusal = Object.assign(new Error("Overloaded"), { statusCode: 529 });
    for (const [part, stopReason] of [
      [{ type: "error", error: refusal }, "error"],
      [{ type: "error", error: { message: "Overloaded" } }, "error"],
      [{ type: "abort", reason: "enough" }, "aborted"],
    ] as const) {
      const stream = open(eventsFrom([...before, part, ...events.slice(-2)]));
      expect(await stream.message()).toMatchObject({
        stopReason,
        content: [{ text: "Hello" }, { type: "toolCall", id: "c1" }],
      });
      expect(String(stream.error)).toMatch(/Overloaded|enough/);
    }
  });

  test("tells the failure of the step after a step with calls, and leaves that one whole", async () => {
    const { events, whole } = await streamed([[...calls("c1"), ...finish("tool-calls")]]);
    const refusal = Object.assign(new Error("Bad Request"), { statusCode: 400 });
    const stream = open(eventsFrom([...events.slice(0, -1), { type: "error", error: refusal }]));
    expect(undated(await stream.message())).toEqual(whole);
    expect(stream.error).toBe(refusal);
  });

  test("leaves out a call that the limit of tokens cut", async () => {
    const cut = [{ type: "tool-call", toolCallId: "c1", toolName: "read", input: '{"path":"a' }];
    const none = [{ type: "tool-call", toolCallId: "c1", toolName: "read", input: "{}" }];
    for (const call of [cut, none]) {
      const { events, whole } = await streamed([[...text("a", ["I write"]), ...call, ...finish("length")]]);
      expect(whole).toMatchObject({ stopReason: "length", content: [{ text: "I write" }] });
      expect(whole.content).toHaveLength(1);
      expect(undated(await open(eventsFrom(events)).message())).toEqual(whole);
    }
  });

  test("knows the parts of the official stream, and refuses what is no model", () => {
    expectTypeOf<TextStreamPart<ToolSet>>().toExtend<AiSdkStreamPart>();
    // @ts-expect-error: a name alone does not say who made the reply.
    expect(() => aiSdkStream(eventsFrom([]), { model: "m" })).toThrow(TypeError);
  });
});
