/** Blocks of earlier replies that the Messages API refuses, to be dropped. */

import { isRecord } from "../../core/shape.js";
import { isReasoning } from "../past-reasoning.js";
import type { AssistantPart, Part, Turn } from "../request.js";
import { type ServerIds, serverCalls } from "../server-calls.js";
import type { RenderTools } from "../target.js";
import type { AnthropicOpaqueBlock } from "./types.js";

/** The model's own blocks that cannot be sent back. */
export interface Drops {
  readonly parts: ReadonlySet<Part>;
  /** Ids of omitted calls of the provider's own tools, which other calls may name as their caller. */
  readonly serverCalls: ReadonlySet<string>;
  /** Whether a call of the provider's own tool is sent without its result, which is still to come. */
  readonly hasOpenServerCalls: boolean;
}

/** Decides which blocks to leave out, and reports each as a loss. */
export function findDrops(turns: readonly Turn[], tools: RenderTools): Drops {
  const parts = new Set<Part>();
  const assistantParts = turns.flatMap((turn) => (turn.role === "assistant" ? turn.parts : []));
  for (const part of assistantParts) {
    if (part.type !== "opaque" || isOpaqueBlock(part.data)) continue;
    parts.add(part);
    tools.reportLoss(part, {
      code: "opaque",
      by: "history",
      reason: "the data is no block of an assistant message",
    });
  }
  const { stray, isOpen } = serverCalls(turns, readIds);
  for (const { part, reason } of stray) {
    parts.add(part);
    tools.reportLoss(part, { code: "opaque", by: "history", reason });
  }
  for (const turn of turns) {
    if (turn.role === "assistant") dropTrailingReasoning(turn.parts, parts, tools);
  }
  return { parts, serverCalls: new Set(stray.map(({ id }) => id)), hasOpenServerCalls: isOpen };
}

/**
 * Block types that a session represents itself, or that an assistant message never has. An opaque block of
 * such a type is malformed, so the API would refuse it.
 */
const neverOpaque = new Set(["", "text", "tool_use", "tool_result", "image", "document", "search_result"]);

/** Whether a value can be a block of the model's: which types there are besides, the provider knows. */
export function isOpaqueBlock(data: unknown): data is AnthropicOpaqueBlock {
  if (!isRecord(data) || typeof data.type !== "string" || neverOpaque.has(data.type)) return false;
  return data.type !== "thinking" || (typeof data.signature === "string" && data.signature !== "");
}

/**
 * The API refuses a message that ends with reasoning, also if the blocks after it were left out.
 *
 * @see https://github.com/tailcallhq/forgecode/issues/2107 (stored copy read 2026-11-21)
 */
function dropTrailingReasoning(
  parts: readonly AssistantPart[],
  dropped: Set<Part>,
  tools: RenderTools,
): void {
  for (const part of parts.filter((one) => !dropped.has(one)).reverse()) {
    if (!isReasoning(part)) return;
    dropped.add(part);
    tools.reportLoss(part, { code: part.type, by: "target", reason: "reasoning at the end of the message" });
  }
}

/** The ids of the provider's own call or result in a block. */
export function readIds(data: unknown): ServerIds {
  if (!isRecord(data) || typeof data.type !== "string") return {};
  const { type, id, tool_use_id: of } = data;
  if ((type === "server_tool_use" || type === "mcp_tool_use") && typeof id === "string") return { call: id };
  return type.endsWith("_tool_result") && typeof of === "string" ? { result: of } : {};
}
