/** Writes a compaction as one batch of entries, or nothing. */

import type { Context } from "../content/index.js";
import { SessileError } from "../core/errors/index.js";
import { uniqueHex8 } from "../core/ids.js";
import type { EntryDraft, SessionEntry } from "../session/index.js";
import { ledgerDetails } from "./file-ledger/details.js";
import { initialContext } from "./initial-context.js";
import type { GeneratedSummary, WrittenSummary } from "./make-summary.js";
import type { CompactableSession, CompactionPlan, ResolvedCompactOptions } from "./options.js";
import { enforceInvariants, type PlannedChoice } from "./plan.js";
import type { RecordedSize } from "./triggers.js";
import { verify } from "./verify.js";

/** A verified compaction and the leaf that it was made for. */
export interface PreparedCompaction extends PlannedChoice, GeneratedSummary {
  readonly leafId: string | null;
  readonly context: Context;
  /** How many compactions right before this one freed too little. */
  readonly withoutGain: number;
}

/** The entries of a compaction that was written. */
export interface WrittenCompaction {
  readonly entries: readonly SessionEntry[];
  readonly tokensAfter: number;
}

/** How often a plan is rebased onto entries that were appended meanwhile. */
const maxRebases = 8;

/**
 * Appends a compaction in one batch after the leaf that it was made for. If the session's own leaf advanced
 * meanwhile, plans the same choice in the new context and keeps the new entries.
 *
 * @throws SessileError CONCURRENT_WRITER if the leaf moved to another branch, another writer appended, or the
 *   new entries leave no room
 */
export async function writeCompaction(
  session: CompactableSession,
  prepared: PreparedCompaction,
  options: ResolvedCompactOptions,
  signal: AbortSignal,
): Promise<WrittenCompaction> {
  let current = prepared;
  for (let rebases = 0; ; rebases++) {
    const { context, plan, summary, tokensAfter, withoutGain } = current;
    const size = { messages: tokensAfter, overhead: plan.overhead, withoutGain };
    const drafts = compactionDrafts(context, plan, summary, size);
    try {
      const entries = await session.append(drafts, { after: current.leafId, signal });
      return { entries, tokensAfter: tokensAfter + plan.overhead };
    } catch (error) {
      if (!SessileError.is(error, "CONCURRENT_WRITER") || rebases >= maxRebases) throw error;
      const rebased = await rebase(session, current, options);
      if (rebased === undefined) throw error;
      current = rebased;
    }
  }
}

/**
 * Plans the same choice at the session's leaf; undefined if the context did not grow in place or the result
 * does not fit.
 */
async function rebase(
  session: CompactableSession,
  prepared: PreparedCompaction,
  options: ResolvedCompactOptions,
): Promise<PreparedCompaction | undefined> {
  // Flushes entries that wait to be written.
  await session.append([]);
  const { leafId } = session;
  if (leafId === prepared.leafId) return undefined;
  const context = await session.context(leafId);
  if (!isContinuation(prepared.context, context)) return undefined;
  const { overhead } = prepared.plan;
  const planned = enforceInvariants(context, prepared.choice, { ...options, overhead }, prepared.isMinimal);
  if (planned === undefined) return undefined;
  // The boundary allowed these resources.
  const plan = { ...planned, resources: prepared.plan.resources };
  const { tokensAfter, shortfall } = await verify(context, plan, prepared.summary?.text, options);
  return shortfall === undefined ? { ...prepared, leafId, context, plan, tokensAfter } : undefined;
}

/** Whether `after` is `before` with items appended. */
function isContinuation(before: Context, after: Context): boolean {
  return (
    before.usageSince === after.usageSince &&
    before.items.length <= after.items.length &&
    before.items.every(({ entryId, origin }, at) => {
      const item = after.items[at];
      return item?.entryId === entryId && item.origin === origin;
    })
  );
}

/**
 * The entries of a plan, for one batch: initial context, edits, and the compaction last. If a crash tears the
 * batch, the entries before the torn one are valid without the rest.
 */
export function compactionDrafts(
  context: Context,
  plan: CompactionPlan,
  summary: WrittenSummary | undefined,
  size: RecordedSize,
): readonly EntryDraft[] {
  if (summary === undefined) return plan.edits;
  const id = uniqueHex8();
  const retain = [...plan.retain];
  const drafts: EntryDraft[] = [];
  if (plan.initialContext !== undefined) {
    const injected = { ...initialContext(plan.initialContext.content), id: uniqueHex8() };
    retain.splice(plan.initialContext.at, 0, injected.id);
    drafts.push(injected);
  }
  const { usage, model, fromHook, text } = summary;
  const { systemMessage, strategy, tokensBefore, files, resources } = plan;
  for (const edit of plan.edits) drafts.push(edit);
  drafts.push({
    type: "compaction",
    id,
    summary: text,
    firstKeptEntryId: firstKeptId(context, plan.keepFrom) ?? id,
    tokensBefore,
    details: { ...ledgerDetails(files), ...(resources.length === 0 ? {} : { resources }), size },
    ...(fromHook ? { fromHook } : {}),
    ...(usage === undefined ? {} : { usage }),
    ...(systemMessage === undefined ? {} : { systemMessage }),
    ...(retain.length === 0 ? {} : { retain }),
    strategy,
    ...(model === undefined ? {} : { model }),
  });
  return drafts;
}

/**
 * Id of the first entry that stays in place. A view right before the first kept item comes first, else it
 * would be lost.
 */
function firstKeptId({ items, views }: Context, keepFrom: number): string | undefined {
  return views.find((view) => view.item === keepFrom)?.entryId ?? items[keepFrom]?.entryId;
}
