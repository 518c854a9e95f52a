import { ConverseCommand, type Message, ValidationException } from "@aws-sdk/client-bedrock-runtime";
import { describe, expect, test } from "vitest";
import { bedrockClient } from "../../support/providers/bedrock/client.js";
import { rejectedRequests } from "../../support/providers/bedrock/rejected.js";
import { callingReply } from "../../support/providers/bedrock/replies.js";
import { bedrockRules } from "../../support/providers/bedrock/rules.js";
import { asking, claude, nova, text, user, validRequest } from "../../support/providers/bedrock/sample.js";
import { startBedrock } from "../../support/providers/bedrock/server.js";
import { signatureOf } from "../../support/providers/bedrock/state.js";
import { messagesOf } from "../../support/providers/bedrock/wire.js";
import { breaches } from "../../support/providers/rule.js";

describe("the rules of Bedrock's Converse", () => {
  test("take a request with everything in it", () => {
    expect(breaches(validRequest, bedrockRules)).toEqual([]);
    expect(breaches(asking([user(text("Hello."))], { to: nova }), bedrockRules)).toEqual([]);
  });

  test.each(rejectedRequests)("$rule: $title", ({ rule, request }) => {
    const found = breaches(request, bedrockRules);
    expect([...new Set(found.map((breach) => breach.rule))]).toEqual([rule]);
  });

  test("have each a source, a name of its own and a request that breaks it", () => {
    const ids = bedrockRules.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { source } of bedrockRules) expect(source).toMatch(/https:\/\/.*2026-11-2[12]/);
    expect(new Set(rejectedRequests.map(({ rule }) => rule))).toEqual(new Set(ids));
  });
});

describe("the server of Bedrock's Converse", () => {
  const bytes = (base64: string) => new Uint8Array(Buffer.from(base64, "base64"));
  const tools = [{ toolSpec: { name: "read", inputSchema: { json: { type: "object" } } } }];
  const messages: Message[] = [
    {
      role: "user",
      content: [
        { text: "Look." },
        { document: { name: "Report", format: "pdf", source: { bytes: bytes(btoa("%PDF-1.7\n")) } } },
        { cachePoint: { type: "default" } },
      ],
    },
    {
      role: "assistant",
      content: [
        { reasoningContent: { reasoningText: { text: "Hm.", signature: signatureOf(claude, "Hm.") } } },
        { reasoningContent: { redactedContent: bytes(signatureOf(claude, "hidden")) } },
        { toolUse: { toolUseId: "t1", name: "read", input: { path: "a.png" } } },
      ],
    },
    {
      role: "user",
      content: [{ toolResult: { toolUseId: "t1", content: [{ text: "none" }], status: "error" } }],
    },
  ];

  test("takes what the official client sends, and the client reads what it answers", async () => {
    await using server = await startBedrock([callingReply(claude)]);
    const reply = await bedrockClient(server.url).send(
      new ConverseCommand({
        modelId: claude,
        messages,
        system: [{ text: "Be brief." }],
        toolConfig: { tools },
      }),
    );
    const content = reply.output?.message?.content ?? [];
    expect(content.map((block) => Object.keys(block)[0])).toEqual([
      "reasoningContent",
      "reasoningContent",
      "text",
      "toolUse",
      "toolUse",
    ]);
    expect(content[1]?.reasoningContent?.redactedContent).toEqual(bytes(signatureOf(claude, "hidden")));
    expect(reply.usage?.cacheReadInputTokens).toBe(400);
    const [sent] = server.requests;
    expect(messagesOf({ model: claude, body: sent?.body as Record<string, unknown> })).toHaveLength(3);
  });

  test("refuses as Bedrock does", async () => {
    await using server = await startBedrock([callingReply(claude)]);
    const asked = bedrockClient(server.url).send(
      new ConverseCommand({ modelId: claude, messages: [{ role: "user", content: [{ text: " " }] }] }),
    );
    const error: unknown = await asked.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ValidationException);
    expect((error as ValidationException).message).toBe(
      "The text field in the ContentBlock object at messages.0.content.0 is blank. Add text to the text field, and try again.",
    );
  });
});
