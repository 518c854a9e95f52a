import type { Context } from "../content/index.js";
import { SessileError } from "../errors/index.js";
import type { SessionEntry } from "../session/index.js";
import { compactionDrafts } from "./drafts.js";
import type { MadeSummary } from "./make-summary.js";
import type { CompactableSession, SettledCompactOptions } from "./options.js";
import type { PlannedChoice } from "./plan.js";
import { settlePlan } from "./settle.js";
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
  options: SettledCompactOptions,
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
      const rebased = await rebasedOn(session, now, options);
      if (rebased === undefined) throw error;
      now = rebased;
    }
  }
}

async function rebasedOn(
  session: CompactableSession,
  ready: Ready,
  options: SettledCompactOptions,
): Promise<Ready | undefined> {
  // What still waits to be written goes first.
  await session.append([]);
  const { leafId } = session;
  if (leafId === ready.leafId) return undefined;
  const context = await session.context(leafId);
  if (!goesOn(ready.context, context)) return undefined;
  const settled = settlePlan(context, ready.choice, options, ready.isLeast);
  if (settled === undefined) return undefined;
  // The boundary was asked about these.
  const plan = { ...settled, resources: ready.plan.resources };
  const { tokensAfter, shortfall } = await verify(context, plan, ready.summary?.text, options);
  return shortfall === undefined ? { ...ready, leafId, context, plan, tokensAfter } : undefined;
}

/** Whether a context is the other one with more behind it. */
function goesOn(before: Context, after: Context): boolean {
  return (
    before.usageSince === after.usageSince &&
    before.items.length <= after.items.length &&
    before.items.every(({ entryId, origin }, at) => {
      const item = after.items[at];
      return item?.entryId === entryId && item.origin === origin;
    })
  );
}
