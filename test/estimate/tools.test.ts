import fc from "fast-check";
import { assistantMessage, contextFrom, project, toolCalls, toolResult, userMessage } from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { estimateMessageTokens, estimateTextTokens, estimateToolTokens } from "sessile/estimate";
import { openaiChat } from "sessile/openai";
import { describe, expect, test } from "vitest";

const schema = {
  type: "object",
  properties: { city: { type: "string" }, country: { type: "string" } },
  required: ["city", "country"],
};
const name = "final_result";
const description = "The final response which ends this conversation";
const model = "claude-opus-4-8";
const forms: readonly (readonly [string, unknown])[] = [
  ["Anthropic", [{ name, description, input_schema: schema }]],
  ["Chat Completions", [{ type: "function", function: { name, description, parameters: schema } }]],
  ["Responses", [{ type: "function", name, description, parameters: schema }]],
  ["Gemini", [{ functionDeclarations: [{ name, description, parametersJsonSchema: schema }] }]],
  ["Bedrock", { tools: [{ toolSpec: { name, description, inputSchema: { json: schema } } }] }],
  ["MCP", [{ name, description, inputSchema: schema }]],
  ["the AI SDK", { [name]: { description, inputSchema: { jsonSchema: schema } } }],
];
const [, tools] = forms[0] ?? [];

describe("estimateToolTokens", () => {
  test.each(forms)("reads tools in the form of %s", (_, tools) => {
    for (const of of ["claude-opus-4-8", "gpt-5.2", "gemini-2.5-pro", "someone/unknown"])
      expect([of, estimateToolTokens(tools, of)]).toEqual([of, estimateToolTokens(forms[0]?.[1], of)]);
    expect(estimateToolTokens(tools, model)).toBeGreaterThan(400);
  });

  test("is nothing without tools, and for tools that the provider runs", () => {
    for (const none of [undefined, null, [], {}, [{ type: "web_search" }], [{ googleSearch: {} }], 7, "x"])
      expect(estimateToolTokens(none, model)).toBe(0);
  });

  test("counts a further tool, property and description", () => {
    for (const of of ["claude-sonnet-4-5", "gpt-5.2", "deepseek-chat"]) {
      const one = estimateToolTokens(tools, of);
      const properties = { ...schema.properties, zip: { type: "string", description: "The postal code" } };
      const more = [{ name, description, input_schema: { ...schema, properties } }];
      expect(estimateToolTokens(more, of)).toBeGreaterThan(one + 5);
      expect(estimateToolTokens([...more, ...(tools as [])], of)).toBeGreaterThan(
        estimateToolTokens(more, of) + 10,
      );
    }
  });

  test("takes any value", () => {
    fc.assert(
      fc.property(fc.anything({ maxDepth: 4 }), (value) => {
        const tokens = estimateToolTokens([{ name: "a", parameters: value }, value], "gpt-5.2");
        expect(tokens).toBeGreaterThanOrEqual(0);
      }),
    );
    const loop: Record<string, unknown> = { type: "object" };
    loop.properties = { again: loop };
    for (const of of ["gpt-5.2", model])
      expect(estimateToolTokens([{ name: "a", parameters: loop }], of)).toBeGreaterThan(0);
  });
});

/**
 * Usage that providers reported for these requests, as recorded in the tests of pydantic-ai
 * (github.com/pydantic/pydantic-ai, tests/models/cassettes, read 2026-11-28), and what the text alone is.
 */
describe("usage of a projection", () => {
  const total = async (messages: Parameters<typeof contextFrom>[0], of: string, options = {}) =>
    (await project(contextFrom(messages), anthropicMessages({ model: of }), options)).usage.total;

  test.each([
    ["claude-sonnet-4-5", "What is 2 + 2?", 16],
    ["claude-opus-4-8", "What is 2+2?", 13],
    ["claude-opus-5", "What is 2+2?", 13],
  ])("%s: a question of %j has %i tokens", async (of, question, tokens) => {
    expect(Math.abs((await total([userMessage(question)], of)) - tokens)).toBeLessThanOrEqual(4);
  });

  test("a request with tools is within 15 %, although the choice of a tool costs more", async () => {
    const question = [userMessage("What is the capital of France?")];
    const tokens = await total(question, "claude-opus-4-6", { tools });
    expect(Math.abs(tokens / 671 - 1)).toBeLessThan(0.15);
  });

  test("a call without arguments and its short result have 51 tokens", async () => {
    const call = assistantMessage(
      { provider: "anthropic", model: "claude-sonnet-4-5" },
      { type: "toolCall", id: "toolu_1", name: "get_user_country", arguments: {} },
    );
    const question = userMessage("Which is it?");
    const results = toolCalls(call).map((one) => toolResult(one, "Mexico"));
    const before = await total([question], "claude-sonnet-4-5");
    const after = await total([question, call, ...results], "claude-sonnet-4-5");
    expect(Math.abs(after - before - 51)).toBeLessThanOrEqual(8);
  });

  test("has the tools of system messages, unless it is told others", async () => {
    const system = { role: "system", content: "Hi.", toolsAdded: tools as [], timestamp: 1 } as const;
    const target = openaiChat({ model: "gpt-5.2" });
    const of = async (options = {}) =>
      (await project(contextFrom([system, userMessage("x")]), target, options)).usage.tools;
    expect(await of()).toBe(estimateToolTokens(tools, "gpt-5.2"));
    expect(await of({ tools: [] })).toBe(0);
  });
});

describe("a model's vocabulary", () => {
  const text = "A quick look at how the words of a sentence are counted by another vocabulary.".repeat(20);

  test("counts text by any form of the model's name", () => {
    const plain = estimateTextTokens(text);
    expect(estimateTextTokens(text, { model: "gpt-5.2" })).toBe(plain);
    expect(estimateTextTokens(text, { model: "someone/unknown" })).toBe(plain);
    expect(estimateTextTokens(text, { model: "claude-sonnet-4-5" }) / plain).toBeCloseTo(1.13, 2);
    for (const of of [model, "anthropic/claude-opus-4.8", "us.anthropic.claude-opus-4-8-v1:0"])
      expect(estimateTextTokens(text, { model: of }) / plain).toBeCloseTo(1.39, 2);
  });

  test("counts a message with its frame, calls and images", () => {
    const message = userMessage(text);
    expect(estimateMessageTokens(message, { model })).toBe(
      Math.ceil(estimateTextTokens(text, { model })) + 4,
    );
    const content = [{ type: "image", data: "AAAA", mimeType: "image/png" }] as const;
    const image = { role: "user", content, timestamp: 1 } as const;
    expect(estimateMessageTokens(image, { model })).toBe(4784 + 4);
    expect(estimateMessageTokens(image, { model, image: "openai4o" })).toBe(1445 + 4);
    expect(estimateMessageTokens(message)).toBe(estimateTextTokens(text));
  });
});
