import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { GoogleGenAI } from "@google/genai";
import fc from "fast-check";
import { assistantMessage, contextFrom, project, type ReplyDelta, userMessage } from "sessile";
import {
  type GeminiInteraction,
  type GeminiInteractionEvent,
  geminiInteractionStream,
  geminiInteractions,
  readGeminiInteraction,
} from "sessile/gemini";
import { describe, expect, it, onTestFinished } from "vitest";
import { interaction } from "../../support/providers/gemini/interactions.js";
import { interactionStreamed } from "../../support/providers/streamed.js";
import { checkCuts, eventsFrom, serverSentEvents } from "../../support/reply-streams.js";
import { rounds } from "../../support/rounds.js";

const model = "gemini-3.8-flash";
const open = (source: AsyncIterable<GeminiInteractionEvent>) => geminiInteractionStream(source, { model });
const streamOf = (...events: readonly object[]) => open(eventsFrom(events as GeminiInteractionEvent[]));
const normal = (message: object) => ({ ...message, timestamp: 0 });
const start = (index: number | undefined, step: object) => ({ event_type: "step.start", index, step });
const delta = (index: number | undefined, one: object) => ({ event_type: "step.delta", index, delta: one });
const stop = (index: number | undefined) => ({ event_type: "step.stop", index });
const done = (more: object = {}) => ({
  event_type: "interaction.completed",
  interaction: { status: "completed", ...more },
});
const said = (text: string) => ({ type: "text", text });
async function deltasOf(...events: readonly object[]): Promise<readonly ReplyDelta[]> {
  const deltas: ReplyDelta[] = [];
  for await (const one of streamOf(...events)) deltas.push(one);
  return deltas;
}

const words = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });
const signature = fc.constantFrom("YQ==", "YWI=");
const medium = fc.constantFrom(
  { type: "image", mime_type: "image/png", data: "iVBORw0KGgo=".repeat(200) },
  { type: "audio", mime_type: "audio/wav", data: "UklGRiQAAABXQVZFZm10IA==" },
  { type: "document", mime_type: "application/pdf", uri: "https://e.x/d" },
  { type: "hologram", depth: [1] },
);
const cited = fc.record(
  {
    type: fc.constant("text"),
    text: words,
    annotations: fc.array(fc.record({ type: words }), { minLength: 1, maxLength: 2 }),
  },
  { requiredKeys: ["type", "text"] },
);
/** Contents of one output: a stream joins texts that follow each other. */
const contents = fc
  .array(fc.oneof(cited, medium), { minLength: 1, maxLength: 4 })
  .map((list) => list.filter(({ type }, at) => type !== "text" || list[at - 1]?.type !== "text"))
  .map((list) => list.filter(({ type }, at) => type !== "audio" || list[at - 1]?.type !== "audio"));
const step = fc.oneof(
  fc.record({ type: fc.constant("model_output"), content: contents }),
  fc.record(
    { type: fc.constant("thought"), signature, summary: fc.array(words.map(said), { maxLength: 2 }) },
    { requiredKeys: ["type", "signature"] },
  ),
  fc.record(
    {
      type: fc.constant("function_call"),
      id: fc.uuid(),
      name: fc.constantFrom("read", "bash"),
      arguments: fc.dictionary(words, fc.jsonValue(), { maxKeys: 3, noNullPrototype: true }),
      signature,
    },
    { requiredKeys: ["type", "id", "name", "arguments"] },
  ),
  fc.record({
    type: fc.constant("code_execution_call"),
    id: fc.uuid(),
    arguments: fc.record({ code: words }),
    signature,
  }),
  fc.record({ type: fc.constant("code_execution_result"), call_id: fc.uuid(), result: words, signature }),
  fc.record({
    type: fc.constant("url_context_result"),
    call_id: fc.uuid(),
    result: fc.array(fc.record({ url: words })),
  }),
  fc.record({ type: fc.constant("new_step"), payload: fc.jsonValue() }),
);

