import type {
  Context,
  ContextItem,
  CustomMessage,
  ImageBlock,
  SystemMessage,
  TextBlock,
} from "../content/index.js";
import { isRecord } from "../internal/shape.js";
import type { EntryDraft } from "../session/index.js";
import { newestUserIndex } from "./cut-point.js";
import type { CompactionPlan, Reinjection, ResolvedOptions } from "./options.js";

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

/** What is told again, and before which of the retained items; undefined where that is left to the next turn. */
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

/** What is told again, as the context shows it. */
export function customMessageOf(content: Reinjection["content"]): CustomMessage {
  return { role: "custom", customType: "", content, display: false, timestamp: 0 };
}

/** Ids of initial contexts that would stay, and are not to. */
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
    // One that was retained may lie in the range that is kept now.
    if (item.origin === "retained" || (at >= from && initialContext !== undefined))
      outdated.push(item.entryId);
  }
  return outdated;
}

/**
 * The system messages of a context as one, since a compaction would lose those of the part that it summarises: what they say,
 * in order and each text once, the sections as the latest has them, and the tools that were added and not removed. undefined where there is none.
 */
export function foldSystemMessages(items: readonly ContextItem[]): SystemMessage | undefined {
  const messages: SystemMessage[] = [];
  for (const { message } of items) if (message.role === "system") messages.push(message);
  const [first] = messages;
  if (first === undefined || messages.length === 1) return first;
  const content: TextBlock[] = [];
  const said = new Set<string>();
  const sections = new Map<string, string>();
  let tools: readonly unknown[] = [];
  for (const message of messages) {
    const blocks =
      typeof message.content === "string"
        ? [{ type: "text" as const, text: message.content }]
        : message.content;
    for (const block of blocks) {
      // Who says the same at each start means it once.
      if (block.text === "" || said.has(block.text)) continue;
      said.add(block.text);
      content.push(block);
    }
    for (const [name, section] of Object.entries(message.sections ?? {})) {
      if (section === null) sections.delete(name);
      else sections.set(name, section);
    }
    const gone = new Set((message.toolsRemoved ?? []).map(toolName));
    if (gone.size > 0) tools = tools.filter((tool) => !gone.has(toolName(tool)));
    tools = [...tools, ...(message.toolsAdded ?? [])];
  }
  return {
    role: "system",
    content,
    ...(sections.size === 0 ? {} : { sections: Object.fromEntries(sections) }),
    ...(tools.length === 0 ? {} : { toolsAdded: tools }),
    timestamp: (messages.at(-1) as SystemMessage).timestamp,
  };
}

/** What a tool is known by: its name, or the value that stands for it. */
function toolName(tool: unknown): unknown {
  return isRecord(tool) && typeof tool.name === "string" ? tool.name : tool;
}
