import type { ContextItem, ContextMessage, ImageBlock, TextBlock } from "../content/index.js";
import type { ContextEditDraft } from "./strategy.js";

/** Edits by the entry that they change; a later one of the same entry wins. */
export function editsByTarget(edits: readonly ContextEditDraft[]): ReadonlyMap<string, ContextEditDraft> {
  return new Map(edits.map((edit) => [edit.targetId, edit]));
}

/** The item as an edit leaves it, as a session's context shows it; undefined where it is taken out. */
export function editedItem(item: ContextItem, edit: ContextEditDraft | undefined): ContextItem | undefined {
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
export function omission(targetId: string): ContextEditDraft {
  return { type: "context_edit", targetId, replacement: null };
}
