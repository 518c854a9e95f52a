import type { Context, ContextItem, CustomMessage } from "../content/index.js";
import type { CompactionPlan, Reinjection, SettledOptions } from "./compaction-plan.js";
import { isInitialContext } from "./initial-context.js";
import { newestUserMessage } from "./turns.js";

/** What is told again, and before which of the retained items; undefined where that is left to the next turn. */
export function reinjected(
  items: readonly ContextItem[],
  retained: readonly number[],
  { initialContext, trigger }: SettledOptions,
): CompactionPlan["initialContext"] {
  if (initialContext === undefined) return undefined;
  const inTurn = trigger === "mid-turn" || trigger === "overflow";
  const mode = initialContext.mode ?? (inTurn ? "before-last-user" : "defer");
  if (mode === "defer") return undefined;
  const at = retained.indexOf(newestUserMessage(items));
  return { content: initialContext.content, at: at < 0 ? retained.length : at };
}

/** What is told again, as the context shows it. */
export function asCustomMessage(content: Reinjection["content"]): CustomMessage {
  return { role: "custom", customType: "", content, display: false, timestamp: 0 };
}

/** Ids of initial contexts that would stay, and are not to. */
export function outdatedContext(
  { items, pins }: Context,
  from: number,
  { initialContext }: SettledOptions,
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
