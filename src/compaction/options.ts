import type { Context, ContextItem, ImageBlock, SystemMessage, TextBlock, Usage } from "../content/index.js";
import type { Session, SessionEntry } from "../session/index.js";
import type { SummaryBoundary } from "./boundary.js";
import type { CoveredResource } from "./covered.js";
import type { FileLedger, FileToolTable } from "./file-ledger/index.js";
import type {
  CompactionStrategy,
  CompactionTrigger,
  ContextEditDraft,
  MessageEstimator,
  SummaryPart,
} from "./strategy.js";
import type { Generate, RetryOptions } from "./summarize.js";

/** What `compact` needs of a session. */
export type CompactableSession = Pick<Session, "context" | "append" | "leafId" | "header"> &
  Partial<Pick<Session, "publish" | "writable">>;

/** What a hook answers to a plan; nothing lets it go on as it is. */
export interface PlanAnswer {
  /** Nothing is done. */
  readonly cancel?: boolean;
  /** Texts that the model is shown beside the conversation. */
  readonly context?: readonly string[];
  /** Stands in the place of the prompts' own instructions. */
  readonly prompt?: string;
  /** Stands in the place of the model's text; no model is asked. */
  readonly summary?: string;
}

/** How `compact` works. */
export interface CompactOptions extends Omit<PlanOptions, "cwd">, SummaryBoundary {
  readonly generate: Generate;
  /** What the model behind `generate` takes, in tokens. By default `window`. */
  readonly generateWindow?: number;
  /** What the summary is to look at above all, as a user may ask for. */
  readonly focus?: string;
  /** By default the session's. */
  readonly cwd?: string;
  readonly retry?: RetryOptions;
  /** Whether an error says that the request was too long. By default {@link isContextOverflow}. */
  readonly isOverflow?: (error: unknown) => boolean;
  /** Whether a context can be sent, beyond its tokens; by default any can. */
  readonly fits?: (context: Context) => boolean | Promise<boolean>;
  /** Called with the plan before a model is asked. */
  readonly before?: (
    plan: CompactionPlan,
    context: Context,
  ) => PlanAnswer | undefined | Promise<PlanAnswer | undefined>;
  /** Called with the result after it was written; what it throws is thrown, and what was written stays. */
  readonly after?: (result: CompactionResult) => void | Promise<void>;
  readonly signal?: AbortSignal;
}

/** What `compact` did. */
export type CompactionResult =
  | {
      readonly status: "compacted";
      /** The compaction. */
      readonly entry: SessionEntry & { readonly type: "compaction" };
      /** All that was written, the compaction last. */
      readonly entries: readonly SessionEntry[];
      /** What the context came to, by the provider's count where there was one. */
      readonly tokensBefore: number;
      /** An estimate of what it comes to now. */
      readonly tokensAfter: number;
      /** How often the model was asked. */
      readonly calls: number;
      /** How many messages no request could hold; the summary knows nothing of them. */
      readonly omitted: number;
      readonly usage?: Usage;
    }
  | {
      /** Edits were enough: no model was asked. */
      readonly status: "pruned";
      readonly entries: readonly SessionEntry[];
      readonly tokensBefore: number;
      readonly tokensAfter: number;
    }
  | { readonly status: "nothingToDo" }
  /** A hook cancelled it. */
  | { readonly status: "cancelled" };

/** Options whose trigger and estimator are settled. */
export type ResolvedCompactOptions = CompactOptions &
  ResolvedOptions & { readonly estimate: MessageEstimator };

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
export type ResolvedOptions = PlanOptions & { readonly trigger: CompactionTrigger };
