import { isDeepStrictEqual } from "node:util";
import { GoogleGenAI, type Interactions } from "@google/genai";
import {
  type AssistantMessage,
  assistantMessage,
  type ContextMessage,
  contextFrom,
  type ImageBlock,
  memoryBlobStore,
  memoryReferenceCache,
  type Projection,
  project,
  type ToolCall,
  toolCalls,
  toolResult,
  userMessage,
} from "sessile";
import { ingest, replayAlways } from "sessile/attachments";
import { type GeminiInteractionRequest, geminiInteractions, readGeminiInteraction } from "sessile/gemini";
import { describe, expect, expectTypeOf, test } from "vitest";
import { base64, bytesOf, pdf, png } from "../../attachments/samples.js";
import { fullSession } from "../../support/providers/full-session.js";
import { interactionRules, startInteractions } from "../../support/providers/gemini/interaction-rules.js";
import {
  callingInteraction,
  interaction,
  richInteraction,
} from "../../support/providers/gemini/interactions.js";
import { gemini3, gemini25 } from "../../support/providers/gemini/sample.js";
import { breaches } from "../../support/providers/rule.js";
import { stored } from "../samples.js";

const dummy = "skip_thought_signature_validator";
const signature = btoa("signature");
const thought = { type: "thought", signature };
const text = (words: string) => ({ type: "text", text: words });
const call = (id: string, more: Partial<ToolCall> = {}): ToolCall => ({
  type: "toolCall",
  id,
  name: "read",
  arguments: { path: "a.png" },
  ...more,
});
const calling = (id: string, more: object = {}) => ({
  type: "function_call",
  id,
  name: "read",
  arguments: { path: "a.png" },
  ...more,
});

type Said = readonly (string | AssistantMessage["content"][number])[];
const own = (...content: Said) =>
  assistantMessage({ provider: "google", model: gemini3, api: "google-interactions" }, ...content);
const foreign = (...content: Said) =>
  assistantMessage({ provider: "anthropic", model: "claude-sonnet-4-5" }, ...content);

function projected(
  messages: readonly ContextMessage[],
  model = gemini3,
  options: Parameters<typeof project>[2] = {},
): Promise<Projection<GeminiInteractionRequest>> {
  return project(contextFrom(messages), geminiInteractions({ model }), options);
}
const stepsOf = async (...messages: readonly ContextMessage[]) => (await projected(messages)).value.input;

