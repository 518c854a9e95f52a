import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { GoogleGenAI } from "@google/genai";
import fc from "fast-check";
import { contextFrom, project, userMessage } from "sessile";
import {
  type GeminiReply,
  type GeminiReplyPart,
  type GeminiStreamChunk,
  geminiContents,
  geminiStream,
  readGeminiReply,
} from "sessile/gemini";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkCuts, eventsFrom, recordedStreams, serverSentEvents } from "../../support/reply-streams.js";

const model = "gemini-3-pro-preview";
const open = (source: AsyncIterable<GeminiStreamChunk>) => geminiStream(source, { model });
const messageFrom = (...chunks: readonly object[]) =>
  open(eventsFrom(chunks as GeminiStreamChunk[])).message();
const chunk = (part: object | undefined, more: object = {}): GeminiStreamChunk =>
  ({
    candidates: [{ content: { role: "model", parts: part === undefined ? [] : [part] }, index: 0, ...more }],
    responseId: "abc-1",
  }) as GeminiStreamChunk;
const normal = (message: object) => ({ ...message, timestamp: 0 });

const text = fc.oneof(
  { weight: 5, arbitrary: fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }) },
  fc.constantFrom(" ", "\n\n"),
);
const picture = { mimeType: "image/png", data: "iVBORw0KGgo=".repeat(200) };
const signed = { requiredKeys: ["text"] as ["text"] };
const part: fc.Arbitrary<GeminiReplyPart> = fc.oneof(
  fc.record({ text, thoughtSignature: text }, signed),
  fc.record(
    { text, thought: fc.constant(true), thoughtSignature: text },
    { requiredKeys: ["text", "thought"] },
  ),
  fc.record(
    {
      functionCall: fc.record(
        {
          id: fc.uuid(),
          name: fc.constantFrom("read", "bash"),
          args: fc.dictionary(text, fc.jsonValue(), { maxKeys: 3, noNullPrototype: true }),
        },
        { requiredKeys: ["name"] },
      ),
      thoughtSignature: text,
    },
    { requiredKeys: ["functionCall"] },
  ),
  fc.record({ executableCode: fc.record({ code: text }) }) as fc.Arbitrary<GeminiReplyPart>,
  text.map((words) => ({ text: words, inlineData: picture }) as GeminiReplyPart),
);

const isPlainText = (one: GeminiReplyPart) =>
  one.text !== undefined && one.thoughtSignature === undefined && !("inlineData" in one);
/** The parts of a whole response: texts that follow each other are one. */
const joined = (parts: readonly GeminiReplyPart[]): readonly GeminiReplyPart[] =>
  parts.reduce<GeminiReplyPart[]>((list, one) => {
    const last = list.at(-1);
    const goesOn =
      last !== undefined && isPlainText(last) && isPlainText(one) && last.thought === one.thought;
    if (goesOn) list[list.length - 1] = { ...last, text: `${last.text}${one.text}` };
    else list.push(one);
    return list;
  }, []);

