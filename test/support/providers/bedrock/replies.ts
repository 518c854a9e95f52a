import { signatureOf } from "./state.js";

type Json = Readonly<Record<string, unknown>>;

/** A response of `Converse` with these blocks, bytes as base64. */
export function bedrockReply(content: readonly Json[], stopReason = "end_turn"): Json {
  return {
    output: { message: { role: "assistant", content } },
    stopReason,
    usage: {
      inputTokens: 600,
      outputTokens: 60,
      totalTokens: 1110,
      cacheReadInputTokens: 400,
      cacheWriteInputTokens: 50,
    },
    metrics: { latencyMs: 12 },
  };
}

/** Reasoning, withheld reasoning, text and two calls at once. */
export function callingReply(model: string): Json {
  const call = (toolUseId: string, path: string) => ({
    toolUse: { toolUseId, name: "read", input: { path } },
  });
  return bedrockReply(
    [
      {
        reasoningContent: { reasoningText: { text: "Read both.", signature: signatureOf(model, "thought") } },
      },
      { reasoningContent: { redactedContent: signatureOf(model, "hidden") } },
      { text: "Let me look." },
      call("tooluse_jQ912rboYgzgLULQpRxWot", "a.png"),
      call("tooluse_sX1A7q9kipz4qAW36LUR1H", "b.png"),
    ],
    "tool_use",
  );
}
