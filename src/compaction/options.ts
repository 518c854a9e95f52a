import type { Context, Usage } from "../content/index.js";
import type { Session, SessionEntry } from "../session/index.js";
import type { SummaryBoundary } from "./boundary.js";
import type { CompactionPlan, PlanOptions, SettledOptions } from "./compaction-plan.js";
import type { Generate, RetryOptions } from "./generate.js";
import type { MessageEstimator } from "./strategy.js";

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
      readonly leftOut: number;
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
export type SettledCompactOptions = CompactOptions & SettledOptions & { readonly estimate: MessageEstimator };
