/** Blocks of earlier replies that the Messages API refuses, to be dropped. */

import { isRecord } from "../../internal/shape.js";
import type { AssistantPart, OpaquePart, Part, ReasoningPart, ResultPart, Turn } from "../request.js";
import type { RenderTools } from "../target.js";
import type { AnthropicOpaqueBlock } from "./types.js";

/** The model's own blocks that cannot be sent back. */
export interface Drops {
  readonly parts: ReadonlySet<Part>;
  /** Ids of omitted calls of the provider's own tools, which other calls may name as their caller. */
  readonly serverCalls: ReadonlySet<string>;
}

/** Decides which blocks to leave out, and reports each as a loss. */
export function findDrops(turns: readonly Turn[], currentReasoningOnly: boolean, tools: RenderTools): Drops {
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
  const stray = strayServerBlocks(turns);
  for (const { part, reason } of stray) {
    parts.add(part);
    tools.reportLoss(part, { code: "opaque", by: "history", reason });
  }
  const serverCalls = new Set(stray.map(({ id }) => id));
  const over = currentReasoningOnly ? turns.slice(0, currentTurn(turns)) : [];
  for (const part of over.flatMap(reasoningIn)) {
    if (parts.has(part)) continue;
    parts.add(part);
    const reason = "reasoning of an earlier turn, which the API refuses if anything before it has changed";
    tools.reportLoss(part, { code: part.type, by: "policy", reason });
  }
  for (const turn of turns) {
    if (turn.role === "assistant") dropTrailingReasoning(turn.parts, parts, tools);
  }
  return { parts, serverCalls };
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

/** The index of the user's latest words. */
function currentTurn(turns: readonly Turn[]): number {
  return Math.max(
    0,
    turns.findLastIndex((turn) => turn.role === "user" && turn.parts.length > 0),
  );
}

function reasoningIn(turn: Turn): readonly (ReasoningPart | OpaquePart)[] {
  return turn.role === "assistant" ? turn.parts.filter(isReasoning) : [];
}

/** Also opaque reasoning blocks, which have fields that a session does not represent. */
export function isReasoning(part: AssistantPart): part is ReasoningPart | OpaquePart {
  if (part.type !== "opaque") return part.type === "reasoning";
  return isRecord(part.data) && (part.data.type === "thinking" || part.data.type === "redacted_thinking");
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

/** A block of a provider-run tool that cannot be sent back. */
export interface StrayServerBlock {
  readonly part: OpaquePart;
  /** The call's id. */
  readonly id: string;
  readonly reason: string;
}

/**
 * Calls of the provider's own tools without results, and results without calls. A call may stay open until
 * the end of the request, across user turns that have only results. Any other user content ends the turn, and
 * the API then refuses the request.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons (stored copy read
 *   2026-11-21)
 */
export function strayServerBlocks(turns: readonly Turn[]): readonly StrayServerBlock[] {
  const stray: StrayServerBlock[] = [];
  const open = new Map<string, { readonly part: OpaquePart; readonly turn: number }>();
  const dropOpen = (before: number) => {
    for (const [id, { part, turn }] of open) {
      if (turn >= before) continue;
      stray.push({ part, id, reason: "a call of the provider's own tool without a result" });
      open.delete(id);
    }
  };
  turns.forEach((turn, index) => {
    if (turn.role === "user") {
      if (turn.parts.length > 0 || turn.results.some(followsResults)) dropOpen(index);
      return;
    }
    for (const part of turn.parts) {
      if (part.type !== "opaque") continue;
      const { call, result } = idsOf(part.data);
      if (call !== undefined) open.set(call, { part, turn: index });
      if (result !== undefined && !open.delete(result)) {
        stray.push({ part, id: result, reason: "a result of the provider's own tool without a call" });
      }
    }
  });
  dropOpen(turns.findLastIndex(({ role }) => role === "assistant"));
  return stray;
}

/** Whether part of a result has to follow the results: a failed result is text only. */
function followsResults({ isError, parts }: ResultPart): boolean {
  return isError && parts.some(({ type }) => type !== "text");
}

function idsOf(data: unknown): { readonly call?: string; readonly result?: string } {
  if (!isRecord(data) || typeof data.type !== "string") return {};
  const { type, id, tool_use_id: of } = data;
  if ((type === "server_tool_use" || type === "mcp_tool_use") && typeof id === "string") return { call: id };
  return type.endsWith("_tool_result") && typeof of === "string" ? { result: of } : {};
}
