import { generateText, type ModelMessage, modelMessageSchema } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { validatingModel } from "../../support/providers/ai-sdk/model.js";
import type { AiSdkCall } from "../../support/providers/ai-sdk/parts.js";
import { accepted, rejected } from "../../support/providers/ai-sdk/rejected.js";
import { aiSdkRules } from "../../support/providers/ai-sdk/rules.js";
import { testRules } from "../../support/providers/rejected.js";

testRules(aiSdkRules, accepted, rejected);

describe("generateText", () => {
  const messagesOf = ({ messages }: AiSdkCall): ModelMessage[] => z.array(modelMessageSchema).parse(messages);
  const send = (call: AiSdkCall) =>
    generateText({
      model: validatingModel(call.provider, [{ type: "text", text: "ok" }]),
      ...(typeof call.system === "string" ? { system: call.system } : {}),
      messages: messagesOf(call),
      maxRetries: 0,
    });

  test.each(Object.entries(accepted))("carries %s to a model that looks at it", async (_, call) => {
    const { text, warnings } = await send(call);
    expect({ text, warnings }).toEqual({ text: "ok", warnings: [] });
  });

  const refused = (rule: string, what: string) => {
    const found = rejected.find((one) => one.rule === rule && one.what === what);
    if (found === undefined) throw new Error(`no fixture: ${what}`);
    return found.body;
  };

  test("refuses by itself calls without results", async () => {
    await expect(send(refused("calls-answered", "a call without a result"))).rejects.toThrow(
      expect.objectContaining({ name: "AI_MissingToolResultsError" }),
    );
  });

  test("refuses by itself to say nothing", async () => {
    await expect(send(refused("some-message", "no message"))).rejects.toThrow("messages must not be empty");
  });

  test("would fetch what is an address", async () => {
    const fetched: string[] = [];
    await generateText({
      model: validatingModel("anthropic.messages", []),
      messages: messagesOf(refused("nothing-fetched", "an address that is text")),
      maxRetries: 0,
      experimental_download: async (wanted) => {
        fetched.push(...wanted.map(({ url }) => url.href));
        return wanted.map(() => null);
      },
    }).catch(() => undefined);
    expect(fetched).toEqual(["https://example.com/a.png"]);
  });
});
