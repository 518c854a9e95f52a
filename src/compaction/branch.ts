/** Summarises a branch that is abandoned for another entry. */
import type { Context, ContextItem } from "../content/index.js";
import { integerArgument } from "../core/arguments.js";
import type { Session, SessionEntry, SessionTree } from "../session/index.js";
import { applyBoundary, assertSummaryTarget, type SummaryBoundary } from "./boundary.js";
import { ledgerDetails } from "./file-ledger/details.js";
import { fileLedger } from "./file-ledger/ledger-builder.js";
import { isModelSwitch, isSummarizable } from "./initial-context.js";
import type { CompactOptions } from "./options.js";
import { prompts } from "./prompts.js";
import type { SummaryPart, SummaryPrompt } from "./strategy.js";
import { readGeneration, summarizePart } from "./summarize.js";
import { allCoveredResources, footerText, withFooter } from "./summary-footer.js";
import { truncateText } from "./truncate.js";

/** The members of a session that {@link summarizeBranch} uses. */
export type BranchableSession = Pick<
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
export type BranchSummaryResult =
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
