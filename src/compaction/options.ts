/** The options of a compaction, its plan and its result. */
import type { Context, ContextItem, ImageBlock, SystemMessage, TextBlock, Usage } from "../content/index.js";
import type { Session, SessionEntry } from "../session/index.js";
import type { CoveredResource, SummaryBoundary } from "./boundary.js";
import type { FileLedger } from "./file-ledger/ledger.js";
import type { FileToolTable } from "./file-ledger/operations.js";
import type {
  CompactionStrategy,
  CompactionTrigger,
  ContextEditDraft,
  MessageEstimator,
  SummaryPart,
} from "./strategy.js";

/** The members of a session that `compact` uses. */
export type CompactableSession = Pick<Session, "context" | "append" | "leafId" | "header"> &
  Partial<Pick<Session, "publish" | "writable">>;

/** The initial context that a harness gives the model, and when it is injected again. */
export interface Reinjection {
  readonly content: string | readonly (TextBlock | ImageBlock)[];
  /**
   * `before-last-user` inserts it before the newest user message if that is retained before the tail, else
   * after the summary. `defer` removes the old one and leaves the new one to the harness's next turn; see
   * {@link hasInitialContext}. Default: `before-last-user` within a turn and after an overflow, else `defer`.
   */
  readonly mode?: "before-last-user" | "defer" | undefined;
}

/** The options of {@link planCompaction}. */
export interface PlanOptions {
  readonly strategy: CompactionStrategy;
  /** The model's context window in tokens, its answer included. */
  readonly window: number;
  /** Default `pre-turn` if the context ends with an answer that calls no tool, else `mid-turn`. */
  readonly trigger?: CompactionTrigger | undefined;
  /**
   * The initial context to inject again. Without it, a kept initial context stays and a summarised one is
   * dropped.
   */
  readonly initialContext?: Reinjection | undefined;
  /** Items that no summary covers. Default: custom messages of type `sessile.model_switch`. */
  readonly skip?: ((item: ContextItem) => boolean) | undefined;
  /** The project's directory, for the paths of the file ledger. */
  readonly cwd?: string | undefined;
  /** The file operations of the harness's tools; see `fileLedger`. */
  readonly tools?: FileToolTable | undefined;
  /** Default `estimateMessageTokens` of `sessile/estimate`. */
  readonly estimate?: MessageEstimator | undefined;
}

/** Options with the trigger resolved. */
export type ResolvedOptions = PlanOptions & {
  readonly trigger: CompactionTrigger;
  /** Tokens beside the messages. Default 0. */
  readonly overhead?: number | undefined;
};

/** The plan of a compaction, as plain data. */
export interface CompactionPlan {
  /** The strategy's name. */
  readonly strategy: string;
  /** The texts to ask a model for; empty if the plan is edits alone. */
  readonly parts: readonly SummaryPart[];
  /** Index of the first item that stays in place; the number of items if no tail is kept. */
  readonly keepFrom: number;
  /** Ids of earlier entries that stay, in order. */
  readonly retain: readonly string[];
  /** Edits of items that stay. */
  readonly edits: readonly ContextEditDraft[];
  /** The initial context to inject, and its index in `retain`. */
  readonly initialContext?: { readonly content: Reinjection["content"]; readonly at: number } | undefined;
  /** The system messages in force, folded into one. */
  readonly systemMessage?: SystemMessage | undefined;
  /** File operations before `keepFrom`. */
  readonly files: FileLedger;
  /** The attachments that this summary and earlier ones cover. */
  readonly resources: readonly CoveredResource[];
  /** The size of the context now, in tokens. */
  readonly tokensBefore: number;
  /**
   * Tokens of a request beside its messages, such as tools and instructions: the provider's count less the
   * estimate; 0 if unknown, or if no compaction could make room beside them.
   */
  readonly overhead: number;
  /** An estimate of the kept items, without the summary. */
  readonly tokensKept: number;
  /** The most tokens that the messages may have afterwards: those of the strategy, less `overhead`. */
  readonly limit: number;
}

/** The request for a text. */
export interface GeneratePrompt {
  /** The system prompt. */
  readonly system: string;
  /** The only message, of the user. */
  readonly text: string;
}

