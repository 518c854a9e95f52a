import type { ContextItem, ImageBlock, SystemMessage, TextBlock } from "../content/index.js";
import type { CoveredResource } from "./covered.js";
import type { FileLedger, FileToolTable } from "./ledger/index.js";
import type {
  CompactionStrategy,
  CompactionTrigger,
  ContextEditDraft,
  MessageEstimator,
  SummaryPart,
} from "./strategy.js";

/** What a harness tells the model at the beginning, and when it is told again. */
export interface Reinjection {
  readonly content: string | readonly (TextBlock | ImageBlock)[];
  /**
   * `before-last-user`: it stands before the newest message of the user, where a compaction keeps that between summary and
   * tail, else between the two. `defer`: the old one goes, and the harness tells it again with the next turn; see
   * {@link hasInitialContext}. By default the first in the middle of a turn and after an overflow, else the second.
   */
  readonly mode?: "before-last-user" | "defer";
}

/** What {@link planCompaction} goes by. */
export interface PlanOptions {
  readonly strategy: CompactionStrategy;
  /** What the model takes, in tokens, its answer included. */
  readonly window: number;
  /** By default `pre-turn` where the context ends with an answer that calls no tool, else `mid-turn`: the turn has begun. */
  readonly trigger?: CompactionTrigger;
  /** Told again, or left to the next turn. Without it an initial context that is kept stays, and one that is summarised goes. */
  readonly initialContext?: Reinjection;
  /** Items that no summary is to cover. By default those that tell of a switch of models. */
  readonly skip?: (item: ContextItem) => boolean;
  /** The project's directory, for the paths of the file ledger. */
  readonly cwd?: string;
  /** What the harness's tools do to files. By default {@link fileTools}. */
  readonly tools?: FileToolTable;
  /** By default `estimateMessageTokens` of `sessile/estimate`. */
  readonly estimate?: MessageEstimator;
}

/** What a compaction will do; plain data. */
export interface CompactionPlan {
  /** The strategy's name. */
  readonly strategy: string;
  /** The texts to ask a model for; none where the edits are all there is to do. */
  readonly parts: readonly SummaryPart[];
  /** Index of the first item that stays where it is; the number of items for none. */
  readonly keepFrom: number;
  /** Ids of earlier entries that stay too, in order. */
  readonly retain: readonly string[];
  /** Edits of what stays. */
  readonly edits: readonly ContextEditDraft[];
  /** What is told again, and before which of `retain`. */
  readonly initialContext?: { readonly content: Reinjection["content"]; readonly at: number };
  /** The instructions in force. */
  readonly systemMessage?: SystemMessage;
  /** What was done to files up to `keepFrom`. */
  readonly files: FileLedger;
  /** The attachments that the summary covers, and those that earlier summaries did. */
  readonly resources: readonly CoveredResource[];
  /** What the context comes to now, in tokens. */
  readonly tokensBefore: number;
  /** An estimate of what stays, without the summary. */
  readonly tokensKept: number;
  /** What a context may come to after it. */
  readonly limit: number;
}

/** Options whose trigger is settled. */
export type SettledOptions = PlanOptions & { readonly trigger: CompactionTrigger };
