import type Anthropic from "@anthropic-ai/sdk";
import { contextOf, userMessage } from "sessile/content";
import { project } from "sessile/projections";
import { type AnthropicRequest, anthropicMessages, readAnthropicReply } from "sessile/projections/anthropic";
import { describe, expectTypeOf, test } from "vitest";

describe("the official client's types", () => {
  test("take the value as it is, and give the reply as it is", async () => {
    const model = "claude-opus-5-5";
    const { value } = await project(contextOf([userMessage("hi")]), anthropicMessages({ model }));
    const request: Anthropic.MessageCreateParamsNonStreaming = { model, max_tokens: 1, ...value };
    const streamed: Anthropic.MessageCreateParamsStreaming = { ...request, stream: true };
    expectTypeOf(streamed.messages).toEqualTypeOf<Anthropic.MessageParam[]>();
    expectTypeOf<AnthropicRequest["messages"]>().toExtend<Anthropic.MessageParam[]>();
    expectTypeOf<AnthropicRequest["messages"]>().toExtend<Anthropic.Beta.BetaMessageParam[]>();
    expectTypeOf<NonNullable<AnthropicRequest["system"]>>().toExtend<Anthropic.TextBlockParam[]>();
    expectTypeOf(readAnthropicReply).toBeCallableWith({} as Anthropic.Message);
    expectTypeOf(readAnthropicReply).toBeCallableWith({} as Anthropic.Beta.BetaMessage);
  });
});
