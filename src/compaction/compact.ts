/**
 * Compacts a session: plans, asks the model, verifies, and only then writes one batch of entries or nothing.
 * Also summarises a branch that is abandoned for another entry.
 */

import { estimateMessageTokens } from "../content/estimate/index.js";
import type { Context, ContextItem } from "../content/index.js";
import { integerArgument, integerOption } from "../core/arguments.js";
import { untilAborted } from "../core/concurrency.js";
import { SessileError } from "../core/errors/index.js";
import { uniqueHex8 } from "../core/ids.js";
import type { EntryDraft, Session, SessionEntry, SessionTree } from "../session/index.js";
import {
  allCoveredResources,
  applyBoundary,
  assertSummaryTarget,
  footerText,
  type SummaryBoundary,
  withFooter,
} from "./boundary.js";
import { fileLedger, ledgerDetails } from "./file-ledger/ledger.js";
import type {
  CompactableSession,
  CompactionPlan,
  CompactionResult,
  CompactOptions,
  PlanAnswer,
  ResolvedCompactOptions,
} from "./options.js";
import {
  choosePlan,
  contextBudget,
  contextTrigger,
  enforceInvariants,
  type IrreducibleSizes,
  irreducible,
  minimalPlan,
  overflowShare,
  type PlannedChoice,
  preview,
  verify,
} from "./plan.js";
import { prompts } from "./prompts.js";
import { initialContext, isModelSwitch, isSummarizable, readTokens } from "./retention.js";
import type { SummaryPart, SummaryPrompt } from "./strategy.js";
import {
  type GeneratedSummary,
  type Generation,
  makeSummary,
  readGeneration,
  summarizePart,
  type WrittenSummary,
} from "./summarize.js";
import {
  contextLimit,
  contextOverhead,
  contextTokens,
  firstOverhead,
  memoizeEstimate,
  minSummaryTokens,
  type RecordedSize,
  recordedSize,
} from "./triggers.js";
import { truncateText } from "./truncate.js";

/**
 * Compacts a session's context: plans, asks a model, verifies, and only then writes one batch after the leaf
 * of the plan. If anything fails, nothing is written. Nothing is ever deleted: the log keeps the entries that
 * a summary covers. Entries that are appended meanwhile stay in the context. The compaction's `details` hold
 * the file ledger and the covered attachments, and `usage` is the sum of the model calls.
 *
 * The result is a smaller context, an error, or a status that there is nothing to do. After a summary the
 * strategy does not ask for another one. An agent may therefore call `compact` in a loop while the status is
 * `compacted` or `pruned`.
 *
 * Tools and instructions beside the messages count as the provider counted them. If they leave no room, or
 * the last two compactions made too little, no model is asked, unless the trigger is `manual`.
 *
 * @throws SessileError IRREDUCIBLE if the items that must stay do not fit, or no summary is smaller than the
 *   items it replaces
 * @throws SessileError SUMMARY_FAILED if all attempts fail; `cause` is the last error of `generate`
 * @throws SessileError CONCURRENT_WRITER if the leaf moved to another branch, an earlier entry was edited, or
 *   new entries leave no room; errors of `append`
 * @throws TypeError for a boundary without a target; errors of the boundary; the signal's reason if it aborts
 * @example
 * ```ts
 * const strategy = rollingSummary();
 * const context = await session.context();
 * if (strategy.shouldCompact(context, { window: 200_000, tokens: contextTokens(context) })) {
 *   await compact(session, { strategy, window: 200_000, generate });
 * }
 * ```
 */
export async function compact(
  session: CompactableSession,
  options: CompactOptions,
): Promise<CompactionResult> {
  if (typeof options?.strategy?.shouldCompact !== "function" || typeof options.generate !== "function")
    throw new TypeError(
      "options: expected { strategy, generate }, such as rollingSummary() and generateBy(model)",
    );
  const generateWindow = integerOption("generateWindow", options.generateWindow, options.window, 1);
  const generation = readGeneration(options, generateWindow, options.strategy.emptySummary);
  assertSummaryTarget(options);
  generation.signal.throwIfAborted();
  // A read-only session fails here, before a model is asked.
  if (session.writable === false) await session.append([]);
  session.publish?.({ type: "compacting", active: true });
  try {
    const result = await run(session, { ...options, cwd: options.cwd ?? session.header.cwd }, generation);
    if (result.status === "compacted" || result.status === "pruned") await options.after?.(result);
    return result;
  } finally {
    session.publish?.({ type: "compacting", active: false });
  }
}

