import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import {
  type AssistantMessage,
  type Context,
  contextFrom,
  type Message,
  project,
  type Target,
  toolResult,
  userMessage,
} from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { geminiContents } from "sessile/gemini";
import { openaiResponses } from "sessile/openai";
import { describe, expect, test } from "vitest";

const read = { name: "read", description: "Reads.", parameters: { type: "object", properties: {} } };
const write = { ...read, name: "write" };
const call = { type: "toolCall", id: "toolu_1", name: "read", arguments: {} } as const;
const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 };
const reply: AssistantMessage = {
  role: "assistant",
  ...{ provider: "anthropic", model: "claude-opus-5-5", usage, timestamp: 3 },
  ...{ stopReason: "toolUse", content: [call] },
};

function changed(...before: readonly Message[]): Context {
  return contextFrom([
    { role: "system", content: "Be brief.", toolsAdded: [read], timestamp: 1 },
    userMessage("Go."),
    reply,
    toolResult(call, "Done."),
    ...before,
    { role: "system", content: "", toolsAdded: [write], toolsRemoved: ["read"], timestamp: 4 },
  ]);
}

describe("tools that come and go in mid-session", () => {
  test("stand where they changed for Anthropic, and the declared ones stay", async () => {
    const target = anthropicMessages({ model: "claude-opus-5-5", toolChanges: true });
    const { value, tools, losses } = await project(changed(), target);
    expect({ tools, losses }).toEqual({ tools: [read], losses: [] });
    const { name, description } = write;
    expect(value.messages.at(-1)).toEqual({
      role: "system",
      content: [
        { type: "tool_removal", tool: { type: "tool_reference", name: "read" } },
        {
          type: "tool_addition",
          tool: {
            type: "tool_definition",
            definition: { name, description, input_schema: write.parameters },
          },
        },
      ],
    });
    const messages: Anthropic.Beta.BetaMessageParam[] = value.messages;
    expect(messages).toHaveLength(4);
  });

  test("follow words of the user if the model spoke last", async () => {
    const target = anthropicMessages({ model: "claude-opus-5-5", toolChanges: true });
    const spoken: AssistantMessage = {
      ...reply,
      stopReason: "stop",
      content: [{ type: "text", text: "Done." }],
    };
    const { value } = await project(changed(spoken), target);
    expect(value.messages.slice(-2)).toMatchObject([
      {
        role: "user",
        content: [{ text: "[The tools changed. New tools: write. No longer available: read.]" }],
      },
      { role: "system", content: [{ type: "tool_removal" }, { type: "tool_addition" }] },
    ]);
  });

  test("are an item for OpenAI, and words about what was removed", async () => {
    const target = openaiResponses({ model: "gpt-6.2-sol", toolChanges: true });
    const { value, tools } = await project(changed(), target);
    expect(tools).toEqual([read]);
    const { name, description, parameters } = write;
    const declared = { type: "function", strict: false, name, description, parameters };
    expect(value.input.slice(-2)).toEqual([
      {
        role: "developer",
        content: [{ type: "input_text", text: 'The tool "read" is no longer available.' }],
      },
      { type: "additional_tools", role: "developer", tools: [declared] },
    ]);
    const input: OpenAI.Responses.ResponseInput = value.input;
    expect(input).toHaveLength(6);
  });

  const others: readonly [string, Target<unknown>][] = [
    ["Anthropic without the option", anthropicMessages({ model: "claude-opus-5-5" })],
    ["an older model", anthropicMessages({ model: "claude-opus-4-5", toolChanges: true })],
    ["Gemini", geminiContents({ model: "gemini-3-pro" })],
  ];

  test.each(others)("are declared anew for %s", async (_, target) => {
    const { value, tools } = await project(changed(), target);
    expect(tools).toEqual([write]);
    expect(JSON.stringify(value)).not.toContain('"write"');
  });
});
