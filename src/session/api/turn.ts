/** The public interfaces of a turn at work: replies that are recorded while they stream, and the lease of a turn. */

import type { AssistantMessage, Message } from "../../content/index.js";
import type { SessionEntry } from "../../log/internal.js";
import type { AppendOptions, IfAsyncDisposable } from "./session.js";

/** A piece of a reply, for a user interface. `index` counts blocks of the reply, from 0. */
export type ReplyDelta =
  | { readonly type: "text"; readonly index: number; readonly text: string }
  | { readonly type: "thinking"; readonly index: number; readonly text: string }
  | {
      readonly type: "toolCall";
      readonly index: number;
      readonly id: string;
      readonly name: string;
      /** A piece of the arguments' JSON text; empty if the call has only begun. */
      readonly arguments: string;
    };

/** Who holds the lease of a turn, as far as the store knows. */
export interface TurnOwner {
  /** The id of the claim. */
  readonly claimId: string;
  readonly host?: string;
  readonly pid?: number;
  /** ISO 8601. */
  readonly since: string;
}

/** Options of {@link Session.claimTurn}. */
export interface ClaimOptions {
  /**
   * Milliseconds without a renewal after which another process may take the turn over, unless it sees that this
   * process ended. Renewed three times as often. Minimum: 100. @default 30,000
   */
  readonly ttlMs?: number;
}

/** The lease of a turn: one at a time for each session. Closing the session releases it. */
export interface TurnClaim extends IfAsyncDisposable {
  readonly id: string;
  /**
   * Aborts with a TURN_LOST error if another process took the turn over, with SESSION_CLOSED if the session is closed
   * before the release: stop what the turn runs.
   */
  readonly signal: AbortSignal;
  /** Ends the lease. After a loss, lets this handle append again. */
  release(): Promise<void>;
}

/**
 * What becomes of a reply that a process left when it ended.
 * - `keep`: it is appended as an aborted message, with all text and whole tool calls that had arrived.
 * - `discard`: it is gone.
 */
export type InterruptedPolicy = "keep" | "discard";

/** Options of {@link Session.reply}. The names of provider, model and api are for a message of an interrupted reply. */
export interface ReplyOptions extends ClaimOptions, Pick<AssistantMessage, "provider" | "model" | "api"> {
  /** The longest time that a delta waits to be recorded, in milliseconds. Minimum: 0. @default 250 */
  readonly batchMs?: number;
  /** Characters of deltas that are recorded without a wait. Minimum: 1. @default 4096 */
  readonly batchChars?: number;
  /**
   * What becomes of an interrupted reply before this one. With `continue` this one goes on with it, under its id:
   * {@link Reply.prefix} has what arrived, for a provider that continues a message. @default "keep"
   */
  readonly interrupted?: InterruptedPolicy | "continue";
}

/** A reply that is recorded while it streams, and becomes one message. */
export interface Reply {
  /** The id of the entry that the reply becomes, and its name for {@link Session.followReply}. */
  readonly id: string;
  /** Aborts with a TURN_LOST error if another process took the turn over. */
  readonly signal: AbortSignal;
  /** The content of the interrupted reply that this one continues. */
  readonly prefix: AssistantMessage | undefined;
  /**
   * Records a delta. Returns at once: the write is later, in batches. A failed write is an `error` event of the
   * session and is tried again with the next batch.
   * @throws SessileError TURN_LOST
   */
  push(delta: ReplyDelta): void;
  /** Records each delta of a stream, and yields it. */
  record<D extends ReplyDelta>(stream: AsyncIterable<D>): AsyncGenerator<D, void, undefined>;
  /** Writes what waits, for other processes to see. */
  flush(): Promise<void>;
  /**
   * Appends the message under the reply's id, and removes the record. With a prefix, the content of the message
   * follows that of the prefix. A failed append leaves the reply open: it can be ended again.
   * @throws SessileError as {@link Session.append}; TURN_LOST
   */
  end(
    message: AssistantMessage,
    options?: AppendOptions,
  ): Promise<SessionEntry & { readonly type: "message" }>;
  /** Ends the reply without a message, as before a retry whose first attempt is hidden. */
  discard(): Promise<void>;
}

/** Options of {@link Session.followReply}. */
export interface FollowReplyOptions {
  /** The `offset` of an earlier part: only what follows it is yielded. @default the start */
  readonly from?: string;
  readonly signal?: AbortSignal;
  /** Whether to wait for more; if not, only what is there is yielded. @default true */
  readonly live?: boolean;
  /** The interval of looks at a store that does not notify, in milliseconds. Minimum: 1. @default 1000 */
  readonly pollMs?: number;
}

/**
 * A part of a followed reply. The last one tells how it ended: `end` with the entry that it became, `discarded`,
 * or `interrupted`, if the process that streamed it has ended.
 */
export type ReplyPart =
  | { readonly type: "deltas"; readonly offset: string; readonly deltas: readonly ReplyDelta[] }
  | {
      readonly type: "end";
      readonly offset: string;
      readonly entry: SessionEntry & { readonly type: "message"; readonly message: Message };
    }
  | { readonly type: "discarded" | "interrupted"; readonly offset: string };
