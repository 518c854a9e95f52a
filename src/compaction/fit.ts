import type { ContextItem, ToolResultMessage, UserMessage } from "../content/index.js";
import { contentEdit } from "./edited.js";
import type { ContextEditDraft, MessageEstimator } from "./strategy.js";
import { truncateText, truncateToolResult } from "./truncate.js";

/** What a tool's result, or what a user said, is cut to where what is kept would not fit otherwise, in tokens. */
export const keptTextTokens = 2_000;

/**
 * Edits that bring what is kept down to `room` tokens: the oldest tool results are cut first, then what users said, each to
 * {@link keptTextTokens} and no further than is needed. Pinned items stay as they are. What is cut stays in the log. As few
 * edits as do, and all there can be where they do not suffice.
 */
export function fittingEdits(
  kept: readonly ContextItem[],
  pinned: ReadonlySet<string>,
  tokens: number,
  room: number,
  estimate: MessageEstimator,
): readonly ContextEditDraft[] {
  const edits: ContextEditDraft[] = [];
  let left = tokens;
  for (const role of ["toolResult", "user"] as const) {
    for (const { entryId, message } of kept) {
      if (left <= room) return edits;
      if (message.role !== role || pinned.has(entryId)) continue;
      const cut = cutMessage(message);
      if (cut === message) continue;
      left -= estimate(message) - estimate(cut);
      edits.push(contentEdit(entryId, cut.content));
    }
  }
  return edits;
}

function cutMessage<M extends UserMessage | ToolResultMessage>(message: M): M {
  const bound = { maxTokens: keptTextTokens };
  const { content } = message;
  if (typeof content === "string") {
    const text = truncateText(content, bound);
    return text === content ? message : { ...message, content: text };
  }
  const asResult: ToolResultMessage = {
    role: "toolResult",
    toolCallId: "",
    toolName: "",
    content,
    isError: false,
    timestamp: 0,
  };
  const cut = truncateToolResult(asResult, bound);
  return cut === asResult ? message : { ...message, content: cut.content };
}
