/** The context of a reply: the messages that the model saw, and those of the branch that it did not. */

import type { Context, ContextItem } from "../../content/index.js";
import { estimateMessageTokens } from "../../estimate/index.js";
import { buildSessionContext } from "../../session/index.js";
import type { SessionModel } from "./session-model.js";
import { contextTokens } from "./timeline.js";

/** An item of a context, with its origin in the session. */
export interface SeenItem {
  /** The entry that it comes from. */
  readonly entryId: string;
  readonly origin: ContextItem["origin"];
  readonly edited: boolean;
  readonly pinned: boolean;
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
  const pins = new Set(context.pins);
  const items = context.items.map(({ entryId, origin, message, edited }) => ({
    ...{ entryId, origin, message },
    edited: edited === true,
    pinned: pins.has(entryId),
    tokens: estimateMessageTokens(message),
  }));
  const seen = new Set(items.map(({ entryId }) => entryId));
  const path = model.pathIds(leafId);
  return {
    ...{ leafId, context, items },
    estimated: items.reduce((sum, { tokens }) => sum + tokens, 0),
    reported: isReply && entry.message.role === "assistant" ? contextTokens(entry.message.usage) : undefined,
    forgotten: path.filter((id) => model.entry(id)?.type === "message" && !seen.has(id)),
    compactionId: path.findLast((id) => model.entry(id)?.type === "compaction"),
  };
}
