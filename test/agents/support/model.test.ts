import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ScriptedModel, startModel } from "../agents/model.js";
import { reduceRequest } from "./reduced.js";

const reply = {
  reasoning: "I look first.",
  text: "Let me look.",
  calls: [{ id: "call_a", name: "look", arguments: { path: "a.txt" } }],
};
const parameters = { type: "object" as const, properties: {} };

let model: ScriptedModel;
beforeAll(async () => {
  model = await startModel({ replies: Array(6).fill(reply) });
});
afterAll(async () => {
  await model[Symbol.asyncDispose]();
});

describe("the scripted model, read by the official clients", () => {
  it("speaks Anthropic's messages", async () => {
    const client = new Anthropic({ baseURL: model.url, apiKey: "none" });
    const request = {
      model: "claude-sonnet-5",
      max_tokens: 100,
      messages: [{ role: "user" as const, content: "hello" }],
      tools: [{ name: "look", input_schema: parameters }],
    };
    const message = await client.messages.stream(request).finalMessage();
    expect(message.content).toMatchObject([
      { type: "thinking", thinking: reply.reasoning },
      { type: "text", text: reply.text },
      { type: "tool_use", id: "call_a", name: "look", input: { path: "a.txt" } },
    ]);
    expect(message).toMatchObject({ stop_reason: "tool_use", usage: { output_tokens: 20 } });
    const { tools: _, ...aside } = request;
    expect((await client.messages.create(aside)).content).toMatchObject([{ type: "text", text: "title" }]);
  });

  it("speaks OpenAI's Responses and Chat Completions", async () => {
    const client = new OpenAI({ baseURL: `${model.url}/v1`, apiKey: "none" });
    const events = await client.responses.create({ model: "gpt-5", input: "hello", stream: true });
    const types: string[] = [];
    let last: unknown;
    for await (const event of events) {
      types.push(event.type);
      last = event;
    }
    expect(types.filter((type) => type === "response.output_item.done")).toHaveLength(3);
    expect(last).toMatchObject({
      type: "response.completed",
      response: { output: [{ type: "reasoning" }, { type: "message" }, { type: "function_call" }] },
    });

    const chat = await client.chat.completions
      .stream({
        model: "m1",
        messages: [{ role: "user", content: "hello" }],
        tools: [{ type: "function", function: { name: "look", parameters } }],
      })
      .finalMessage();
    expect(chat).toMatchObject({
      content: reply.text,
      tool_calls: [{ id: "call_a", function: { name: "look", arguments: '{"path":"a.txt"}' } }],
    });
  });

  it("speaks Gemini's generateContent", async () => {
    const client = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: model.url } });
    const stream = await client.models.generateContentStream({
      model: "gemini-2.5-pro",
      contents: "hello",
      config: { tools: [{ functionDeclarations: [{ name: "look" }] }] },
    });
    const parts = [];
    for await (const chunk of stream) parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
    expect(parts).toMatchObject([
      { text: reply.reasoning, thought: true },
      { text: reply.text },
      { functionCall: { id: "call_a", name: "look", args: { path: "a.txt" } } },
    ]);
  });

  it("records each request", () => {
    const requests = model.requests.map(({ url }) => url.replace(/\?.*/, ""));
    expect(requests).toEqual([
      "/v1/messages",
      "/v1/messages",
      "/v1/responses",
      "/v1/chat/completions",
      "/v1/models/gemini-2.5-pro:streamGenerateContent",
    ]);
    const reduced = model.requests.map(({ body }) => reduceRequest(body));
    expect(reduced).toEqual(requests.map(() => [{ role: "user", text: "hello" }]));
  });
});
