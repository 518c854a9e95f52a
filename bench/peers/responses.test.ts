import {
  type Model,
  type AssistantMessage as PiAssistantMessage,
  streamOpenAIResponses,
} from "@mariozechner/pi-ai";
import OpenAI from "openai";
import { type AssistantMessage, contextFrom, project, toolCalls, toolResult, userMessage } from "sessile";
import { openaiResponses, readOpenaiResponsesReply } from "sessile/openai";
import { expect, test } from "vitest";
import { responsesCallsReply, responsesReply } from "../../test/support/providers/openai/replies.js";
import { startOpenai } from "../../test/support/providers/openai/server.js";
import { plain } from "./pi.js";

const id = "gpt-5.6";

const modelAt = (url: string): Model<"openai-responses"> => ({
  id,
  name: id,
  api: "openai-responses",
  provider: "openai",
  baseUrl: `${url}/v1`,
  reasoning: true,
  input: ["text", "image"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 400_000,
  maxTokens: 4096,
});

type Message = Parameters<typeof contextFrom>[0][number];

const answers = (message: AssistantMessage): readonly Message[] => [
  message,
  ...toolCalls(message).map((call) => toolResult(call, "ok")),
];

const inputOf = (body: unknown) => (body as { readonly input: readonly { readonly id?: string }[] }).input;

/** What pi is answered, as it would store it. */
async function askByPi(url: string, messages: readonly Message[]): Promise<PiAssistantMessage> {
  const context = { messages: plain(messages) as never };
  return await streamOpenAIResponses(modelAt(url), context, {
    apiKey: "none",
    reasoningEffort: "low",
  }).result();
}

test("each goes on with what the other stored of a conversation by Responses, ids and reasoning included", async () => {
  const [reasoning, , ...rest] = responsesCallsReply().output;
  const second = JSON.parse(
    JSON.stringify(responsesCallsReply().output).replaceAll("_a", "_c").replaceAll("_b", "_d"),
  );
  const script = [responsesCallsReply(), responsesReply(second), responsesReply([])];
  await using server = await startOpenai({ responses: script });

  const byPi = await askByPi(server.url, [userMessage("Go")]);
  expect(byPi.errorMessage).toBeUndefined();
  const messages = [userMessage("Go"), ...answers(byPi as AssistantMessage)];

  const client = new OpenAI({ apiKey: "none", baseURL: `${server.url}/v1`, maxRetries: 0 });
  const { value, losses } = await project(contextFrom(messages), openaiResponses({ model: id }));
  // The client that pi brings is older than some items of this value.
  const input = value.input as unknown as OpenAI.Responses.ResponseInput;
  const reply = await client.responses.create({ model: id, store: false, input });
  expect(losses).toEqual([]);
  // pi does not keep searches of the API's own.
  expect(value.input.slice(1, 5)).toEqual([reasoning, ...rest]);

  messages.push(...answers(readOpenaiResponsesReply(reply, { model: id })));
  expect((await askByPi(server.url, messages)).errorMessage).toBeUndefined();
  const ids = inputOf(server.requests[2]?.body).flatMap((item) => item.id ?? []);
  expect(ids).toEqual(["rs_a", "msg_a", "fc_a", "fc_b", "rs_c", "msg_c", "fc_c", "fc_d"]);
});