async function run(
  session: CompactableSession,
  given: CompactOptions,
  generation: Generation,
): Promise<CompactionResult> {
  const { signal } = generation;
  const { leafId } = session;
  const context = await session.context(leafId);
  const options: ResolvedCompactOptions = {
    ...given,
    trigger: given.trigger ?? contextTrigger(context),
    estimate: memoizeEstimate(given.estimate ?? estimateMessageTokens),
  };
  const planned = await payablePlan(context, options);
  if (planned === undefined) return nothingToDo(context, options);
  const { plan } = planned;
  const withoutGain = plan.parts.length === 0 ? 0 : compactionsWithoutGain(context, options);
  if (withoutGain >= maxWithoutGain) {
    const { tokensBefore } = plan;
    throw irreducible("without-gain", contextSizes(context, options, tokensBefore), plan.tokensKept);
  }
  const asked = await untilAborted(Promise.resolve(options.before?.(plan, context)), signal);
  const summary = asked?.summary ?? planned.choice.summary;
  const answer = summary === undefined ? asked : { ...asked, summary };
  if (answer?.cancel === true) return { status: "cancelled" };
  const allowed = await applyBoundary(context, withoutUnasked(plan, answer), options, signal);
  const made = await makeSummary(context, allowed, options, generation, answer);
  if (made === undefined) return nothingToDo(context, options);
  const prepared = { leafId, context, ...planned, plan: allowed, ...made, withoutGain };
  const { entries, tokensAfter } = await writeCompaction(session, prepared, options, signal);
  const { tokensBefore } = plan;
  const entry = entries.at(-1);
  if (entry?.type !== "compaction") return { status: "pruned", entries, tokensBefore, tokensAfter };
  const { calls, omitted, usage } = generation.tally;
  return { status: "compacted", entry, entries, tokensBefore, tokensAfter, calls, omitted, usage };
}

/**
 * The plan, as far as it is known to fit without a model's answer; undefined if nothing can be summarised.
 *
 * @throws SessileError IRREDUCIBLE if no summary could be short enough
 */
async function payablePlan(
  context: Context,
  options: ResolvedCompactOptions,
): Promise<PlannedChoice | undefined> {
  const { fits } = options;
  let planned = choosePlan(context, options);
  if (planned === undefined) return undefined;
  const { overhead } = planned.plan;
  const isSendable = async ({ plan }: PlannedChoice) =>
    plan.parts.length === 0 || fits === undefined || (await fits(preview(context, plan, shortest)));
  // A summary of very little is longer than that: the minimum leaves more to summarise.
  if (!planned.isMinimal && !(canShrink(context, planned.plan, options) && (await isSendable(planned))))
    planned = minimalPlan(context, { ...options, overhead }) ?? planned;
  const { plan } = planned;
  const sizes = contextSizes(context, options, plan.tokensBefore);
  if (plan.parts.length > 0 && plan.tokensKept >= plan.limit)
    throw irreducible("kept", sizes, plan.tokensKept);
  if (!canShrink(context, plan, options)) return undefined;
  if (!(await isSendable(planned))) throw irreducible("fits", sizes, plan.tokensKept);
  return planned;
}

/** The shortest summary, for a preview. */
const shortest = "…";

/** At most this number of compactions in a row may free too little. */
const maxWithoutGain = 2;
/** A compaction that leaves room for less than this part of the limit has to be repeated at once. */
const gainShare = 32;

/**
 * The compactions in a row, up to the last one, after which the context was too large again at once: with few
 * new messages, or little room for them. 0 if the user asked, or the context is not too large.
 */
function compactionsWithoutGain(context: Context, options: ResolvedCompactOptions): number {
  const { strategy, window, trigger, estimate } = options;
  const last = recordedSize(context.items);
  if (last.messages === 0 || trigger === "manual") return 0;
  if (trigger !== "overflow" && !strategy.shouldCompact(context, contextBudget(context, options))) return 0;
  const limit = contextLimit(strategy, window);
  const first = firstOverhead(context, estimate);
  // The estimate has images and PDFs too small; the counts since the compaction show how much came with them.
  const now = contextOverhead(context, estimate);
  const unseen = Math.max(0, now - first);
  const added = readTokens(context.items, estimate) - last.messages + unseen;
  // The room grows if tools are removed, and not with new messages: an ignored error earns no further summary.
  const room = limit - Math.min(first, now) - last.messages;
  return Math.min(added, room) < limit / gainShare ? last.withoutGain + 1 : 0;
}

/** The sizes for an error. */
function contextSizes(
  context: Context,
  { strategy, window, estimate }: ResolvedCompactOptions,
  tokensBefore: number,
): IrreducibleSizes {
  const overhead = contextOverhead(context, estimate);
  return { tokensBefore, overhead, limit: Math.max(0, contextLimit(strategy, window) - overhead) };
}

/**
 * Empties the parts if a hook gives the summary: no item goes to a model, so the boundary is not asked about
 * them.
 */
function withoutUnasked(plan: CompactionPlan, answer: PlanAnswer | undefined): CompactionPlan {
  if (answer?.summary === undefined) return plan;
  return { ...plan, parts: plan.parts.map((part) => ({ ...part, items: [] })) };
}

/** Whether the shortest possible summary would make the context smaller. */
function canShrink(
  { items }: Context,
  { parts, tokensKept, overhead, limit }: CompactionPlan,
  { estimate, trigger }: ResolvedCompactOptions,
): boolean {
  if (parts.length === 0) return true;
  const share = trigger === "overflow" ? overflowShare : 1;
  let left = (tokensKept + minSummaryTokens(limit + overhead)) / share;
  return items.some(({ message }) => {
    left -= estimate(message);
    return left < 0;
  });
}

