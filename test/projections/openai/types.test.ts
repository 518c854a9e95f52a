import type OpenAI from "openai";
import type { ParsedChatCompletion } from "openai/resources/chat/completions";
import type { ParsedResponse } from "openai/resources/responses/responses";
import { contextOf, userMessage } from "sessile/content";
import { project } from "sessile/projections";
import {
  type OpenaiChatMessage,
  type OpenaiResponsesItem,
  openaiChat,
  openaiResponses,
  readOpenaiChatReply,
  readOpenaiResponsesReply,
} from "sessile/projections/openai";
import { describe, expect, expectTypeOf, test } from "vitest";

type Chat = OpenAI.Chat.ChatCompletionCreateParamsNonStreaming;
type Responses = OpenAI.Responses.ResponseCreateParamsNonStreaming;

const model = "gpt-5.6";
const context = contextOf([userMessage("hi")]);

describe("the official client's types", () => {
  test("take the value of Chat Completions as it is, and give the reply as it is", async () => {
    const { value } = await project(context, openaiChat({ model }));
    const request: Chat = { model, ...value };
    expect(request.messages).toHaveLength(1);
    expectTypeOf<OpenaiChatMessage>().toExtend<OpenAI.Chat.ChatCompletionMessageParam>();
    expectTypeOf(readOpenaiChatReply).toBeCallableWith({} as OpenAI.Chat.ChatCompletion);
    expectTypeOf(readOpenaiChatReply).toBeCallableWith({} as ParsedChatCompletion<null>);
  });

  test("take the value of Responses as it is, and give the reply as it is", async () => {
    const { value } = await project(context, openaiResponses({ model }));
    const request: Responses = { model, store: false, ...value };
    expect(request.input).toHaveLength(1);
    expectTypeOf<OpenaiResponsesItem>().toExtend<OpenAI.Responses.ResponseInputItem>();
    expectTypeOf(readOpenaiResponsesReply).toBeCallableWith({} as OpenAI.Responses.Response);
    expectTypeOf(readOpenaiResponsesReply).toBeCallableWith({} as ParsedResponse<null>);
  });
});
