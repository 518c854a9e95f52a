export type { CoveredResource } from "./boundary.js";
export { compact, summarizeBranch } from "./compact.js";
export {
  type FileAction,
  type FileLedger,
  type FileRecord,
  fileLedger,
  staleFiles,
} from "./file-ledger/ledger.js";
export type { FileToolTable } from "./file-ledger/operations.js";
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
} from "./options.js";
export { planCompaction } from "./plan.js";
export { prompts } from "./prompts.js";
export { findCutPoint, hasInitialContext, initialContext } from "./retention.js";
export {
  type CutGain,
  type CutGainOptions,
  cutGain,
  type PruneOptions,
  planPrune,
  providerCompaction,
  pruneThenSummarize,
  type RecentUserMessagesOptions,
  type RollingSummaryOptions,
  recentUserMessages,
  rollingSummary,
} from "./strategies.js";
export type {
  CompactionBudget,
  CompactionChoice,
  CompactionStrategy,
  CompactionTrigger,
  SummaryPart,
  SummaryPrompt,
} from "./strategy.js";
export {
  type ContextGauge,
  contextGauge,
  contextTokens,
  isContextOverflow,
  isOverflow,
  shouldCompact,
} from "./triggers.js";
export { truncateToolResult } from "./truncate.js";
