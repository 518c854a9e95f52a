/** Calls of the provider's own tools, and their results, that cannot be sent back. */

import type { OpaquePart, ResultPart, Turn } from "./request.js";

/** The ids of a provider's own call, or of its result, in a block. */
export interface ServerIds {
  readonly call?: string;
  readonly result?: string;
}

/** A block of a provider-run tool that cannot be sent back. */
interface StrayServerBlock {
  readonly part: OpaquePart;
  /** The call's id. */
  readonly id: string;
  readonly reason: string;
}

/**
 * Calls of the provider's own tools without results, and results without calls. `isOpen` if a call is sent
 * without its result. A call may stay open until
 * the end of the request, across user turns that have only results. Any other user content ends the turn, and
 * the API then refuses the request.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons (stored copy read
 *   2026-11-21)
 */
export function serverCalls(
  turns: readonly Turn[],
  readIds: (data: unknown) => ServerIds,
): { readonly stray: readonly StrayServerBlock[]; readonly isOpen: boolean } {
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
      const { call, result } = readIds(part.data);
      if (call !== undefined) open.set(call, { part, turn: index });
      if (result !== undefined && !open.delete(result)) {
        stray.push({ part, id: result, reason: "a result of the provider's own tool without a call" });
      }
    }
  });
  dropOpen(turns.findLastIndex(({ role }) => role === "assistant"));
  return { stray, isOpen: open.size > 0 };
}

/** Whether part of a result has to follow the results: a failed result is text only. */
function followsResults({ isError, parts }: ResultPart): boolean {
  return isError && parts.some(({ type }) => type !== "text");
}
