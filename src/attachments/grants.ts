import type { ContextMessage, ImageBlock, TextBlock } from "../content/index.js";

/**
 * Messages for a subagent: as they are, but for their attachments, of which it gets none that is not granted by its id.
 * Where one was, a text says that something is not there; neither name nor descriptor goes along, so that the subagent's
 * own log cannot name the bytes. Inline images have no id and are never granted, and `details`, which are for programs
 * and may hold anything, are left out. Text stays as it is: what a summary, a tool or a person wrote there of an attachment,
 * be it a descriptor with its name and id, goes along, though no resource does.
 *
 * @param granted resource ids; default none
 * @example
 * ```ts
 * const { items } = await session.context();
 * const brief = grantResources(items.map((item) => item.message), [screenshot.resourceId]);
 * const context = contextOf(brief);
 * ```
 */
export function grantResources(
  messages: readonly ContextMessage[],
  granted: readonly string[] = [],
): readonly ContextMessage[] {
  const ids = new Set(granted);
  return messages.map((message) => {
    if (!("content" in message)) return message;
    const { details: _, ...shown } = message as typeof message & { readonly details?: unknown };
    if (typeof message.content === "string") return shown as ContextMessage;
    const content = (message.content as readonly (TextBlock | ImageBlock)[]).map((block) => {
      const isOpen =
        block.type === "text" && (block.resource === undefined || ids.has(block.resource.resourceId));
      const isAttachment = block.type === "image" || block.type === "text";
      return isOpen || !isAttachment ? block : withheld;
    });
    return { ...shown, content } as ContextMessage;
  });
}

const withheld: TextBlock = { type: "text", text: "[an attachment that was not passed on]" };
