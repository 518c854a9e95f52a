/** Drafts of context edits that exclude refused content from later requests. */

import { type Context, type ContextMessage, describeResource, type Resource } from "../content/index.js";
import type { EntryDraft } from "../session/index.js";

/** A block or message to exclude from the context. */
export interface QuarantinePlace {
  readonly entryId: string;
  /** Index among the blocks of the message; absent for the whole message. */
  readonly block?: number;
}

/**
 * Makes drafts of context edits that replace blocks by placeholders: append them, and the next projection
 * excludes the content. Excludes a single block if its message can be edited and the block was not excluded
 * before, otherwise the whole message; a tool call takes its result along. The log keeps the content, and a
 * later edit can restore it. Ignores places outside the context.
 * @param reason in words for the model. @default "the provider refused it"
 * @example
 * ```ts
 * const context = await session.context();
 * const [first] = context.items;
 * if (first) await session.append(quarantine(context, [{ entryId: first.entryId, block: 1 }]));
 * ```
 */
export function quarantine(
  context: Pick<Context, "items">,
  places: readonly QuarantinePlace[],
  reason = refusedReason,
): readonly EntryDraft[] {
  return editsWithout(context, places, reason, false);
}

/** The same, with names and ids of attachments in the placeholders, which no boundary checks later. */
export function quarantineNamed(
  context: Pick<Context, "items">,
  places: readonly QuarantinePlace[],
): readonly EntryDraft[] {
  return editsWithout(context, places, refusedReason, true);
}

/** A context with the content of drafts of context edits. */
export function withDrafts(
  context: Pick<Context, "items">,
  drafts: readonly EntryDraft[],
): Pick<Context, "items"> {
  if (drafts.length === 0) return context;
  const contents = new Map(
    drafts.flatMap((draft) =>
      draft.type === "context_edit" && draft.replacement !== null
        ? [[draft.targetId, draft.replacement.content] as const]
        : [],
    ),
  );
  const items = context.items.map((item) => {
    const content = contents.get(item.entryId);
    return content === undefined
      ? item
      : { ...item, message: { ...item.message, content } as ContextMessage };
  });
  return { items };
}

const refusedReason = "the provider refused it";

/** Whether a block is the placeholder of a refused attachment, with or without a name. */
export function isRefused(block: unknown): boolean {
  const { type, text = "", resource } = block as AnyBlock;
  return type === "text" && resource === undefined && text.endsWith(` (left out: ${refusedReason})`);
}

function editsWithout(
  context: Pick<Context, "items">,
  places: readonly QuarantinePlace[],
  reason: string,
  named: boolean,
): readonly EntryDraft[] {
  const blocks = new Map<string, Set<number | undefined>>();
  for (const { entryId, block } of places) {
    blocks.set(entryId, (blocks.get(entryId) ?? new Set()).add(block));
  }
  const edited = new Set<string>();
  return context.items.flatMap(({ entryId, message }): EntryDraft[] => {
    const wanted = blocks.get(entryId);
    if (wanted === undefined || edited.has(entryId)) return [];
    edited.add(entryId);
    const content = wanted.has(undefined) ? undefined : contentWithout(message, wanted, reason, named);
    return [
      {
        type: "context_edit",
        targetId: entryId,
        replacement: content === undefined ? null : { content },
      },
    ];
  });
}

/** Returns undefined if the message cannot be edited by blocks. */
function contentWithout(
  message: ContextMessage,
  wanted: ReadonlySet<number | undefined>,
  reason: string,
  named: boolean,
): readonly unknown[] | undefined {
  switch (message.role) {
    case "user":
    case "assistant":
    case "toolResult":
    case "custom": {
      if (typeof message.content === "string") return undefined;
      // The placeholder itself was refused: another edit would change nothing.
      if (message.content.some((block, index) => wanted.has(index) && isLeftOut(block))) return undefined;
      return message.content.map((block, index) =>
        wanted.has(index) ? { type: "text", text: leftOut(block, reason, named) } : block,
      );
    }
    default:
      return undefined;
  }
}

interface AnyBlock {
  readonly type: string;
  readonly text?: string;
  readonly resource?: Resource;
}

/**
 * The placeholder of a block. Contains name and id of an attachment only if the caller has no boundary,
 * because no boundary checks the text later.
 */
function leftOut({ type, resource }: AnyBlock, reason: string, named: boolean): string {
  if (named && resource !== undefined) return `${describeResource(resource)} (left out: ${reason})`;
  return `[${resource?.kind ?? type}] (left out: ${reason})`;
}

function isLeftOut({ type, text = "", resource }: AnyBlock): boolean {
  return (
    type === "text" &&
    resource === undefined &&
    /^\[\w/.test(text) &&
    text.indexOf("] (left out: ", 2) > 0 &&
    text.endsWith(")")
  );
}
