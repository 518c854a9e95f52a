/** Why a reply ended: the words of all protocols for it, in one table. */
import type { AssistantMessage, StopReason } from "../content/index.js";

/** The members of a message that say how its reply ended. */
export type ReplyEnding = Pick<AssistantMessage, "errorMessage" | "refused"> & {
  readonly stopReason: StopReason;
};

/** An end; `refused` if the model, a filter or a guardrail declined what was asked or answered. */
type End = "stop" | "length" | "toolUse" | "pause" | "refused" | "error";

/**
 * The words of Anthropic, OpenAI, Gemini and its Interactions, Converse, the AI SDK, Mistral (`model_length`) and Z.AI (`sensitive`).
 * The AI SDK too counts a recitation as filtered. A reply with any other word of Gemini, Converse or Chat failed.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons,
 *   https://ai.google.dev/api/generate-content#FinishReason (stored copies, 2026-11-28); the types of openai 7.59,
 *   @google/genai 3.3 and client-bedrock-runtime 3.1164
 */
const words: Readonly<Record<End, string>> = {
  stop: "stop end_turn stop_sequence STOP completed",
  length:
    "length max_tokens model_context_window_exceeded model_length MAX_TOKENS CONTINUATION incomplete budget_exceeded",
  toolUse: "tool_use tool_calls tool-calls function_call requires_action",
  // The message is sent back unchanged, and the API continues it.
  pause: "pause_turn compaction requires_continuation",
  refused:
    "refusal content_filter content-filter content_filtered guardrail_intervened sensitive SAFETY RECITATION " +
    "BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION MODEL_ARMOR CONTENT_BLOCKED",
  error: "error failed",
};

/** The end that a provider's word means; undefined for an unknown one. */
export function replyEnd(word: unknown): End | undefined {
  return (Object.keys(words) as End[]).find((end) => words[end].split(" ").some((one) => one === word));
}

/** An end as members of the message. @param errorMessage of an end that is an error */
export function replyEnding(end: End, errorMessage: string): ReplyEnding {
  if (end === "refused") return { stopReason: "error", errorMessage, refused: true };
  return end === "error" ? { stopReason: "error", errorMessage } : { stopReason: end };
}