describe("geminiInteractions", () => {
  test("writes what fits the client's own parameters, in fresh objects", async () => {
    const message = own(
      "Hm.",
      call("c1", { arguments: { deep: { list: [1] } }, thoughtSignature: signature }),
    );
    const { value } = await projected([
      { role: "system", content: "Be brief.", timestamp: 1 },
      userMessage("Hello."),
      message,
      toolResult({ id: "c1", name: "read" }, "done"),
    ]);
    const parameters: Interactions.CreateModelInteractionParamsNonStreaming = {
      model: gemini3,
      store: false,
      ...value,
    };
    expect(parameters).toEqual({
      model: gemini3,
      store: false,
      system_instruction: "Be brief.",
      input: [
        { type: "user_input", content: [text("Hello.")] },
        { type: "model_output", content: [text("Hm.")] },
        calling("c1", { arguments: { deep: { list: [1] } }, signature }),
        { type: "function_result", call_id: "c1", name: "read", result: [text("done")] },
      ],
    });
    const [, , sent] = value.input;
    if (sent?.type === "function_call") Object.assign(sent.arguments.deep as object, { list: [2] });
    expect((message.content[1] as ToolCall).arguments).toEqual({ deep: { list: [1] } });
    expectTypeOf<GeminiInteractionRequest["input"][number]>().toExtend<Interactions.Step>();
  });

  test("gives each message steps of its own, so that what is new can be cut from the end", async () => {
    const messages = [
      userMessage("Read both."),
      foreign("I read.", call("a"), call("b")),
      { ...toolResult({ id: "b", name: "read" }, "no such file"), isError: true },
      toolResult({ id: "a", name: "read" }, "one", "two"),
      userMessage("Go on."),
      userMessage("Please."),
    ];
    const steps = await stepsOf(...messages);
    expect(steps).toEqual([
      { type: "user_input", content: [text("Read both.")] },
      { type: "thought", signature: dummy },
      { type: "model_output", content: [text("I read.")] },
      calling("a"),
      calling("b"),
      { type: "function_result", call_id: "a", name: "read", result: [text("one"), text("two")] },
      { type: "function_result", call_id: "b", name: "read", result: [text("no such file")], is_error: true },
      { type: "user_input", content: [text("Go on.")] },
      { type: "user_input", content: [text("Please.")] },
    ]);
    const before = await stepsOf(...messages.slice(0, 4));
    expect(steps.slice(0, before.length)).toEqual(before);
    expect(steps.slice(before.length).map(({ type }) => type)).toEqual(["user_input", "user_input"]);
  });

  test("sends thoughts and signatures to the model that made them alone, and a dummy for calls of others", async () => {
    const said = [
      { type: "thinking", thinking: "Hm.", thinkingSignature: signature } as const,
      "Yes.",
      call("c1"),
    ];
    const done = toolResult({ id: "c1", name: "read" }, "done");
    expect((await stepsOf(userMessage("x"), own(...said), done)).slice(1, -1)).toEqual([
      { ...thought, summary: [text("Hm.")] },
      { type: "model_output", content: [text("Yes.")] },
      calling("c1"),
    ]);
    for (const message of [
      foreign(...said),
      { ...own(...said), model: "gemini-3-flash" },
      { ...own(...said), api: "google-generative-ai" },
      { ...own(...said), account: "other" },
    ]) {
      const { value, losses } = await projected([userMessage("x"), message, done]);
      expect(value.input.slice(1, -1)).toEqual([
        { type: "thought", signature: dummy },
        { type: "model_output", content: [text("Yes.")] },
        calling("c1"),
      ]);
      expect(losses).toMatchObject([{ code: "reasoning", block: 0 }]);
    }
    const old = await projected([userMessage("x"), foreign(...said), done], gemini25);
    expect(JSON.stringify(old.value)).not.toContain("signature");
  });

  test("leaves out a signature that is no base64, with a loss, and puts the dummy in its place", async () => {
    const bad = { type: "thinking", thinking: "Hm.", thinkingSignature: "no base64!" } as const;
    const { value, losses } = await projected([
      userMessage("x"),
      own(bad, call("c1")),
      toolResult(call("c1"), "y"),
    ]);
    expect(value.input.slice(1, 3)).toEqual([{ type: "thought", signature: dummy }, calling("c1")]);
    expect(losses).toMatchObject([{ code: "reasoning", by: "history", block: 0 }]);
    const late = { ...bad, thinkingSignature: signature };
    const steps = await stepsOf(userMessage("x"), own(call("c1"), late, "Yes."), toolResult(call("c1"), "y"));
    expect(steps.slice(1, 4)).toEqual([
      { type: "thought", signature: dummy },
      calling("c1"),
      { ...thought, summary: [text("Hm.")] },
    ]);
  });

  test("leaves out blocks of another protocol and halves of a pair, with a loss each", async () => {
    const blocks = [
      { functionResponse: { name: "read" } },
      { type: "user_input", content: [text("me")] },
      { type: "function_call", id: "f1", name: "read" },
      { type: "thought" },
      { type: "model_output", content: [] },
      { content: ["words"] },
      { type: "google_search_call", id: "g1", arguments: {} },
      { type: "google_search_result", call_id: "g2", result: [] },
      { type: "url_context_call", arguments: { urls: [] } },
      "words",
    ];
    const message = own("Yes.", ...blocks.map((data) => ({ type: "opaque" as const, data })));
    const { value, losses } = await projected([userMessage("x"), message, userMessage("y")]);
    expect(value.input[1]).toEqual({ type: "model_output", content: [text("Yes.")] });
    expect(value.input).toHaveLength(3);
    expect(losses.map(({ code, block }) => [code, block])).toEqual(blocks.map((_, at) => ["opaque", at + 1]));
  });

  test("has media within results from version 3 on, and behind those of older models", async () => {
    const picture: ImageBlock = { type: "image", data: base64(png()), mimeType: "image/png" };
    const result: ContextMessage = {
      ...toolResult({ id: "c1", name: "read" }, "here"),
      content: [{ type: "text", text: "here" }, picture],
    };
    const image = { type: "image", mime_type: "image/png", data: picture.data };
    const messages = [userMessage("x"), foreign(call("c1")), result];
    expect((await stepsOf(...messages)).at(-1)).toMatchObject({ result: [text("here"), image] });
    const { value, losses } = await projected(messages, gemini25);
    expect(value.input.at(-1)).toMatchObject({
      type: "user_input",
      content: expect.arrayContaining([image]),
    });
    expect(losses.map(({ code }) => code)).toEqual(["moved"]);
  });

  test("sends PDFs and sound as they are, text documents as text, and what is uploaded by its address", async () => {
    const blobs = memoryBlobStore();
    const wav = bytesOf(`RIFF${"\0".repeat(4)}WAVEfmt ${"\0".repeat(40)}`);
    const [paper, notes, shot] = await Promise.all([
      ingest({ bytes: pdf, name: "a.pdf" }, { blobs }),
      ingest({ bytes: bytesOf("name,age\n"), name: "a.csv" }, { blobs }),
      ingest({ bytes: png(3, 4), name: "a.png" }, { blobs }),
    ]);
    await blobs.put(wav);
    const sound = stored(wav, { kind: "file", mediaType: "audio/wav", name: "a.wav" } as never);
    const references = memoryReferenceCache();
    const uri = "https://generativelanguage.googleapis.com/v1beta/files/abc";
    references.set({ blob: shot.blob, provider: "google" }, { kind: "file", id: uri });
    const messages = [
      userMessage("look", paper, notes, sound),
      foreign(call("c1")),
      toolResult({ id: "c1", name: "read" }, shot),
    ];
    const options = { blobs, replay: replayAlways, references };
    const { value, losses } = await projected(messages, gemini3, options);
    expect(value.input[0]).toMatchObject({
      content: expect.arrayContaining([
        { type: "document", mime_type: "application/pdf", data: base64(pdf) },
        { type: "text", text: expect.stringContaining("name,age") },
        { type: "audio", mime_type: "audio/wav", data: base64(wav) },
      ]),
    });
    expect(value.input.at(-1)).toMatchObject({
      type: "function_result",
      result: [{ type: "text" }, { type: "image", mime_type: "image/png", uri }],
    });
    expect(losses.map(({ code }) => code)).toEqual(["asText"]);
  });
});