describe("geminiInteractionStream", () => {
  it("gives what the reader of the whole interaction gives, and of any cut a message that says it was aborted", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 6 }),
        fc.integer({ min: 1, max: 8 }),
        async (steps, size) => {
          const whole = JSON.parse(JSON.stringify(interaction(model, steps as never))) as GeminiInteraction;
          const events = interactionStreamed(whole, size) as readonly GeminiInteractionEvent[];
          expect(normal(await checkCuts(events, open))).toEqual(
            normal(readGeminiInteraction(whole, { model })),
          );
        },
      ),
      { numRuns: rounds(30, 300) },
    );
  });

  it("takes the official client's stream, a response, and its body", async () => {
    const events = interactionStreamed(
      interaction(model, [{ type: "model_output", content: [said("Hello")] }]),
      2,
    );
    const body = events.map(
      (one) => `event: ${(one as { event_type: string }).event_type}\n${serverSentEvents([one])}`,
    );
    const server = createServer((_, outgoing) => {
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      outgoing.end(`${body.join("")}event: done\ndata: [DONE]\n\n`);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = new GoogleGenAI({ apiKey: "key", httpOptions: { baseUrl: url } });
    const { value } = await project(contextFrom([userMessage("hi")]), geminiInteractions({ model }));
    const whole = { stopReason: "stop", content: [said("Hello")], usage: { output: 100 } };
    const stream = await client.interactions.create({ model, store: false, stream: true, ...value });
    expect(await geminiInteractionStream(stream, { model }).message()).toMatchObject(whole);
    expect(await geminiInteractionStream(await fetch(url), { model }).message()).toMatchObject(whole);
    const { body: bytes } = await fetch(url);
    if (bytes !== null)
      expect(await geminiInteractionStream(bytes, { model }).message()).toMatchObject(whole);
  });

  it("has deltas of texts, thoughts and calls, numbered as the blocks", async () => {
    const deltas = await deltasOf(
      start(0, { type: "thought", signature: "", summary: [said("Hm")] }),
      delta(0, { type: "thought_summary", content: said(".") }),
      delta(0, { type: "thought_signature", signature: "YQ==" }),
      start(1, { type: "model_output", content: [said("Ye")] }),
      delta(1, said("s")),
      delta(1, { type: "image", uri: "u" }),
      delta(1, said("!")),
      start(2, { type: "function_call", id: "c1", name: "read", arguments: {} }),
      delta(2, { type: "arguments_delta", arguments: '{"a"' }),
      delta(2, { type: "arguments_delta", arguments: ":1}" }),
      stop(2),
      start(3, { type: "function_call", id: "c2", name: "list", arguments: { b: 2 } }),
      stop(3),
      done({ status: "requires_action" }),
    );
    const call = (index: number, id: string, name: string, json: string) =>
      ({ type: "toolCall", index, id, name, arguments: json }) as const;
    expect(deltas).toEqual([
      { type: "thinking", index: 0, text: "Hm" },
      { type: "thinking", index: 0, text: "." },
      { type: "text", index: 1, text: "Ye" },
      { type: "text", index: 1, text: "s" },
      { type: "text", index: 3, text: "!" },
      call(4, "c1", "read", ""),
      call(4, "c1", "read", '{"a"'),
      call(4, "c1", "read", ":1}"),
      call(5, "c2", "list", ""),
      call(5, "c2", "list", '{"b":2}'),
    ]);
  });

  it("joins pieces of sound, and keeps pictures apart", async () => {
    const piece = (data: string, more: object = {}) =>
      delta(0, { type: "audio", mime_type: "audio/l16", data, ...more });
    const picture = { type: "image", mime_type: "image/png", data: "iVBORw0KGgo=" };
    const stream = streamOf(
      start(0, { type: "model_output" }),
      piece("AA=="),
      piece("AQI="),
      piece("AwQF", { sample_rate: 24000 }),
      delta(0, picture),
      delta(0, picture),
      done(),
    );
    const { content } = await stream.message();
    expect(content.map((block) => block.type === "opaque" && block.data)).toEqual([
      {
        type: "model_output",
        content: [{ type: "audio", mime_type: "audio/l16", data: "AAECAwQF", sample_rate: 24000 }],
      },
      { content: [picture] },
      { content: [picture] },
    ]);
  });

  it.each([
    ["steps that never begin", [delta(0, said("Hi")), delta(0, said("!"))]],
    ["no indexes", [start(undefined, { type: "model_output" }), delta(undefined, said("Hi!"))]],
    ["pieces without a type", [start(0, { type: "model_output" }), delta(0, { text: "Hi!" })]],
    ["no end of the step", [start(0, { type: "model_output", content: [said("Hi!")] })]],
  ])("reads a stream with %s", async (_, events) => {
    expect(await streamOf(...events, done()).message()).toMatchObject({
      stopReason: "stop",
      content: [said("Hi!")],
    });
  });

  it("gives arguments to the call, though their index is that of the thought before it", async () => {
    const events = [
      start(0, { type: "thought" }),
      stop(0),
      start(1, { type: "function_call", id: "c1", name: "read", arguments: {} }),
      delta(0, { type: "arguments_delta", arguments: '{"a":1}' }),
      done({ status: "requires_action" }),
    ];
    expect((await streamOf(...events).message()).content.at(-1)).toMatchObject({ arguments: { a: 1 } });
  });

  it("leaves out a call whose arguments did not arrive whole", async () => {
    const call = start(0, { type: "function_call", id: "c1", name: "read", arguments: {} });
    const piece = delta(0, { type: "arguments_delta", arguments: '{"a":' });
    for (const end of [[], [done({ status: "incomplete" })], [done({ status: "requires_action" })]]) {
      const message = await streamOf(call, piece, ...end).message();
      expect(message.content).toEqual([]);
    }
    // The limit came before the end of the step, so that more can have been to come.
    const whole = delta(0, { type: "arguments_delta", arguments: '{"a":1}' });
    expect((await streamOf(call, whole, done({ status: "incomplete" })).message()).content).toEqual([]);
    expect(
      (await streamOf(call, whole, stop(0), done({ status: "incomplete" })).message()).content,
    ).toHaveLength(1);
    const cut = await streamOf(start(0, { type: "google_search_call", id: "g" })).message();
    expect([cut.content, cut.stopReason]).toEqual([[], "aborted"]);
  });

  it("ends as the last event says, also without a status or with steps of its own", async () => {
    const hi = start(0, { type: "model_output", content: [said("Hi")] });
    const created = {
      event_type: "interaction.created",
      interaction: { id: "", model, status: "in_progress" },
    };
    const bare = { event_type: "interaction.completed", interaction: { id: "" } };
    expect(await streamOf(created, hi, bare).message()).toMatchObject({
      stopReason: "stop",
      content: [said("Hi")],
    });
    const steps = [{ type: "model_output", content: [said("Ho")] }];
    expect((await streamOf(hi, done({ steps })).message()).content).toEqual([said("Ho")]);
    const failed = done({ status: "failed", errors: [{ code: "safety", message: "No." }] });
    expect(await streamOf(hi, failed).message()).toMatchObject({
      stopReason: "error",
      refused: true,
      errorMessage: "safety: No.",
    });
    const more = await streamOf(
      hi,
      done({ status: "requires_continuation", continuation_token: "t" }),
    ).message();
    expect([more.stopReason, more.providerFields?.continuation_token]).toEqual(["pause", "t"]);
  });

  it("has the counts that came before a cut", async () => {
    const usage = { total_input_tokens: 3, total_output_tokens: 4 };
    const cut = streamOf({ ...delta(0, said("Hi")), metadata: { total_usage: usage } });
    expect(await cut.message()).toMatchObject({ stopReason: "aborted", usage: { input: 3, output: 4 } });
  });

  it("fails with the error of the provider, and with that of a proxy", async () => {
    for (const event of [
      { event_type: "error", error: { code: "gateway_timeout", message: "Deadline expired." } },
      { error: { code: "gateway_timeout", message: "Deadline expired." } },
    ]) {
      const stream = streamOf(delta(0, said("Hi")), event);
      expect(await stream.message()).toMatchObject({
        stopReason: "error",
        errorMessage: "gateway_timeout: Deadline expired.",
        content: [said("Hi")],
      });
      expect(stream.error).toMatchObject({ code: "REPLY_FAILED" });
    }
  });

  it("fails with a refusal that leads to the entry at fault", async () => {
    const thinking = { type: "thinking", thinking: "Hm.", thinkingSignature: "YQ==" } as const;
    const maker = { provider: "google", model, api: "google-interactions" };
    const said = assistantMessage(maker, thinking, "Yes.");
    const request = await project(
      contextFrom([userMessage("x"), said, userMessage("y")]),
      geminiInteractions({ model }),
    );
    const stream = streamOf({
      event_type: "error",
      error: { code: "invalid_request", message: "Thought signature is not valid." },
    });
    await stream.message();
    expect(request.explain(stream.error)).toMatchObject({ code: "excluded", entryId: "m1", block: 0 });
  });

  it("ignores events and members of any shape", async () => {
    const odd = fc.oneof(fc.jsonValue(), fc.constant(undefined));
    const event = fc.record(
      {
        event_type: fc.constantFrom(
          "step.start",
          "step.delta",
          "step.stop",
          "interaction.created",
          "new.event",
        ),
        index: fc.oneof(fc.nat({ max: 2 }), odd),
        step: fc.oneof(
          fc.record({
            type: fc.constantFrom("thought", "model_output", "function_call", "x_call"),
            content: odd,
            summary: odd,
            id: odd,
            arguments: odd,
          }),
          odd,
        ),
        delta: fc.oneof(
          fc.record({
            type: fc.constantFrom(
              "text",
              "image",
              "thought_summary",
              "thought_signature",
              "arguments_delta",
              "text_annotation_delta",
              "x_call",
            ),
            text: odd,
            data: odd,
            content: odd,
            annotations: odd,
            signature: odd,
            arguments: odd,
            result: odd,
          }),
          odd,
        ),
        interaction: fc.oneof(
          fc.record({ model: odd, status: odd, usage: odd, steps: odd, errors: odd, created: odd }),
          odd,
        ),
        metadata: odd,
      },
      { requiredKeys: ["event_type"] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 12 }), async (events) => {
        const message = await streamOf(...(events as object[]), done()).message();
        expect(["stop", "toolUse"]).toContain(message.stopReason);
        await project(
          contextFrom([userMessage("x"), message, userMessage("y")]),
          geminiInteractions({ model }),
        );
      }),
      { numRuns: rounds(100, 2000) },
    );
  });
});
