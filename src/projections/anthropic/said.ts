import { copyJson } from "../../internal/copy-json.js";
import { isRecord } from "../../internal/shape.js";
import type { CallPart, SaidPart } from "../turns.js";
import { isOpaqueBlock, isReasoning } from "./drops.js";
import { parseLeftover } from "./leftover.js";
import type { AnthropicAssistantBlock, AnthropicCallBlock } from "./types.js";

/**
 * A part as a block. What the API made goes back as it came, with the fields that a session has no place for; undefined for what
 * is no block at all.
 */
export function saidBlock(
  part: SaidPart,
  droppedServerCalls: ReadonlySet<string>,
): AnthropicAssistantBlock | undefined {
  switch (part.type) {
    case "text":
      return { ...parseLeftover(part.signature), type: "text", text: part.text };
    case "reasoning":
      return part.redacted
        ? { type: "redacted_thinking", data: part.signature }
        : { type: "thinking", thinking: part.text, signature: part.signature };
    case "call":
      return callBlock(part, droppedServerCalls);
    case "opaque":
      return isOpaqueBlock(part.data) ? structuredClone(part.data) : undefined;
  }
}

function callBlock(part: CallPart, droppedServerCalls: ReadonlySet<string>): AnthropicCallBlock {
  const { caller, ...rest } = parseLeftover(part.signature);
  const lost =
    isRecord(caller) && typeof caller.tool_id === "string" && droppedServerCalls.has(caller.tool_id);
  return {
    ...rest,
    ...(caller === undefined || lost ? {} : { caller }),
    type: "tool_use",
    id: part.id,
    name: part.name,
    input: copyJson(part.arguments),
  };
}

/** The set of tools that a call is of, which its result has to name. */
export function toolsetOf(part: CallPart): string | undefined {
  const { toolset_name: toolset } = parseLeftover(part.signature);
  return typeof toolset === "string" ? toolset : undefined;
}

/**
 * Parts in which no block of the provider's own tools stands behind a call of the client's: that is refused, though the model
 * puts them so. The calls move behind these blocks. Reasoning keeps its place: if some stands between, nothing moves. Text
 * behind a call is accepted.
 *
 * @see https://github.com/vercel/ai/issues/13013 (stored copy read 2026-11-22)
 */
export function withServerToolsFirst(parts: readonly SaidPart[]): readonly SaidPart[] {
  const first = parts.findIndex(isCall);
  const last = parts.findLastIndex(isServerTool);
  if (first === -1 || last < first) return parts;
  const between = parts.slice(first, last + 1);
  if (between.some(isReasoning)) return parts;
  const calls = between.filter(isCall);
  const others = between.filter((part) => !isCall(part));
  return [...parts.slice(0, first), ...others, ...calls, ...parts.slice(last + 1)];
}

const isCall = ({ type }: SaidPart): boolean => type === "call";

function isServerTool(part: SaidPart): boolean {
  if (part.type !== "opaque" || !isRecord(part.data) || typeof part.data.type !== "string") return false;
  return /^(?:server|mcp)_tool_use$|_tool_result$/.test(part.data.type);
}
