import { copyJson } from "../../internal/copy-json.js";
import { isRecord } from "../../internal/shape.js";
import type { CallPart, SaidPart } from "../turns.js";
import { isOpaqueBlock } from "./drops.js";
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
 * Parts with calls at their end, where text stands behind one: that would count as what comes between a call and its result.
 *
 * @see https://github.com/vercel/ai/issues/13013 (stored copy read 2026-11-21)
 */
export function withCallsLast(parts: readonly SaidPart[]): readonly SaidPart[] {
  const last = parts.findLastIndex(isCall);
  if (last === -1 || !parts.slice(last + 1).some(({ type }) => type === "text")) return parts;
  return [...parts.filter((part) => !isCall(part)), ...parts.filter(isCall)];
}

const isCall = ({ type }: SaidPart): boolean => type === "call";
