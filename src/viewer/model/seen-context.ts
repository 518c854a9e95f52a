/** The context of a reply: the messages that the model saw, and those of the branch that it did not. */

import { estimateMessageTokens } from "../../content/estimate/index.js";
import type { Context, ContextItem } from "../../content/index.js";
import { buildSessionContext } from "../../session/index.js";
import type { SessionModel } from "./session-model.js";
import { contextTokens } from "./timeline.js";

/** An item of a context, with its origin in the session. */
export interface SeenItem {
  /** The entry that it comes from. */
  readonly entryId: string;
  readonly origin: ContextItem["origin"];
  /** The entry that replaced its content. */
  readonly editedBy?: string;
  /** The entry that pinned it. */
  readonly pinnedBy?: string;
  readonly message: ContextItem["message"];
  /** Estimated. */
  readonly tokens: number;
}

/** The context of a reply. */
export interface SeenContext {
  /** The entry at which the context was built. */
  readonly leafId: string | null;
  readonly context: Context;
  readonly items: readonly SeenItem[];
  /** The sum of the items' estimates. */
  readonly estimated: number;
  /** The tokens that the reply itself reports for its request, with tools and instructions. */
  readonly reported: number | undefined;
  /** Messages of the path that are not in the context, oldest first. */
  readonly forgotten: readonly string[];
  /** The compaction in force, if any. */
  readonly compactionId: string | undefined;
}

/**
 * Builds the context that a model saw: before a reply, the one at its parent; at any other entry, the one
 * that the next reply would see.
 */
export function seenContext(model: SessionModel, entryId: string): SeenContext {
  const entry = model.entry(entryId);
  const isReply = entry?.type === "message" && entry.message.role === "assistant";
  const leafId = isReply ? model.parentId(entryId) : entryId;
  const context = buildSessionContext(model, leafId);
  const path = model.pathIds(leafId);
  const by = modelChanges(model, path);
  const pins = new Set(context.pins);
  const items = context.items.map(({ entryId, origin, message, edited }): SeenItem => {
    const editedBy = edited === true ? (by.edits.get(entryId) ?? entryId) : undefined;
    const pinnedBy = pins.has(entryId) ? (by.pins.get(entryId) ?? entryId) : undefined;
    return {
      ...{ entryId, origin, message, tokens: estimateMessageTokens(message) },
      ...(editedBy !== undefined && { editedBy }),
      ...(pinnedBy !== undefined && { pinnedBy }),
    };
  });
  const seen = new Set(items.map(({ entryId }) => entryId));
  return {
    ...{ leafId, context, items },
    estimated: items.reduce((sum, { tokens }) => sum + tokens, 0),
    reported: isReply && entry.message.role === "assistant" ? contextTokens(entry.message.usage) : undefined,
    forgotten: path.filter((id) => model.entry(id)?.type === "message" && !seen.has(id)),
    compactionId: path.findLast((id) => model.entry(id)?.type === "compaction"),
  };
}

/** The last edit and the last pin of each entry on a path. */
function modelChanges(model: SessionModel, path: readonly string[]) {
  const [edits, pins] = [new Map<string, string>(), new Map<string, string>()];
  for (const id of path) {
    const entry = model.entry(id);
    if (entry?.type === "context_edit") edits.set(entry.targetId, id);
    if (entry?.type === "context_pin" && entry.pinned) pins.set(entry.targetId, id);
  }
  return { edits, pins };
}
