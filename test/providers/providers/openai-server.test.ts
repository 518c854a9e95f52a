import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { rejectedChat } from "../../support/providers/openai/chat/rejected.js";
import { validChat } from "../../support/providers/openai/chat/valid.js";
import {
  chatCallsReply,
  responsesCallsReply,
  responsesReply,
} from "../../support/providers/openai/replies.js";
import { validResponses } from "../../support/providers/openai/responses/valid.js";
import { startOpenai } from "../../support/providers/openai/server.js";

const clientOf = ({ url }: { readonly url: string }) =>
  new OpenAI({ apiKey: "none", baseURL: `${url}/v1`, maxRetries: 0 });

const refusalOf = async (request: PromiseLike<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> => {
  const error = await Promise.resolve(request).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof OpenAI.APIError) return error;
  throw new Error("the request was not refused", { cause: error });
};

describe("the official client and the local OpenAI", () => {
  it("speak Chat Completions", async () => {
    await using server = await startOpenai({ chat: [chatCallsReply()] });
    const reply = await clientOf(server).chat.completions.create(validChat());
    expect(reply.choices).toEqual(chatCallsReply().choices);
    expect(reply.usage).toEqual(chatCallsReply().usage);
    expect(server.requests.map(({ body }) => body)).toEqual([validChat()]);
  });

  it("speak Responses", async () => {
    await using server = await startOpenai({ responses: [responsesCallsReply()] });
    const reply = await clientOf(server).responses.create(validResponses());
    expect(reply.output).toEqual(responsesCallsReply().output);
    expect(reply.output_text).toBe("Let me look.");
    expect(server.requests.map(({ body }) => body)).toEqual([validResponses()]);
  });

  it("refuse in the API's words, with 400 and the place", async () => {
    await using server = await startOpenai({});
    const body = rejectedChat["image-urls"]?.[0];
    const { status, param, code, type, message } = await refusalOf(
      clientOf(server).post("/chat/completions", { body }),
    );
    expect({ status, param, code, type }).toEqual({
      status: 400,
      param: "messages[2].content[1].image_url.url",
      code: "invalid_value",
      type: "invalid_request_error",
    });
    expect(message).toMatch(
      /^400 Invalid image URL: 'messages\[2\]\.content\[1\]\.image_url\.url'\. Expected/,
    );
  });

  it("knows what it said: items come with their reasoning, and only what was stored is there", async () => {
    const said = responsesCallsReply();
    await using server = await startOpenai({ responses: [said, responsesReply([])] });
    const client = clientOf(server);
    await client.responses.create({ model: "gpt-5.6", input: "Hi", store: false });
    const outputs = ["call_a", "call_b"].map((call_id) => ({
      type: "function_call_output" as const,
      call_id,
      output: "ok",
    }));
    const rest = said.output.filter(({ type }) => type === "message" || type === "function_call");
    const without = await refusalOf(
      client.post("/responses", { body: { model: "gpt-5.6", store: false, input: [...rest, ...outputs] } }),
    );
    expect(without.message).toBe(
      "400 Item 'msg_a' of type 'message' was provided without its required 'reasoning' item: 'rs_a'.",
    );
    const referred = await refusalOf(
      client.post("/responses", {
        body: { model: "gpt-5.6", input: [{ type: "item_reference", id: "rs_a" }, ...rest, ...outputs] },
      }),
    );
    expect(referred.status).toBe(404);
    expect(referred.message).toMatch(/Item with id 'rs_a' not found/);
    await client.post("/responses", {
      body: { model: "gpt-5.6", store: false, input: [...said.output, ...outputs] },
    });
    expect(server.requests).toHaveLength(4);
  });
});