function nothingToDo(context: Context, options: ResolvedCompactOptions): CompactionResult {
  const { strategy, window, trigger, estimate } = options;
  const tokens = contextTokens(context, { estimate });
  if (!strategy.shouldCompact(context, { window, tokens, trigger, estimate }))
    return { status: "nothingToDo" };
  const sizes = contextSizes(context, options, tokens);
  throw irreducible("nothing-to-summarize", sizes, Math.max(0, tokens - sizes.overhead));
}

// Writes a compaction as one batch of entries, or nothing.

/** A verified compaction and the leaf that it was made for. */
interface PreparedCompaction extends PlannedChoice, GeneratedSummary {
  readonly leafId: string | null;
  readonly context: Context;
  /** How many compactions right before this one freed too little. */
  readonly withoutGain: number;
}

/** The entries of a compaction that was written. */
interface WrittenCompaction {
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
async function writeCompaction(
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

// Summarises a branch that is abandoned for another entry.

/** The members of a session that {@link summarizeBranch} uses. */
type BranchableSession = Pick<
  Session,
  "context" | "tree" | "leafId" | "header" | "branch" | "branchWithSummary"
>;

/** The options of {@link summarizeBranch}. */
export interface BranchSummaryOptions
  extends SummaryBoundary,
    Pick<CompactOptions, "generate" | "focus" | "skip" | "tools" | "retry" | "isOverflow" | "signal"> {
  /** The context window of the model behind `generate`, in tokens. */
  readonly window: number;
  /** Default `prompts.branch`. */
  readonly prompt?: SummaryPrompt | undefined;
}

/** The result of {@link summarizeBranch}. */
type BranchSummaryResult =
  | { readonly status: "summarized"; readonly entry: SessionEntry & { readonly type: "branch_summary" } }
  /** The abandoned branch has nothing to summarise; the leaf was moved. */
  | { readonly status: "moved" };

/**
 * Moves the leaf to another entry and summarises the abandoned branch. The summary covers the entries after
 * the common ancestor, as the context shows them, summaries of compactions included. The leaf moves once the
 * summary exists; if anything fails, it stays and nothing is written.
 *
 * @param to the parent of the next entry; null for a new root
 * @throws SessileError ENTRY_NOT_FOUND, SUMMARY_FAILED; CONCURRENT_WRITER if the leaf advanced meanwhile
 * @throws TypeError for a boundary without a target; errors of the boundary; the signal's reason if it aborts
 * @example
 * ```ts
 * const [first] = (await session.tree()).path(session.leafId);
 * await summarizeBranch(session, first?.id ?? null, { window: 200_000, generate });
 * ```
 */
export async function summarizeBranch(
  session: BranchableSession,
  to: string | null,
  options: BranchSummaryOptions,
): Promise<BranchSummaryResult> {
  const { prompt = prompts.branch, tools, skip = isModelSwitch } = options;
  const window = integerArgument("window", options.window, 1);
  const generation = readGeneration(options, window);
  const { signal, tally } = generation;
  assertSummaryTarget(options);
  signal.throwIfAborted();
  const { leafId } = session;
  const context = await session.context(leafId);
  const items = abandonedItems(context, await session.tree(), leafId, to);
  const covered = items.filter((item) => isSummarizable(item, skip));
  if (covered.length === 0) {
    await session.branch(to);
    return { status: "moved" };
  }
  const input = {
    parts: [{ items: covered, prompt }],
    resources: allCoveredResources(items, context.observations),
  };
  const { parts, resources } = await applyBoundary(context, input, options, signal);
  const body = await summarizePart(parts[0] as SummaryPart, generation, prompt.maxTokens);
  // A text of more than twice the requested length is truncated, not asked for again.
  const text = truncateText(body, { maxTokens: 2 * Math.min(prompt.maxTokens, Math.ceil(window / 2)) });
  const files = fileLedger({ items }, { cwd: session.header.cwd, tools });
  const entry = await session.branchWithSummary(
    to,
    withFooter(text, footerText({ resources, files }, window / footerShare)),
    {
      details: { ...ledgerDetails(files), ...(resources.length === 0 ? {} : { resources }) },
      ...(tally.usage === undefined ? {} : { usage: tally.usage }),
      after: leafId,
      signal,
    },
  );
  return { status: "summarized", entry };
}

/** The footer may have one sixteenth of the window. */
const footerShare = 16;

/** The context's items of entries that are on the path to `leafId` and not on the path to `to`. */
function abandonedItems(
  context: Context,
  tree: SessionTree,
  leafId: string | null,
  to: string | null,
): readonly ContextItem[] {
  const common = new Set(tree.path(to).map(({ id }) => id));
  const abandoned = new Set(tree.path(leafId).flatMap(({ id }) => (common.has(id) ? [] : [id])));
  return context.items.filter(({ entryId }) => abandoned.has(entryId));
}