describe("a session with the official client", () => {
  test("goes there and back, and finds the model's own steps as they were", async () => {
    const first = callingInteraction(gemini3);
    const rich = richInteraction(gemini3);
    await using server = await startInteractions([first, rich]);
    const client = new GoogleGenAI({ apiKey: "none", vertexai: false, httpOptions: { baseUrl: server.url } });
    const { session, blobs } = await fullSession();
    const ask = async () => {
      const context = await session.context();
      const { value, losses } = await project(context, geminiInteractions({ model: gemini3 }), {
        blobs,
        replay: replayAlways,
      });
      expect(losses.filter(({ entryId }) => entryId === context.items.at(-2)?.entryId)).toEqual([]);
      const reply = await client.interactions.create({ model: gemini3, store: false, ...value });
      return readGeminiInteraction(reply, { model: gemini3 });
    };
    const reply = await ask();
    expect(reply).toMatchObject({
      stopReason: "toolUse",
      usage: { input: 650, output: 100, cacheRead: 400, totalTokens: 1150 },
      timestamp: Date.parse("2026-11-28T10:00:00Z"),
    });
    await session.appendMessage(reply);
    for (const one of toolCalls(reply)) await session.appendMessage(toolResult(one, "here it is"));
    await session.appendMessage(await ask());
    await session.appendMessage(userMessage("Thanks."));
    await ask();
    const bodies = server.requests.map(({ body }) => body as { input: readonly object[]; store: boolean });
    expect(bodies.map(({ store }) => store)).toEqual([false, false, false]);
    const [, second, third] = bodies;
    const own = (reply: object, sent: readonly object[] | undefined) => {
      const { steps } = reply as { steps: readonly object[] };
      const from = sent?.findIndex((step) => isDeepStrictEqual(step, steps[0])) ?? -1;
      expect(sent?.slice(from, from + steps.length)).toEqual(steps);
    };
    own(first, second?.input);
    own(rich, third?.input);
    expect(third?.input.slice(0, second?.input.length)).toEqual(second?.input);
  });

  test("is refused in the API's words, which lead to the entry at fault", async () => {
    await using server = await startInteractions([interaction(gemini3, [])]);
    const client = new GoogleGenAI({ apiKey: "none", vertexai: false, httpOptions: { baseUrl: server.url } });
    const broken: ImageBlock = { type: "image", data: base64(png(3, 4)), mimeType: "image/png" };
    const messages = [
      userMessage("first"),
      foreign("yes"),
      { ...userMessage("x"), content: [{ type: "text" as const, text: "see" }, broken] },
    ];
    const request = await projected(messages);
    const [, , last] = request.value.input;
    if (last?.type === "user_input") Object.assign(last.content[1] as object, { data: base64(pdf) });
    const asked = client.interactions.create({ model: gemini3, store: false, ...request.value });
    const error: unknown = await asked.catch((caught: unknown) => caught);
    expect(request.explain(error)).toMatchObject({
      code: "excluded",
      entryId: "m2",
      block: 1,
      certainty: "path",
      path: "input[2].content[1]",
      message: "Unable to process input image at 'input[2].content[1]'.",
    });
  });

  test.each([
    ["Thought signature is not valid.", { code: "excluded", entryId: "m1", block: 0 }],
    ["Invalid input at 'input[1].signature'.", { code: "excluded", entryId: "m1", block: 0 }],
    ["Function call is missing a thought signature.", undefined],
    ["Request blocked due to PROHIBITED_CONTENT.", undefined],
    ["The value 'x' is not supported for 'type' at 'tools[0]'.", undefined],
  ])("%s: is about what it says", async (message, expected) => {
    const said = own({ type: "thinking", thinking: "Hm.", thinkingSignature: signature }, "Yes.");
    const request = await projected([userMessage("x"), said, userMessage("y")]);
    const found = request.explain({ status: 400, error: { code: "invalid_request", message } });
    if (expected === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(expected);
  });
});

describe("the rules of the Interactions API", () => {
  const user = { type: "user_input", content: [text("x")] };
  const done = { type: "function_result", call_id: "c1", name: "read", result: [text("y")] };
  const input = [user, { type: "thought", signature: dummy }, calling("c1"), done];
  const broken = (body: object) => {
    const asked = { model: gemini3, input, ...body };
    const found = breaches({ bytes: JSON.stringify(asked).length, body: asked }, interactionRules);
    return [...new Set(found.map(({ rule }) => rule))];
  };
  const rejected: readonly (readonly [string, object])[] = [
    ["parameters-are-known", { contents: [] }],
    ["steps-are-known", { input: [{ ...user, role: "user" }] }],
    ["the-user-begins", { input: input.slice(1) }],
    ["contents-are-given", { input: [{ type: "user_input", content: [] }] }],
    ["calls-have-their-results", { input: input.slice(0, 3) }],
    ["calls-have-their-results", { input: [...input.slice(0, 3), { ...done, name: "list" }] }],
    [
      "tools-of-the-api-have-their-results",
      { input: [user, { type: "google_search_call", id: "g", arguments: {} }, user] },
    ],
    ["signatures-are-the-models-own", { input: [user, { ...thought }, user] }],
    ["calls-follow-a-thought", { input: [user, calling("c1"), done] }],
    [
      "media-are-what-they-say",
      { input: [{ ...user, content: [{ type: "image", mime_type: "image/png", data: base64(pdf) }] }] },
    ],
    [
      "only-version-3-takes-media-of-results",
      {
        model: gemini25,
        input: [
          ...input.slice(0, 3),
          { ...done, result: [{ type: "image", mime_type: "image/png", uri: "u" }] },
        ],
      },
    ],
    ["text-is-unicode", { system_instruction: "\ud800" }],
    ["body-size", { system_instruction: "x".repeat(20_000_001) }],
  ];

  test("take a valid request", () => {
    expect(broken({ system_instruction: "Be brief.", store: false })).toEqual([]);
  });

  test.each(rejected)("%s", (rule, body) => {
    expect(broken(body)).toEqual([rule]);
  });

  test("have each a source and a request that breaks it", () => {
    for (const { source } of interactionRules) expect(source).toMatch(/https:\/\/.*2026-11-28/);
    expect(new Set(rejected.map(([rule]) => rule))).toEqual(new Set(interactionRules.map(({ id }) => id)));
  });
});
