import type Anthropic from "@anthropic-ai/sdk";
import {
  assistantMessage,
  contextFrom,
  type Loss,
  memoryBlobStore,
  project,
  type StoredResource,
  toolResult,
  userMessage,
} from "sessile";
import {
  type ClaudeAgentMessage,
  type ClaudeAgentMessagesOptions,
  claudeAgentMessages,
} from "sessile/claude-agent";
import { describe, expect, expectTypeOf, test } from "vitest";
import { png } from "../../support/media-files.js";
import { claudeAgentRules } from "../../support/providers/claude-agent/rules.js";
import { breaches } from "../../support/providers/rule.js";

const blobs = memoryBlobStore();
const size = { width: 3, height: 2 };
const { ref, size: bytes } = await blobs.put(png(size));
const image: StoredResource = {
  resourceId: "res_0123456789abcdef",
  kind: "image",
  source: "upload",
  mediaType: "image/png",
  size: bytes,
  blob: ref,
  contentSha256: ref.slice("sha256:".length),
  ...size,
};
const call = { type: "toolCall", id: "call_1", name: "read", arguments: { path: "a" } } as const;
const history = [
  { role: "system", content: "Be brief.", timestamp: 1 } as const,
  userMessage("Look."),
  assistantMessage({ provider: "anthropic", model: "m" }, "Well.", call),
  toolResult(call, "done"),
  assistantMessage({ provider: "anthropic", model: "m" }, "I did."),
  userMessage("And this?", image),
  userMessage("Quick."),
];

async function projected(options?: ClaudeAgentMessagesOptions) {
  const projection = await project(contextFrom(history), claudeAgentMessages(options), { blobs });
  expect(breaches<unknown>(projection.value, claudeAgentRules)).toEqual([]);
  return projection;
}

const codes = (losses: readonly Loss[]) => losses.map(({ code }) => code);
const data = btoa(String.fromCharCode(...png(size)));
const shown = { type: "image", source: { type: "base64", media_type: "image/png", data } };

describe("claudeAgentMessages", () => {
  // @covers R169
  test("tells what the user said since the model spoke", async () => {
    const { value, losses, byPolicy } = await projected({ sessionId: "5f0c" });
    expect(value).toEqual([
      {
        type: "user",
        message: {
          role: "user",
          content: [
            { type: "text", text: "And this?" },
            { type: "text", text: expect.stringMatching(/^\[image, image\/png/) },
            shown,
            { type: "text", text: "Quick." },
          ],
        },
        parent_tool_use_id: null,
        session_id: "5f0c",
      },
    ]);
    expect(losses).toEqual([]);
    expect(codes(byPolicy)).toEqual(Array(5).fill("notRepeated"));
  });

  test("tells a conversation from its beginning where that is asked for", async () => {
    const { value, losses } = await projected({ history: "transcript" });
    const texts = value[0]?.message.content.map((block) => (block.type === "text" ? block.text : block.type));
    expect(texts).toEqual([
      expect.stringContaining("a conversation from its beginning"),
      "[instructions]\nBe brief.",
      "[user]\nLook.",
      "[assistant]\nWell.",
      '[call of read, call_1]\n{"path":"a"}',
      "[result of read, call_1]\ndone",
      "[assistant]\nI did.",
      "[user]\nAnd this?",
      expect.stringMatching(/^\[image/),
      "image",
      "Quick.",
    ]);
    expect(losses).toEqual([]);
    expect(value[0]?.session_id).toBe("");
  });

  test("a refusal is traced to its entry", async () => {
    const { explain } = await projected();
    expect(explain({ status: 400, message: "messages.41.content.2: Could not process image" })).toMatchObject(
      {
        entryId: "m5",
        resourceId: image.resourceId,
        certainty: "guess",
      },
    );
  });

  test("a transcript has calls as they were, and begins as the conversation does", async () => {
    const odd = { ...call, id: "call|1.é", arguments: [1] };
    const messages = [assistantMessage({ provider: "anthropic", model: "m" }, odd), toolResult(odd, "done")];
    const target = claudeAgentMessages({ history: "transcript" });
    const { value, losses } = await project(contextFrom(messages), target);
    expect(losses).toEqual([]);
    expect(value[0]?.message.content.slice(1)).toEqual([
      { type: "text", text: "[call of read, call|1.é]\n[1]" },
      { type: "text", text: "[result of read, call|1.é]\ndone" },
    ]);
  });

  test("is what the SDK's own type asks for", () => {
    // As its sdk.d.ts has it; the package itself is none of ours.
    interface SDKUserMessage {
      type: "user";
      message: Anthropic.MessageParam;
      parent_tool_use_id: string | null;
      isSynthetic?: boolean;
      tool_use_result?: unknown;
      priority?: "now" | "next" | "later";
      uuid?: string;
      session_id?: string;
    }
    expectTypeOf<ClaudeAgentMessage>().toExtend<SDKUserMessage>();
  });

  test("refuses options that are none of its choices", () => {
    const create = (options: object) => () => claudeAgentMessages(options);
    expect(create({ sessionId: 5 })).toThrow(new TypeError("sessionId: expected a string, got 5"));
    expect(create({ history: "all" })).toThrow(/^history: expected "latest" or "transcript"/);
  });
});
