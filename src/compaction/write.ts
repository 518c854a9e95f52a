import type { Context, Usage } from "../content/index.js";
import { SessileError } from "../errors/index.js";
import { randomHex8 } from "../internal/ids.js";
import type { EntryDraft, SessionEntry } from "../session/index.js";
import { ledgerDetails } from "./file-ledger/index.js";
import { initialContext } from "./initial-context.js";
import type { MadeSummary } from "./make-summary.js";
import type { CompactableSession, CompactionPlan, ResolvedCompactOptions } from "./options.js";
import { enforceInvariants, type PlannedChoice } from "./plan.js";
import { verify } from "./verify.js";

/** What is to be written, and at which tip. */
export interface Ready extends PlannedChoice, MadeSummary {
  readonly leafId: string | null;
  readonly context: Context;
}

/** What was written. */
export interface Written {
  readonly entries: readonly SessionEntry[];
  readonly tokensAfter: number;
}

/** How often a result is fitted to what was appended while it was made. */
const maxRebases = 8;

/**
 * Writes a compaction in one batch, after the tip that it was made for and no other. Where this session's own tip went on
 * meanwhile, the same choice is settled in the context as it is now: what came is kept.
 *
 * @throws SessileError CONCURRENT_WRITER where the tip went elsewhere, another writer came, or what came leaves no room
 */
export async function writeCompaction(
  session: CompactableSession,
  ready: Ready,
  options: ResolvedCompactOptions,
  signal: AbortSignal,
): Promise<Written> {
  let now = ready;
  for (let rebase = 0; ; rebase++) {
    const drafts = compactionDrafts(now.context, now.plan, now.summary);
    try {
      const entries = await session.append(drafts, { after: now.leafId, signal });
      return { entries, tokensAfter: now.tokensAfter };
    } catch (error) {
      if (!SessileError.is(error, "CONCURRENT_WRITER") || rebase >= maxRebases) throw error;
      const rebased = await rebasePlan(session, now, options);
      if (rebased === undefined) throw error;
      now = rebased;
    }
  }
}

async function rebasePlan(
  session: CompactableSession,
  ready: Ready,
  options: ResolvedCompactOptions,
): Promise<Ready | undefined> {
  // What still waits to be written goes first.
  await session.append([]);
  const { leafId } = session;
  if (leafId === ready.leafId) return undefined;
  const context = await session.context(leafId);
  if (!isContinuation(ready.context, context)) return undefined;
  const settled = enforceInvariants(context, ready.choice, options, ready.isMinimal);
  if (settled === undefined) return undefined;
  // The boundary was asked about these.
  const plan = { ...settled, resources: ready.plan.resources };
  const { tokensAfter, shortfall } = await verify(context, plan, ready.summary?.text, options);
  return shortfall === undefined ? { ...ready, leafId, context, plan, tokensAfter } : undefined;
}

/** Whether a context is the other one with more behind it. */
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
