import { isRecord } from "../../internal/shape.js";
import type { OpaquePart, ResultPart, Turn } from "../turns.js";

/** A block of a tool that the provider runs, which cannot go back as things are. */
export interface StrayServerBlock {
  readonly part: OpaquePart;
  /** The call's id. */
  readonly id: string;
  readonly reason: string;
}

/**
 * Calls of the provider's own tools without their results, and the other way round. A call may be open while its turn is: to the
 * end of the request, over user turns that have nothing but results. What else the user's side shows ends the turn, and then
 * the request is refused for it.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons (stored copy read 2026-11-21)
 */
export function strayServerBlocks(turns: readonly Turn[]): readonly StrayServerBlock[] {
  const stray: StrayServerBlock[] = [];
  const open = new Map<string, { readonly part: OpaquePart; readonly turn: number }>();
  const dropOpen = (before: number) => {
    for (const [id, { part, turn }] of open) {
      if (turn >= before) continue;
      stray.push({ part, id, reason: "a call of the provider's own tool that has no result" });
      open.delete(id);
    }
  };
  turns.forEach((turn, index) => {
    if (turn.role === "user") {
      if (turn.parts.length > 0 || turn.results.some(showsBehind)) dropOpen(index);
      return;
    }
    for (const part of turn.parts) {
      if (part.type !== "opaque") continue;
      const { call, result } = idsOf(part.data);
      if (call !== undefined) open.set(call, { part, turn: index });
      if (result !== undefined && !open.delete(result)) {
        stray.push({ part, id: result, reason: "a result of the provider's own tool that nothing called" });
      }
    }
  });
  dropOpen(turns.findLastIndex(({ role }) => role === "assistant"));
  return stray;
}

/** Whether something of a result has to stand behind the results: one that failed is text only. */
function showsBehind({ isError, parts }: ResultPart): boolean {
  return isError && parts.some(({ type }) => type !== "text");
}

function idsOf(data: unknown): { readonly call?: string; readonly result?: string } {
  if (!isRecord(data) || typeof data.type !== "string") return {};
  const { type, id, tool_use_id: of } = data;
  if ((type === "server_tool_use" || type === "mcp_tool_use") && typeof id === "string") return { call: id };
  return type.endsWith("_tool_result") && typeof of === "string" ? { result: of } : {};
}
