import {
  CallToolResultSchema,
  type GetPromptResult,
  GetPromptResultSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, test } from "vitest";
import { connectMcp, offeredName } from "../../support/providers/mcp/peers.js";
import { accepted, rejected } from "../../support/providers/mcp/rejected.js";
import { maxPromptBytes, mcpRules } from "../../support/providers/mcp/rules.js";
import { testRules } from "../../support/providers/rejected.js";

testRules(mcpRules, accepted, rejected);

describe("an official client", () => {
  const prompts = Object.entries(accepted).map(([what, body]): [string, GetPromptResult] => [
    what,
    GetPromptResultSchema.parse(body),
  ]);

  test.each(prompts)("reads from an official server %s", async (_, prompt) => {
    await using peers = await connectMcp({ prompt });
    expect(await peers.client.getPrompt({ name: offeredName })).toEqual(prompt);
  });

  test.each(prompts)("reads from a tool %s", async (_, { messages }) => {
    const toolResult = { content: messages.map(({ content }) => content) };
    await using peers = await connectMcp({ toolResult });
    const read = CallToolResultSchema.parse(await peers.client.callTool({ name: offeredName }));
    expect(read).toEqual(toolResult);
  });

  test("loses the connection to a prompt that the rule of the size refuses", async () => {
    const text = "a".repeat(maxPromptBytes + 1024);
    await using peers = await connectMcp({
      prompt: { messages: [{ role: "user", content: { type: "text", text } }] },
    });
    await expect(peers.client.getPrompt({ name: offeredName })).rejects.toThrow(/closed/i);
  });
});