/** Accompanies a {@link GeneratePrompt}. */
export interface GenerateOptions {
  /** Aborts with the compaction. */
  readonly signal: AbortSignal;
  /** The length that the prompt asks for, in tokens: a good `max_tokens`. */
  readonly maxTokens: number;
}

/** The answer of a model. */
export interface Generated {
  readonly text: string;
  /** Summed up in the compaction's entry. */
  readonly usage?: Usage | undefined;
  /** The model that wrote the text, if it is not the session's. */
  readonly model?: { readonly provider: string; readonly modelId: string } | undefined;
}

/** Asks a model for a text; it may be a cheaper model than the session's. */
export type Generate = (prompt: GeneratePrompt, options: GenerateOptions) => Promise<Generated>;

/** Attempts and backoff. */
export interface RetryOptions {
  /** Attempts at each text, and at a summary as a whole; from 1 to 10. Default 3. */
  readonly attempts?: number | undefined;
  /**
   * Backoff in milliseconds after a failed attempt, the first being 1. Default: 1 s, doubled each time, at
   * most 30 s.
   */
  readonly delayMs?: ((attempt: number, error: unknown) => number) | undefined;
  /** Waits for `ms`; rejects with the signal's reason once it aborts. Default: a timer. */
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
}

/** A hook's answer to a plan; undefined to go on unchanged. */
export interface PlanAnswer {
  /** Cancels the compaction. */
  readonly cancel?: boolean | undefined;
  /** Texts to show the model beside the conversation. */
  readonly context?: readonly string[] | undefined;
  /** Replaces the instructions of the prompts. */
  readonly prompt?: string | undefined;
  /** The summary itself; no model is asked. */
  readonly summary?: string | undefined;
}

/** The options of `compact`. */
export interface CompactOptions extends Omit<PlanOptions, "cwd">, SummaryBoundary {
  readonly generate: Generate;
  /** The context window of the model behind `generate`, in tokens. Default `window`. */
  readonly generateWindow?: number | undefined;
  /** A topic that the summary dwells on, at the user's request. */
  readonly focus?: string | undefined;
  /** Default: the session's. */
  readonly cwd?: string | undefined;
  readonly retry?: RetryOptions | undefined;
  /**
   * Whether an error of `generate` means that the request was too long. Default {@link isContextOverflow}.
   */
  readonly isOverflow?: ((error: unknown) => boolean) | undefined;
  /**
   * Whether a context can be sent, apart from its tokens. Called before a model is asked, with the shortest
   * summary, and with the summary that it gave. Default: always.
   */
  readonly fits?: ((context: Context) => boolean | Promise<boolean>) | undefined;
  /** Called with the plan before a model is asked. */
  readonly before?:
    | ((plan: CompactionPlan, context: Context) => PlanAnswer | undefined | Promise<PlanAnswer | undefined>)
    | undefined;
  /** Called with the result after the write. An error from it is rethrown; the entries stay. */
  readonly after?: ((result: CompactionResult) => void | Promise<void>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Options of `compact` with trigger and estimator resolved. */
export type ResolvedCompactOptions = CompactOptions &
  ResolvedOptions & { readonly estimate: MessageEstimator };

/** The result of `compact`. */
export type CompactionResult =
  | {
      readonly status: "compacted";
      /** The compaction. */
      readonly entry: SessionEntry & { readonly type: "compaction" };
      /** Every entry that was written, the compaction last. */
      readonly entries: readonly SessionEntry[];
      /** The size of the context before, by the provider's count if there is one. */
      readonly tokensBefore: number;
      /** An estimate of the size afterwards. */
      readonly tokensAfter: number;
      /** The number of model calls. */
      readonly calls: number;
      /** The number of messages that fit in no request, so that the summary does not cover them. */
      readonly omitted: number;
      readonly usage?: Usage | undefined;
    }
  | {
      /** Edits were enough; no model was asked. */
      readonly status: "pruned";
      readonly entries: readonly SessionEntry[];
      readonly tokensBefore: number;
      readonly tokensAfter: number;
    }
  | { readonly status: "nothingToDo" }
  /** A hook cancelled it. */
  | { readonly status: "cancelled" };