describe("geminiStream", () => {
  it("gives what the reader of the whole response gives, and of any cut a message that says it was aborted", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { maxLength: 6 }),
        fc.integer({ min: 1, max: 8 }),
        async (some, size) => {
          const parts = joined(some);
          const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 };
          const whole: GeminiReply = {
            candidates: [{ content: { parts }, finishReason: "STOP" }],
            responseId: "abc-1",
            usageMetadata,
          };
          const chunks = parts.flatMap((one) => {
            if (!isPlainText(one)) return [chunk(one)];
            const { text: said = "" } = one;
            return Array.from({ length: Math.ceil(said.length / size) }, (_, at) =>
              chunk({ ...one, text: said.slice(at * size, (at + 1) * size) }),
            );
          });
          const last = { ...chunk(undefined, { finishReason: "STOP" }), usageMetadata } as GeminiStreamChunk;
          expect(normal(await checkCuts([...chunks, last], open))).toEqual(
            normal(readGeminiReply(whole, { model })),
          );
        },
      ),
      { numRuns: 30 },
    );
  });

  it("takes the official client's stream, and the body of an HTTP answer", async () => {
    const chunks = [
      chunk({ text: "Hel" }),
      chunk({ text: "lo" }),
      chunk({ text: "" }, { finishReason: "STOP" }),
    ];
    const server = createServer((_, outgoing) => {
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      outgoing.end(serverSentEvents(chunks));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = new GoogleGenAI({ apiKey: "key", httpOptions: { baseUrl: url } });
    const { value } = await project(contextFrom([userMessage("hi")]), geminiContents({ model }));
    const whole = { stopReason: "stop", content: [{ type: "text", text: "Hello" }] };
    const events = await client.models.generateContentStream({ model, contents: value.contents });
    expect(await geminiStream(events, { model }).message()).toMatchObject(whole);
    expect(await geminiStream(await fetch(url), { model }).message()).toMatchObject(whole);
  });

  it("puts arguments together that come in pieces, and drops a call that was cut", async () => {
    const piece = (jsonPath: string, value: object) =>
      chunk({ functionCall: { partialArgs: [{ jsonPath, ...value }], willContinue: true } });
    const begun = chunk({ functionCall: { name: "cook", willContinue: true }, thoughtSignature: "YQ==" });
    const pieces = [
      begun,
      piece("$.steps[0].text", { stringValue: "Mix", willContinue: true }),
      piece("$.steps[0].text", { stringValue: " well" }),
      piece("$.steps[1]['at once']", { boolValue: true }),
      piece("$.grams", { numberValue: 0.5 }),
      piece("$.note", { nullValue: null }),
    ];
    const args = { steps: [{ text: "Mix well" }, { "at once": true }], grams: 0.5, note: null };
    const end = chunk({ functionCall: {} });
    const stop = chunk({ text: "" }, { finishReason: "STOP" });
    const next = chunk({ functionCall: { name: "serve", args: { hot: true } } });
    for (const chunks of [
      [...pieces, end, stop],
      [...pieces, stop],
      [...pieces, end, next, stop],
      [...pieces, next, stop],
    ]) {
      const { content } = await messageFrom(...chunks);
      expect(content[0]).toMatchObject({
        type: "toolCall",
        name: "cook",
        arguments: args,
        thoughtSignature: "YQ==",
      });
      expect(content).toHaveLength(chunks.includes(next) ? 2 : 1);
    }
    expect((await messageFrom(...pieces)).content).toEqual([]);
    expect(await messageFrom(...pieces, chunk(undefined, { finishReason: "MAX_TOKENS" }))).toMatchObject({
      stopReason: "length",
      content: [],
    });
  });

  it("takes no path of arguments that reaches a prototype, a hole or a far index", async () => {
    const paths = [
      "$.__proto__.x",
      "$['__proto__']['x']",
      "$.a[9]",
      "$.a[99999999]",
      "a",
      "$",
      "$..",
      `$${".a".repeat(100)}`,
    ];
    const partialArgs = paths.map((jsonPath) => ({ jsonPath, stringValue: "bad" }));
    const { content } = await messageFrom(
      chunk({ functionCall: { name: "read", partialArgs, willContinue: false } }),
      chunk(undefined, { finishReason: "STOP" }),
    );
    expect(JSON.stringify(content)).not.toContain("bad");
    expect(({} as { x?: string }).x).toBeUndefined();
  });

  it("ends with the reason why a prompt was blocked, and as an error if a chunk has one", async () => {
    expect(await messageFrom({ promptFeedback: { blockReason: "SAFETY" } })).toMatchObject({
      stopReason: "error",
      errorMessage: "SAFETY",
    });
    const stream = open(
      eventsFrom([chunk({ text: "We" }), { error: { code: 503, message: "overloaded" } } as object]),
    );
    expect(await stream.message()).toMatchObject({
      stopReason: "error",
      errorMessage: "overloaded",
      content: [{ text: "We" }],
    });
    expect(stream.error).toMatchObject({ code: "REPLY_FAILED" });
  });

  it("ignores chunks and members of any shape", async () => {
    const call = fc.record({
      name: fc.jsonValue(),
      args: fc.jsonValue(),
      willContinue: fc.boolean(),
      partialArgs: fc.oneof(
        fc.jsonValue(),
        fc.array(
          fc.record({
            jsonPath: fc.oneof(fc.jsonValue(), fc.constantFrom("$.a", "$.a.b", "$.a[0]", "$[0]")),
            stringValue: fc.jsonValue(),
            numberValue: fc.jsonValue(),
          }),
        ),
      ),
    });
    const parts = fc.oneof(
      fc.jsonValue(),
      fc.array(
        fc.oneof(
          fc.jsonValue(),
          fc.record({ text: fc.jsonValue(), thought: fc.jsonValue() }),
          fc.record({ functionCall: fc.oneof(fc.jsonValue(), call) }),
        ),
      ),
    );
    const junk = fc.oneof(
      fc.jsonValue(),
      fc.record({
        candidates: fc.oneof(
          fc.jsonValue(),
          fc.array(fc.record({ content: fc.oneof(fc.jsonValue(), fc.record({ parts })) })),
        ),
        usageMetadata: fc.constant(null),
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(junk, { maxLength: 5 }), async (chunks) => {
        expect(await messageFrom(...(chunks as object[]))).toMatchObject({
          role: "assistant",
          stopReason: "aborted",
        });
      }),
    );
  });

  const recorded = (
    recordedStreams("google") as readonly { name: string; events: readonly GeminiStreamChunk[] }[]
  ).filter(({ events }) => events.length > 0 && events.every((event) => "candidates" in event));
  it.skipIf(recorded.length === 0).each(recorded)("cuts of a recorded stream: $name", async ({ events }) => {
    const ends = (event: GeminiStreamChunk) =>
      (event.candidates as { finishReason?: string }[])[0]?.finishReason !== undefined;
    const read = await checkCuts(events, open, events.findIndex(ends) + 1);
    expect(read.stopReason).toMatch(/^(stop|toolUse)$/);
  });
});
