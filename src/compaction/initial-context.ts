import type { Context, ContextItem, ImageBlock, TextBlock } from "../content/index.js";
import type { EntryDraft } from "../session/index.js";

/** The `customType` of what {@link initialContext} makes. */
export const initialContextType = "sessile.initial_context";

/** The `customType` of a message that tells the model of a switch to it; compaction leaves it out. */
export const modelSwitchType = "sessile.model_switch";

/** A custom message, as an entry to append. */
export type CustomMessageDraft = EntryDraft & { readonly type: "custom_message" };

/**
 * The entry for what a harness tells the model at the beginning, such as instruction files and the environment: a custom
 * message that is marked, so that no compaction summarises it, nor keeps an old one beside a new one.
 *
 * @example
 * ```ts
 * const context = await session.context();
 * if (!hasInitialContext(context)) await session.append([initialContext("AGENTS.md says: run the tests.")]);
 * ```
 */
export function initialContext(content: string | readonly (TextBlock | ImageBlock)[]): CustomMessageDraft {
  return { type: "custom_message", customType: initialContextType, content, display: false };
}

/** Whether the context has its initial context: after a compaction that leaves it to the next turn it has none. */
export function hasInitialContext({ items }: Pick<Context, "items">): boolean {
  return items.some(isInitialContext);
}

/** Whether the item was made by {@link initialContext}. */
export function isInitialContext({ message }: ContextItem): boolean {
  return message.role === "custom" && message.customType === initialContextType;
}

/** Whether the item tells of a switch of models. */
export function isModelSwitch({ message }: ContextItem): boolean {
  return message.role === "custom" && message.customType === modelSwitchType;
}
