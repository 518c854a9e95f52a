import type { Context, ContextItem } from "../content/index.js";
import { integerArgument, integerOption } from "../internal/arguments.js";
import type { Session, SessionEntry, SessionTree } from "../session/index.js";
import { applyBoundary, assertSummaryTarget, type SummaryBoundary } from "./boundary.js";
import { footerText, withFooter } from "./closing.js";
import { allCoveredResources } from "./covered.js";
import { type FileToolTable, fileLedger, ledgerDetails } from "./file-ledger/index.js";
import { isInitialContext, isModelSwitch } from "./initial-context.js";
import { isContextOverflow } from "./overflow.js";
import { branchPrompt } from "./prompts.js";
import type { SummaryPart, SummaryPrompt } from "./strategy.js";
import { type Generate, type RetryOptions, retryPolicy, summarizePart, type Tally } from "./summarize.js";
import { truncateText } from "./truncate.js";

/** What {@link summarizeBranch} needs of a session. */
export type BranchableSession = Pick<
  Session,
  "context" | "tree" | "leafId" | "header" | "branch" | "branchWithSummary"
>;

/** How {@link summarizeBranch} works. */
export interface BranchSummaryOptions extends SummaryBoundary {
  readonly generate: Generate;
  /** What the model behind `generate` takes, in tokens. */
  readonly window: number;
  /** By default {@link branchPrompt}. */
  readonly prompt?: SummaryPrompt;
  /** What the summary is to look at above all. */
  readonly focus?: string;
  /** Items that no summary is to cover. By default those that tell of a switch of models. */
  readonly skip?: (item: ContextItem) => boolean;
  /** What the harness's tools do to files. By default {@link fileTools}. */
  readonly tools?: FileToolTable;
  readonly retry?: RetryOptions;
  /** Whether an error says that the request was too long. By default {@link isContextOverflow}. */
  readonly isOverflow?: (error: unknown) => boolean;
  readonly signal?: AbortSignal;
}

/** What {@link summarizeBranch} did. */
export type BranchSummaryResult =
  | { readonly status: "summarized"; readonly entry: SessionEntry & { readonly type: "branch_summary" } }
  /** Nothing was said on the branch that was left; the tip was moved. */
  | { readonly status: "moved" };

/**
 * Moves the tip to another entry, with a summary of what is left behind: everything from the entry that both paths have in
 * common on, as the context shows it, summaries of compactions included. The tip moves when the summary exists; when
 * anything fails it stays, and nothing is written.
 *
 * @param to what the next entry is to follow; null for a new root
 * @throws SessileError ENTRY_NOT_FOUND, SUMMARY_FAILED; CONCURRENT_WRITER where the tip went on meanwhile
 * @throws TypeError for a boundary without a target; what the boundary throws; the signal's reason when it aborts
 * @example
 * ```ts
 * const [first] = session.tree.path(session.leafId);
 * await summarizeBranch(session, first?.id ?? null, { window: 200_000, generate });
 * ```
 */
export async function summarizeBranch(
  session: BranchableSession,
  to: string | null,
  options: BranchSummaryOptions,
): Promise<BranchSummaryResult> {
  const { window, prompt = branchPrompt, focus, tools, skip = isModelSwitch } = options;
  const signal = options.signal ?? new AbortController().signal;
  const attempts = integerOption("retry.attempts", options.retry?.attempts, 3, 1, 10);
  assertSummaryTarget(options);
  signal.throwIfAborted();
  integerArgument("window", window, 1);
  const { leafId } = session;
  const context = await session.context(leafId);
  const items = leftItems(context, session.tree, leafId, to);
  const covered = items.filter(
    (item) => item.message.role !== "system" && !isInitialContext(item) && !skip(item),
  );
  if (covered.length === 0) {
    session.branch(to);
    return { status: "moved" };
  }
  const tally: Tally = { calls: 0, omitted: 0, usage: undefined, model: undefined };
  const material = {
    parts: [{ items: covered, prompt }],
    resources: allCoveredResources(items, context.observations),
  };
  const { parts, resources } = await applyBoundary(context, material, options, signal);
  const said = await summarizePart(
    parts[0] as SummaryPart,
    {
      generate: options.generate,
      signal,
      attempts,
      ...retryPolicy(options.retry),
      isOverflow: options.isOverflow ?? isContextOverflow,
      window,
      ...(focus === undefined ? {} : { focus }),
      tally,
    },
    prompt.maxTokens,
  );
  // Twice as long as it was to be, and it is cut: nobody asked for the branch again.
  const text = truncateText(said, { maxTokens: 2 * Math.min(prompt.maxTokens, Math.ceil(window / 2)) });
  const files = fileLedger({ items }, { cwd: session.header.cwd, ...(tools === undefined ? {} : { tools }) });
  const entry = await session.branchWithSummary(
    to,
    withFooter(text, footerText({ resources, files }, window / closingShare)),
    {
      details: { ...ledgerDetails(files), ...(resources.length === 0 ? {} : { resources }) },
      ...(tally.usage === undefined ? {} : { usage: tally.usage }),
      after: leafId,
      signal,
    },
  );
  return { status: "summarized", entry };
}

/** The most of the window that the blocks which close the summary may take, as a part of it. */
const closingShare = 16;

/** What the context shows of entries that are on the path to `leafId` and not on the path to `to`. */
function leftItems(
  context: Context,
  tree: SessionTree,
  leafId: string | null,
  to: string | null,
): readonly ContextItem[] {
  const common = new Set(tree.path(to).map(({ id }) => id));
  const left = new Set(tree.path(leafId).flatMap(({ id }) => (common.has(id) ? [] : [id])));
  return context.items.filter(({ entryId }) => left.has(entryId));
}
