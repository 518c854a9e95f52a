/**
 * The messages that a compaction makes anew instead of summarising them: initial context and system messages.
 */
import type {
  Context,
  ContextItem,
  CustomMessage,
  ImageBlock,
  SystemMessage,
  TextBlock,
} from "../content/index.js";
import { toolsAfter } from "../content/internal.js";
import type { EntryDraft } from "../session/index.js";
import { newestUserIndex } from "./cut-point.js";
import type { CompactionPlan, Reinjection, ResolvedOptions } from "./options.js";

/** The `customType` of an entry of {@link initialContext}. */
const initialContextType = "sessile.initial_context";

/** The `customType` of a message that tells the model of a model switch. */
const modelSwitchType = "sessile.model_switch";

/** A custom message as an entry to append. */
export type CustomMessageDraft = EntryDraft & { readonly type: "custom_message" };

/**
 * The entry for the initial context of a harness, such as instruction files and the environment. It is a
 * custom message with a type of its own, by which compactions recognise it.
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

/**
 * Whether the context has its initial context. After a compaction with `mode: "defer"` it has none until the
 * next turn.
 */
export function hasInitialContext({ items }: Pick<Context, "items">): boolean {
  return items.some(isInitialContext);
}

/** Whether {@link initialContext} made the item. */
export function isInitialContext({ message }: ContextItem): boolean {
  return message.role === "custom" && message.customType === initialContextType;
}

/** Whether the item tells the model of a model switch. */
export function isModelSwitch({ message }: ContextItem): boolean {
  return message.role === "custom" && message.customType === modelSwitchType;
}

/**
 * Whether a summary covers the item: system messages and initial context are made anew, and `skip` excludes
 * others.
 */
export function isSummarizable(item: ContextItem, skip: (item: ContextItem) => boolean): boolean {
  return item.message.role !== "system" && !isInitialContext(item) && !skip(item);
}

/**
 * The initial context to inject and its index in the retained items; undefined if the next turn injects it.
 */
export function planReinjection(
  items: readonly ContextItem[],
  retained: readonly number[],
  { initialContext, trigger }: ResolvedOptions,
): CompactionPlan["initialContext"] {
  if (initialContext === undefined) return undefined;
  const inTurn = trigger === "mid-turn" || trigger === "overflow";
  const mode = initialContext.mode ?? (inTurn ? "before-last-user" : "defer");
  if (mode === "defer") return undefined;
  const at = retained.indexOf(newestUserIndex(items));
  return { content: initialContext.content, at: at < 0 ? retained.length : at };
}

/** The injected content as a message, for estimates. */
export function toCustomMessage(content: Reinjection["content"]): CustomMessage {
  return { role: "custom", customType: "", content, display: false, timestamp: 0 };
}

/** Ids of initial contexts that would stay although they are replaced or already summarised. */
export function outdatedInitialContexts(
  { items, pins }: Context,
  from: number,
  { initialContext }: ResolvedOptions,
): readonly string[] {
  const pinned = new Set(pins);
  const outdated: string[] = [];
  for (let at = 0; at < items.length; at++) {
    const item = items[at] as ContextItem;
    if (!isInitialContext(item) || pinned.has(item.entryId)) continue;
    // A retained one may lie in the range that is kept now.
    if (item.origin === "retained" || (at >= from && initialContext !== undefined))
      outdated.push(item.entryId);
  }
  return outdated;
}

/**
 * Folds the system messages of a context into one, because a compaction drops those of the range that it
 * summarises. Texts are in order without repetition, each section as its latest message has it, tools added
 * and not removed. Undefined if there is none.
 */
export function foldSystemMessages(items: readonly ContextItem[]): SystemMessage | undefined {
  const messages: SystemMessage[] = [];
  for (const { message } of items) if (message.role === "system") messages.push(message);
  const [first] = messages;
  if (first === undefined || messages.length === 1) return first;
  const content: TextBlock[] = [];
  const seen = new Set<string>();
  const sections = new Map<string, string>();
  let tools: readonly unknown[] = [];
  for (const message of messages) {
    const blocks =
      typeof message.content === "string"
        ? [{ type: "text" as const, text: message.content }]
        : message.content;
    for (const block of blocks) {
      // A harness that repeats its instructions at each start means them once.
      if (block.text === "" || seen.has(block.text)) continue;
      seen.add(block.text);
      content.push(block);
    }
    for (const [name, section] of Object.entries(message.sections ?? {})) {
      if (section === null) sections.delete(name);
      else sections.set(name, section);
    }
    tools = toolsAfter(tools, message);
  }
  return {
    role: "system",
    content,
    ...(sections.size === 0 ? {} : { sections: Object.fromEntries(sections) }),
    ...(tools.length === 0 ? {} : { toolsAdded: tools }),
    timestamp: (messages.at(-1) as SystemMessage).timestamp,
  };
}
