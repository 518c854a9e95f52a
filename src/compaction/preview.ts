import type { Context, ContextItem } from "../content/index.js";
import type { CompactionPlan } from "./compaction-plan.js";
import { editedItem, editsByTarget } from "./edited.js";
import { asCustomMessage } from "./reinjection.js";

/**
 * The items of the context that a plan leaves, with this summary. Ids of what is not written yet are empty. The session's own
 * context after the compaction has the same messages in the same order.
 */
export function itemsAfter(
  { items }: Context,
  plan: CompactionPlan,
  summary: string | undefined,
): readonly ContextItem[] {
  const edits = editsByTarget(plan.edits);
  const edited = (item: ContextItem) => editedItem(item, edits.get(item.entryId)) ?? [];
  if (summary === undefined) return items.flatMap(edited);
  const { systemMessage, tokensBefore, retain, keepFrom, initialContext } = plan;
  const head: ContextItem[] = [];
  if (systemMessage !== undefined) head.push({ entryId: "", origin: "system", message: systemMessage });
  const message = { role: "compactionSummary", summary, tokensBefore, timestamp: 0 } as const;
  head.push({ entryId: "", origin: "summary", message });
  const byId = new Map(items.slice(0, keepFrom).map((item) => [item.entryId, item]));
  const retained = retain.flatMap((id): readonly ContextItem[] => {
    const item = byId.get(id);
    return item === undefined ? [] : [{ ...item, origin: "retained" }];
  });
  if (initialContext !== undefined) {
    const { content, at } = initialContext;
    retained.splice(at, 0, { entryId: "", origin: "retained", message: asCustomMessage(content) });
  }
  const tail = items.slice(keepFrom).filter(({ message }) => message.role !== "system");
  return [...head, ...[...retained, ...tail].flatMap(edited)];
}
