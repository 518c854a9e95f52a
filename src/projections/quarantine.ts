import { type Context, type ContextMessage, describeResource, type Resource } from "../content/index.js";
import type { EntryDraft } from "../session/index.js";

/** A place that is to leave the context. */
export interface QuarantinePlace {
  readonly entryId: string;
  /** Index among the blocks of the message; absent for the whole message. */
  readonly block?: number;
}

/**
 * The drafts of context edits that take places out of a context, with words in their stead: append them, and
 * the next projection goes without. A block leaves alone where its message can be edited, and was not left
 * out before; else the whole message does, and a tool call takes its result along. The history keeps
 * everything: writing the content back restores it. Places that the context does not hold are left out.
 *
 * @param reason in words, to be read by the model; default `the provider refused it`
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

/**
 * The same with the names and ids of attachments in the words that stand for them, which no boundary is asked
 * about later.
 */
export function quarantineNamed(
  context: Pick<Context, "items">,
  places: readonly QuarantinePlace[],
): readonly EntryDraft[] {
  return editsWithout(context, places, refusedReason, true);
}

const refusedReason = "the provider refused it";

/** Whether a block stands for an attachment that a provider refused, whether or not its words have a name. */
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

/** Undefined where the message cannot be edited by blocks. */
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
      // What stands for a block was refused as well: once more would change nothing.
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
 * Without name and id of an attachment but where the caller has no boundary: none is asked about these words
 * from now on.
 */
function leftOut({ type, resource }: AnyBlock, reason: string, named: boolean): string {
  if (named && resource !== undefined) return `${describeResource(resource)} (left out: ${reason})`;
  return `[${resource?.kind ?? type}] (left out: ${reason})`;
}

function isLeftOut({ type, text = "", resource }: AnyBlock): boolean {
  return type === "text" && resource === undefined && /^\[\w.*\] \(left out: .*\)$/s.test(text);
}
