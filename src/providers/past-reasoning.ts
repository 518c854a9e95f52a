/** Reasoning of a model among the parts of its replies, and the rule that only the current turn's goes back. */

import { isRecord } from "../core/shape.js";
import type { LossList } from "./losses.js";
import type { AssistantPart, NeutralRequest, OpaquePart, ReasoningPart } from "./request.js";

/** A request without the reasoning of turns that are over, with a loss for each part. */
export function withoutPastReasoning(request: NeutralRequest, losses: LossList): NeutralRequest {
  const { turns } = request;
  // The user's latest words.
  const current = turns.findLastIndex((turn) => turn.role === "user" && turn.parts.length > 0);
  const reason = "reasoning of an earlier turn, which the target leaves out";
  const isKept = (part: AssistantPart): boolean => {
    if (!isReasoning(part)) return true;
    losses.add(part.origin, { code: part.type, by: "policy", reason });
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
