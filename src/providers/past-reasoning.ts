/** Reasoning that is valid only after the same bytes as when it was made, and so stays away in later turns. */

import { isRecord } from "../core/shape.js";
import type { AssistantPart, NeutralRequest, OpaquePart, ReasoningPart } from "./request.js";
import type { RenderTools } from "./target.js";

/**
 * A request without the reasoning of turns that are over, with a loss for each part. A replay policy, a limit or a
 * compaction changes what stood before it.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/preserved-thinking (stored copy, 2026-11-21)
 */
export function withoutPastReasoning(request: NeutralRequest, tools: RenderTools): NeutralRequest {
  const { turns } = request;
  // The user's latest words.
  const current = turns.findLastIndex((turn) => turn.role === "user" && turn.parts.length > 0);
  const reason = "reasoning of an earlier turn, which the API refuses if anything before it has changed";
  const isKept = (part: AssistantPart): boolean => {
    if (!isReasoning(part)) return true;
    tools.reportLoss(part, { code: part.type, by: "policy", reason });
    return false;
  };
  return {
    ...request,
    turns: turns.map((turn, at) =>
      turn.role === "assistant" && at < current ? { ...turn, parts: turn.parts.filter(isKept) } : turn,
    ),
  };
}

const reasoningTypes: ReadonlySet<unknown> = new Set(["thinking", "redacted_thinking", "reasoning"]);

/**
 * Also blocks of Anthropic and parts of the AI SDK that are opaque for a field that a session does not know, and
 * the signed details of OpenRouter's messages.
 */
export function isReasoning(part: AssistantPart): part is ReasoningPart | OpaquePart {
  if (part.type !== "opaque") return part.type === "reasoning";
  if (!isRecord(part.data)) return false;
  const { type, message } = part.data;
  return reasoningTypes.has(type) || (isRecord(message) && "reasoning_details" in message);
}
