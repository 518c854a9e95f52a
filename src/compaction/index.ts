/**
 * Compaction: decides when a context is too long, which entries stay, which a summary replaces, and writes
 * the summary without losing anything. Planning is pure; the model is injected.
 *
 * @module compaction
 */
export type { SummaryBoundary, SummaryTarget } from "./boundary.js";
export {
  type BranchableSession,
  type BranchSummaryOptions,
  type BranchSummaryResult,
  summarizeBranch,
} from "./branch.js";
export { compact } from "./compact.js";
export { type CutPoint, type CutPointOptions, findCutPoint } from "./cut-point.js";
export type { FileAction, FileLedger, FileLedgerDetails, FileRecord } from "./file-ledger/details.js";
export { type FileLedgerOptions, fileLedger } from "./file-ledger/ledger-builder.js";
export { type StaleFile, type StaleFilesOptions, staleFiles } from "./file-ledger/stale.js";
export type {
  FileOperation,
  FileToolReader,
  FileToolRow,
  FileToolTable,
} from "./file-ledger/tool-table.js";
export { type CustomMessageDraft, hasInitialContext, initialContext } from "./initial-context.js";
export type {
  CompactableSession,
  CompactionPlan,
  CompactionResult,
  CompactOptions,
  Generate,
  Generated,
  GenerateOptions,
  GeneratePrompt,
  PlanAnswer,
  PlanOptions,
  Reinjection,
  RetryOptions,
} from "./options.js";
export { isContextOverflow } from "./overflow.js";
export { planCompaction } from "./plan.js";
export { prompts } from "./prompts.js";
export {
  type PruneOptions,
  type PrunePlan,
  type PruneThenSummarizeOptions,
  planPrune,
  pruneThenSummarize,
} from "./prune-then-summarize.js";
export { type RecentUserMessagesOptions, recentUserMessages } from "./recent-user-messages.js";
export { type RollingSummaryOptions, rollingSummary } from "./rolling-summary.js";
export type {
  CompactionBudget,
  CompactionChoice,
  CompactionStrategy,
  CompactionTrigger,
  ContextEditDraft,
  MessageEstimator,
  SummaryPart,
  SummaryPrompt,
} from "./strategy.js";
export type { CoveredResource } from "./summary-footer.js";
export {
  type CompactWhen,
  type ContextGauge,
  type ContextTokensOptions,
  contextGauge,
  contextTokens,
  type GaugeThresholds,
  isOverflow,
  type ModelWindow,
  type OverflowSettings,
  shouldCompact,
} from "./triggers.js";
export { type TruncateOptions, truncateToolResult } from "./truncate.js";
