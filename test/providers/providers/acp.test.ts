import type { ContentBlock } from "@agentclientprotocol/sdk";
import { describe, expect, test } from "vitest";
import { promptAgent } from "../../support/providers/acp/peers.js";
import { accepted, everything, rejected } from "../../support/providers/acp/rejected.js";
import { acpRules, maxPromptBytes } from "../../support/providers/acp/rules.js";
import { testRules } from "../../support/providers/rejected.js";

testRules(acpRules, accepted, rejected);

describe("an official agent", () => {
  test.each(Object.entries(accepted))(
    "reads from an official client %s",
    async (_, { prompt, capabilities }) => {
      const sent = prompt as ContentBlock[];
      expect(await promptAgent(sent, capabilities)).toEqual({ read: sent, stopReason: "end_turn" });
    },
  );

  test("refuses an image that it does not take", async () => {
    const image: ContentBlock = { type: "image", data: "", mimeType: "image/png" };
    await expect(promptAgent([image], {})).rejects.toMatchObject({
      code: -32602,
      data: { rule: "image-capability", path: "prompt.0" },
    });
  });

  test("refuses by itself what breaks the schema", async () => {
    // @ts-expect-error: the client's types refuse it too.
    const image: ContentBlock = { type: "image", data: "" };
    await expect(promptAgent([image], everything)).rejects.toMatchObject({ code: -32602 });
  });

  test("loses the connection to a prompt that the rule of the size refuses", async () => {
    const text: ContentBlock = { type: "text", text: "a".repeat(maxPromptBytes + 1024) };
    await expect(promptAgent([text], everything)).rejects.toThrow("the agent closed the connection");
  });
});
