import type Anthropic from "@anthropic-ai/sdk";
import fc from "fast-check";
import type { AssistantMessage } from "sessile";
import { readAnthropicReply } from "sessile/anthropic";
import { describe, expect, test } from "vitest";
import { blockFields } from "../../../src/providers/internal.js";
import { jsonValue } from "../../arbitraries/values.js";
import { callingReply, messageOf, type ScriptedReply } from "../../support/providers/anthropic/replies.js";

const read = (reply: ScriptedReply, options = {}) =>
  readAnthropicReply(messageOf(reply, "claude-opus-5-5", 0), { timestamp: 1, ...options });
const blockOf = (block: unknown) => read({ content: [block as Anthropic.ContentBlock] }).content[0];

describe("readAnthropicReply", () => {
  test("reads reasoning, text, calls, usage", () => {
    expect(read(callingReply)).toEqual({
      role: "assistant",
      api: "anthropic-messages",
      provider: "anthropic",
      model: "claude-opus-5-5",
      content: [
        { type: "thinking", thinking: "Both files, then.", thinkingSignature: "c2lnbmVkLTE=" },
        { type: "thinking", thinking: "", thinkingSignature: "cmVkYWN0ZWQ=", redacted: true },
        { type: "text", text: "I read both. ", providerFields: { citations: null } },
        {
          type: "toolCall",
          id: "toolu_A",
          name: "read",
          arguments: { path: "a.txt" },
          providerFields: { caller: { type: "direct" } },
        },
        { type: "thinking", thinking: "", thinkingSignature: "b21pdHRlZA==" },
        {
          type: "toolCall",
          id: "toolu_B",
          name: "screenshot",
          arguments: {},
          providerFields: { caller: { type: "direct" }, toolset_name: "browser" },
        },
      ],
      usage: {
        input: 120,
        output: 40,
        cacheRead: 300,
        cacheWrite: 900,
        totalTokens: 1360,
      },
      stopReason: "toolUse",
      providerFields: { id: "msg_0000", stop_reason: "tool_use", usage: { service_tier: "standard" } },
      timestamp: 1,
    } satisfies AssistantMessage);
  });

  test("counts what is kept for an hour apart, and says nothing of a cost", () => {
    const reply = messageOf(callingReply, "claude-opus-5-5", 0);
    const kept = { ephemeral_1h_input_tokens: 700, ephemeral_5m_input_tokens: 200 };
    const { usage } = readAnthropicReply({ ...reply, usage: { ...reply.usage, cache_creation: kept } });
    expect(usage).toMatchObject({ cacheWrite: 900, cacheWrite1h: 700 });
    expect(usage).not.toHaveProperty("cost");
  });

  test("names the provider, the model and the account of the target that asked", () => {
    // Behind Bedrock a reply names the model otherwise than the request did.
    const model = "us.anthropic.claude-opus-5-5-v1:0";
    const options = { provider: "proxy", model, account: "work" };
    expect(read(callingReply, options)).toMatchObject(options);
  });

  test.each([
    [
      "a block of a tool of the provider's",
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} },
    ],
    ["a block of a type that nobody knew", { type: "holo", data: [1] }],
    ["text without text", { type: "text" }],
    ["a call without a name", { type: "tool_use", id: "a", input: {} }],
  ])("keeps whole: %s", (_, data) => {
    expect(blockOf(data)).toEqual({ type: "opaque", data });
  });

  test("takes a message without a stop reason for an aborted one, without the call that it was building", () => {
    const text = { type: "text", text: "Let me see.", citations: null };
    const calls = ["a", "b"].map((id) => ({ type: "tool_use", id, name: "read", input: {} }));
    const content = [text, ...calls] as Anthropic.ContentBlock[];
    const message = read({ content, stop_reason: null });
    expect(message).toMatchObject({ stopReason: "aborted", content: [{ type: "text" }, { id: "a" }] });
    expect(message.content).toHaveLength(2);
    expect(read({ content: [text] as Anthropic.ContentBlock[], stop_reason: null }).content).toHaveLength(1);
  });

  test("keeps nothing of the reply itself", () => {
    const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "a" } };
    const call = { type: "tool_use", id: "toolu_1", name: "read", input: { path: "a" } };
    const message = read({ content: [search, call] as Anthropic.ContentBlock[] });
    search.input.query = "b";
    call.input.path = "b";
    expect(message.content).toMatchObject([
      { data: { input: { query: "a" } } },
      { arguments: { path: "a" } },
    ]);
  });

  test.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["pause_turn", "pause"],
    ["compaction", "pause"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["tool_use", "toolUse"],
    ["refusal", "error"],
    ["a reason of next year", "stop"],
    [null, "aborted"],
  ])("%s is %s", (reason, expected) => {
    const stop_reason = reason as Anthropic.StopReason;
    expect(read({ content: [], stop_reason }).stopReason).toBe(expected);
  });

  test("a refusal says why", () => {
    const stop_details = { type: "refusal", category: "cyber", explanation: "no malware" } as const;
    const refused = { content: [], stop_reason: "refusal" } as const;
    expect(read({ ...refused, stop_details }).errorMessage).toBe("no malware");
    expect(read(refused).errorMessage).toBe("stopped: refusal");
    expect(read({ content: [] }).errorMessage).toBeUndefined();
  });

  test("counts what was not told as nothing", () => {
    const usage = { input_tokens: 1, output_tokens: 2, cache_read_input_tokens: null };
    const reply = { model: "m", content: [], stop_reason: null, usage };
    expect(readAnthropicReply(reply).usage).toMatchObject({ cacheRead: 0, cacheWrite: 0, totalTokens: 3 });
    for (const untold of [undefined, null, {}]) {
      const bare = { ...reply, usage: untold } as unknown as Anthropic.Message;
      expect(readAnthropicReply(bare).usage).toMatchObject({ input: 0, output: 0, totalTokens: 0 });
    }
  });

  const notReplies: readonly unknown[] = [undefined, null, "text", {}, { content: "a", model: "m" }];
  test.each(notReplies)("%j is no reply", (reply) => {
    expect(() => readAnthropicReply(reply as Anthropic.Message)).toThrow(
      expect.objectContaining({ code: "INVALID_MESSAGE" }),
    );
  });
});

const keys = fc.constantFrom("text", "citations", "caller", "cache_control", "type", "a", "__proto__");
const block = fc.uniqueArray(fc.tuple(keys, jsonValue), { selector: ([key]) => key }).map(Object.fromEntries);

describe("blockFields", () => {
  test("are the members that a session's block does not have, and nothing else", () => {
    fc.assert(
      fc.property(block, (fields) => {
        const known = ["text", "type", "cache_control"];
        const left = Object.entries(fields).filter(([key]) => !known.includes(key));
        const { providerFields = {} } = blockFields(fields, ...known);
        expect(Object.entries(providerFields)).toEqual(left);
      }),
    );
  });

  test("are absent if nothing is left over", () => {
    expect(blockFields({ text: "a", citations: undefined }, "text")).toEqual({});
  });
});
