import type {
  ContextItem,
  ContextMessage,
  ImageBlock,
  TextBlock,
  ToolResultMessage,
  UserMessage,
} from "../content/index.js";
import type { ContextEditDraft, MessageEstimator } from "./strategy.js";
import { truncateText, truncateToolResult } from "./truncate.js";

/** Edits by the entry that they change; a later one of the same entry wins. */
export function editsByTarget(edits: readonly ContextEditDraft[]): ReadonlyMap<string, ContextEditDraft> {
  return new Map(edits.map((edit) => [edit.targetId, edit]));
}

/** The item as an edit leaves it, as a session's context shows it; undefined where it is taken out. */
export function applyEdit(item: ContextItem, edit: ContextEditDraft | undefined): ContextItem | undefined {
  if (edit === undefined) return item;
  if (edit.replacement === null) return undefined;
  const { message } = item;
  if (!("content" in message) || message.role === "system") return item;
  return {
    ...item,
    message: { ...message, content: edit.replacement.content } as ContextMessage,
    edited: true,
  };
}

/** An edit that replaces an entry's content. */
export function contentEdit(
  targetId: string,
  content: string | readonly (TextBlock | ImageBlock)[],
): ContextEditDraft {
  return { type: "context_edit", targetId, replacement: { content } };
}

/** An edit that takes an entry out of the context. */
export function omissionEdit(targetId: string): ContextEditDraft {
  return { type: "context_edit", targetId, replacement: null };
}

/** What a tool's result, or what a user said, is cut to where what is kept would not fit otherwise, in tokens. */
export const keptTextTokens = 2_000;

/**
 * Edits that bring what is kept down to `room` tokens: the oldest tool results are cut first, then what users said, each to
 * {@link keptTextTokens} and no further than is needed. Pinned items stay as they are. What is cut stays in the log. As few
 * edits as do, and all there can be where they do not suffice.
 */
export function shrinkingEdits(
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
