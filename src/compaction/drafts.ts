import type { Context, Usage } from "../content/index.js";
import { randomHex8 } from "../internal/ids.js";
import type { EntryDraft } from "../session/index.js";
import type { CompactionPlan } from "./compaction-plan.js";
import { initialContext } from "./initial-context.js";
import { ledgerDetails } from "./ledger/index.js";

/** What a summary is, and where it came from. */
export interface WrittenSummary {
  readonly text: string;
  /** A hook gave it. */
  readonly fromHook: boolean;
  readonly usage?: Usage;
  readonly model?: { readonly provider: string; readonly modelId: string };
}

/**
 * The entries that a plan comes to, for one batch: what is told again, edits, and last the compaction, so that whatever of them
 * a torn end takes away, what is left is whole.
 */
export function compactionDrafts(
  context: Context,
  plan: CompactionPlan,
  summary: WrittenSummary | undefined,
): readonly EntryDraft[] {
  if (summary === undefined) return plan.edits;
  const id = randomHex8();
  const retain = [...plan.retain];
  const drafts: EntryDraft[] = [];
  if (plan.initialContext !== undefined) {
    const told = { ...initialContext(plan.initialContext.content), id: randomHex8() };
    retain.splice(plan.initialContext.at, 0, told.id);
    drafts.push(told);
  }
  const { usage, model, fromHook, text } = summary;
  const { systemMessage, strategy, tokensBefore, files, resources } = plan;
  for (const edit of plan.edits) drafts.push(edit);
  drafts.push({
    type: "compaction",
    id,
    summary: text,
    firstKeptEntryId: firstKept(context, plan.keepFrom) ?? id,
    tokensBefore,
    details: { ...ledgerDetails(files), ...(resources.length === 0 ? {} : { resources }) },
    ...(fromHook ? { fromHook } : {}),
    ...(usage === undefined ? {} : { usage }),
    ...(systemMessage === undefined ? {} : { systemMessage }),
    ...(retain.length === 0 ? {} : { retain }),
    strategy,
    ...(model === undefined ? {} : { model }),
  });
  return drafts;
}

/** The first entry that stays where it is: an item's, or that of a view right before it or at the end, which would be lost otherwise. */
function firstKept({ items, views }: Context, keepFrom: number): string | undefined {
  return views.find((view) => view.item === keepFrom)?.entryId ?? items[keepFrom]?.entryId;
}
