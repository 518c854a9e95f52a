import { ConverseCommand } from "@aws-sdk/client-bedrock-runtime";
import { cacheConversation, project, toolCalls, toolResult, userMessage } from "sessile";
import { bedrockConverse, readBedrockReply } from "sessile/bedrock";
import { expect, test } from "vitest";
import { bedrockClient } from "../../support/providers/bedrock/client.js";
import { bedrockReply, callingReply } from "../../support/providers/bedrock/replies.js";
import { claude } from "../../support/providers/bedrock/sample.js";
import { startBedrock } from "../../support/providers/bedrock/server.js";
import { fullSession } from "../../support/providers/full-session.js";

const tools = [{ toolSpec: { name: "read", inputSchema: { json: { type: "object" } } } }];

test("a session goes there and back through the official client, and the model finds its own blocks as they were", async () => {
  const calling = callingReply(claude);
  const last = bedrockReply([{ text: "Both are fine." }]);
  await using server = await startBedrock([calling, last]);
  const client = bedrockClient(server.url);
  const { session, blobs } = await fullSession();
  const ask = async () => {
    const options = { blobs, cache: cacheConversation };
    const { value } = await project(await session.context(), bedrockConverse({ model: claude }), options);
    const command = new ConverseCommand({ modelId: claude, ...value, toolConfig: { tools } });
    return readBedrockReply(await client.send(command), { model: claude });
  };

  const reply = await ask();
  expect(reply).toMatchObject({ stopReason: "toolUse", usage: { input: 600, output: 60, cacheRead: 400 } });
  await session.appendMessage(reply);
  for (const call of toolCalls(reply)) await session.appendMessage(toolResult(call, "here it is"));
  await session.appendMessage(await ask());
  await session.appendMessage(userMessage("Thanks."));
  await ask();

  const [first, second, third] = server.requests.map(
    ({ body }) => body as { messages: { role: string; content: Record<string, unknown>[] }[] },
  );
  expect(first?.messages[0]?.content.map((block) => Object.keys(block)[0])).toEqual([
    "text",
    "text",
    "image",
    "text",
    "document",
    "text",
    "cachePoint",
    "document",
  ]);
  expect(contentsOf(second)).toContainEqual(contentOf(calling));
  expect(contentsOf(third)).toContainEqual(contentOf(last));
  expect(JSON.stringify(second?.messages.at(-1))).toContain('{"cachePoint":{"type":"default"}}');
});

/** What was said, without what marks it for the cache. */
function contentsOf(body: { messages: { content: Record<string, unknown>[] }[] } | undefined) {
  return body?.messages.map(({ content }) => content.filter((block) => !("cachePoint" in block)));
}

function contentOf(reply: Readonly<Record<string, unknown>>): unknown {
  return (reply.output as { message: { content: unknown } }).message.content;
}
