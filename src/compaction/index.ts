export { type BranchSummaryOptions, summarizeBranch } from "./branch.js";
export { compact } from "./compact.js";
export { type CutPointOptions, findCutPoint } from "./cut-point.js";
export type { FileAction, FileLedger, FileRecord } from "./file-ledger/details.js";
export { type FileLedgerOptions, fileLedger } from "./file-ledger/ledger-builder.js";
export type { FileToolTable } from "./file-ledger/operations.js";
export { type StaleFilesOptions, staleFiles } from "./file-ledger/stale.js";
export { hasInitialContext, initialContext } from "./initial-context.js";
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
export { providerCompaction } from "./provider-compaction.js";
export {
  type PruneOptions,
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
  SummaryPart,
  SummaryPrompt,
} from "./strategy.js";
export type { CoveredResource } from "./summary-footer.js";
export {
  type ContextGauge,
  type ContextTokensOptions,
  contextGauge,
  contextTokens,
  isOverflow,
  shouldCompact,
} from "./triggers.js";
export { type TruncateOptions, truncateToolResult } from "./truncate.js";
