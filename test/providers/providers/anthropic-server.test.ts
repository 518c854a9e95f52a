import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, test } from "vitest";
import { callingReply, messageOf, searchingReply } from "../../support/providers/anthropic/replies.js";
import { startAnthropic } from "../../support/providers/anthropic/server.js";
import { richRequest } from "../../support/providers/anthropic/valid.js";

/** Nothing of the environment: no token of whoever runs the tests goes anywhere. */
function clientOf({ url }: { readonly url: string }): Anthropic {
  return new Anthropic({ apiKey: "test", authToken: null, baseURL: url, maxRetries: 0 });
}

const asked = { role: "user", content: "hi" } as const;
const question = { model: "claude-opus-5-5", max_tokens: 64, messages: [asked] };

describe("startAnthropic", () => {
  test("the official client sends a rich request and reads the reply", async () => {
    await using server = await startAnthropic([callingReply]);
    const { model } = question;
    const reply = await clientOf(server).messages.create(richRequest());
    expect(reply).toMatchObject(messageOf(callingReply, model, 0));
    expect(server.requests.map(({ body }) => body)).toEqual([richRequest()]);
  });

  test.each([callingReply, searchingReply])("a stream ends as the whole message", async (script) => {
    await using server = await startAnthropic([script]);
    const reply = await clientOf(server).messages.stream(question).finalMessage();
    expect(reply.content).toEqual(script.content);
    expect(reply.stop_reason).toBe(messageOf(script, "", 0).stop_reason);
  });

  test("refuses in the API's words, with the place", async () => {
    await using server = await startAnthropic();
    const messages = [asked, { role: "assistant" as const, content: callingReply.content.slice(3) }];
    const sent = clientOf(server).messages.create({ ...question, messages });
    await expect(sent).rejects.toMatchObject({
      status: 400,
      error: {
        type: "error",
        error: {
          type: "invalid_request_error",
          message: expect.stringMatching(
            /^messages\.1: `tool_use` ids were found without `tool_result` blocks/,
          ),
        },
      },
    });
  });

  test("a body of more than 32 MB is too large", async () => {
    await using server = await startAnthropic();
    const messages = [{ ...asked, content: "a".repeat(32_000_000) }];
    const sent = clientOf(server).messages.create({ ...question, messages });
    await expect(sent).rejects.toMatchObject({
      status: 413,
      error: { error: { type: "request_too_large" } },
    });
  });

  test("a request without a key, and one for something else", async () => {
    await using server = await startAnthropic();
    const answer = await fetch(`${server.url}/v1/messages`, {
      method: "POST",
      body: JSON.stringify(question),
    });
    expect([answer.status, await answer.json()]).toMatchObject([
      401,
      { error: { type: "authentication_error" } },
    ]);
    await expect(clientOf(server).models.retrieve("claude-opus-5")).rejects.toMatchObject({ status: 404 });
  });

  describe("reasoning that it gave", () => {
    const results = ["toolu_A", "toolu_B"].map((tool_use_id) => {
      return { type: "tool_result" as const, tool_use_id, content: "done" };
    });
    const changed = callingReply.content.map((block) => {
      return block.type === "thinking" && block.thinking !== "" ? { ...block, thinking: "Both." } : block;
    });

    test.each([
      { why: "verbatim", content: callingReply.content, status: 200 },
      { why: "with another text", content: changed, status: 400 },
      { why: "without the withheld block", content: callingReply.content.toSpliced(1, 1), status: 400 },
      { why: "left out", content: callingReply.content.slice(2).toSpliced(2, 1), status: 400 },
    ])("comes back $why: $status", async ({ content, status }) => {
      await using server = await startAnthropic([callingReply]);
      const client = clientOf(server);
      await client.messages.create(question);
      const said = { role: "assistant" as const, content: [...content] };
      const messages = [asked, said, { role: "user" as const, content: results }];
      const sent = client.messages.create({ ...question, messages }).then(
        () => 200,
        (error) => error.status,
      );
      expect(await sent).toBe(status);
    });
  });
});
