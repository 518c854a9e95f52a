/**
 * Compaction: when a context has grown too long, what of it to keep, what to summarise, and how that is written without
 * losing anything. Planning is pure; the model is injected.
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
export {
  type CoveredResource,
  coveredResources,
  defaultNotedResources,
  mergeCoveredResources,
  readCoveredResources,
  resourceNotes,
  withoutResourceNotes,
} from "./covered.js";
export { type CutPoint, type CutPointOptions, findCutPoint } from "./cut-point.js";
export {
  type FileAction,
  type FileLedger,
  type FileLedgerDetails,
  type FileLedgerOptions,
  type FileOperation,
  type FileRecord,
  type FileToolReader,
  type FileToolRow,
  type FileToolTable,
  fileLedger,
  fileTools,
  type LedgerTextOptions,
  ledgerDetails,
  ledgerText,
  type StaleFile,
  type StaleFilesOptions,
  staleFiles,
  stripLedgerText,
} from "./file-ledger/index.js";
export {
  type CustomMessageDraft,
  hasInitialContext,
  initialContext,
  initialContextType,
  modelSwitchType,
} from "./initial-context.js";
export type {
  CompactableSession,
  CompactionPlan,
  CompactionResult,
  CompactOptions,
  PlanAnswer,
  PlanOptions,
  Reinjection,
} from "./options.js";
export { isContextOverflow } from "./overflow.js";
export { planCompaction } from "./plan.js";
export {
  branchPrompt,
  checkpointPrompt,
  continuationPrompt,
  handoffPrompt,
  type SummaryRequest,
  type SummaryRequestParts,
  summaryRequest,
  turnPrefixPrompt,
} from "./prompts.js";
export {
  type PruneOptions,
  type PrunePlan,
  type PruneThenSummarizeOptions,
  planPrune,
  pruneDefaults,
  prunedOutput,
  pruneThenSummarize,
} from "./prune-then-summarize.js";
export {
  handoffPreface,
  type RecentUserMessagesOptions,
  recentUserMessages,
  recentUserMessagesDefaults,
} from "./recent-user-messages.js";
export { type RollingSummaryOptions, rollingSummary, rollingSummaryDefaults } from "./rolling-summary.js";
export { type SerializeBounds, serializeBounds, serializeItem, serializeItems } from "./serialize.js";
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
export type { Generate, Generated, GenerateOptions, GeneratePrompt, RetryOptions } from "./summarize.js";
export {
  type CompactWhen,
  type ContextGauge,
  type ContextTokensOptions,
  contextGauge,
  contextTokens,
  defaultBufferTokens,
  defaultGaugeThresholds,
  defaultMaxOutputTokens,
  defaultReserveTokens,
  type GaugeThresholds,
  isOverflow,
  type ModelWindow,
  type OverflowSettings,
  shouldCompact,
} from "./triggers.js";
export {
  defaultOutputTokens,
  type TruncateOptions,
  truncateText,
  truncateToolResult,
} from "./truncate.js";
