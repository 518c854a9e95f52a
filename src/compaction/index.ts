/**
 * Compaction: when a context has grown too long, what of it to keep, what to summarise, and how that is written without
 * losing anything. Planning is pure; the model is injected.
 *
 * @module compaction
 */
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
