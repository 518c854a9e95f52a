/** The options of a turn, and how it ends. */

import type { BlobStore } from "../blobs/index.js";
import type { CompactOptions } from "../compaction/index.js";
import type {
  AssistantMessage,
  Context,
  ToolCall,
  ToolResultMessage,
  UserMessage,
} from "../content/index.js";
import type { Projection, ProjectOptions } from "../providers/index.js";
import type { PermissionRule, Reply, ReplyDelta, ReplyOptions, Session } from "../session/index.js";
import type { TurnEvent } from "./events.js";
import type { TurnModel } from "./models.js";
import type { RetryOptions } from "./retry.js";
import type { Tool } from "./tools.js";

/** A call that needs a permission which no rule gives or denies. */
export interface ApprovalRequest {
  readonly call: ToolCall;
  /** The tool's name. */
  readonly permission: string;
  readonly subject: string;
  readonly signal: AbortSignal;
}

/**
 * An answer. `always` has a pattern, which the session records: `*` matches any run of characters. `later` leaves the
 * call open, and the turn ends: the next `runTurn` asks again.
 */
export type Approval = "allow" | "deny" | "later" | { readonly always: string };

/** How a turn compacts: options of `compact`, of which `generate` may be left to the turn's model. */
export type TurnCompaction = Omit<CompactOptions, "generate" | "trigger" | "signal"> &
  Partial<Pick<CompactOptions, "generate">>;

/** The request that instructions are for. */
export interface InstructionsRequest {
  /** It may be read, and appended to, as a memory does. */
  readonly session: Session;
  /** The number of requests of this run before it. */
  readonly step: number;
  readonly signal: AbortSignal;
}

/** Options of {@link runTurn}. Only the model is required. */
export interface TurnOptions {
  /** The model and its client, such as `anthropicModel(client, { model })`. */
  readonly model: TurnModel;
  /** A message that begins the turn. It is durable before the first request. */
  readonly message?: UserMessage;
  /**
   * The id of the message's entry. A message that the session has, or that waits, is not added again, so that a request
   * may be repeated, in any process. @default a new id, and each call adds the message
   */
  readonly messageId?: string;
  /**
   * The instructions, or a function that gives them for a request. It is called before a new message and between
   * requests, not again for a retry. If they change, the change is appended; see `SystemMessage`.
   * @default those of the session
   */
  readonly instructions?: string | ((request: InstructionsRequest) => string | Promise<string>);
  readonly tools?: readonly Tool[];
  /**
   * The store of attachments, that of the session. With it the model gets the tool that shows an attachment again.
   * @default results have no bytes
   */
  readonly blobs?: Pick<BlobStore, "get" | "put">;
  /**
   * Ends the turn. The reply so far is kept, and open calls get results that say so: none runs later unless the model
   * asks again. To leave the turn to another process, as at the end of a server, close the session instead.
   */
  readonly signal?: AbortSignal;
  /** The most requests. Minimum: 1. @default 100 */
  readonly maxSteps?: number;
  /** Ends the turn after a reply, and the results of its calls. */
  readonly until?: (reply: AssistantMessage) => boolean | Promise<boolean>;
  /** Calls that run at once. Minimum: 1. @default 8 */
  readonly maxParallel?: number;
  /** @default an overflow is an error */
  readonly compaction?: TurnCompaction;
  readonly retry?: RetryOptions;
  /** Rules before those of the session, such as a program's defaults. The last rule that matches counts. */
  readonly permissions?: readonly PermissionRule[];
  /** How soon the pieces of a reply are recorded, and how long a claim lasts that is not renewed; see `Session.reply`. */
  readonly reply?: Pick<ReplyOptions, "batchMs" | "batchChars" | "ttlMs">;
  /** Asks a person about a call. @default "later" */
  readonly approve?: (request: ApprovalRequest) => Approval | Promise<Approval>;
  /** Options of the projection, such as a replay policy. `cache` is `cacheConversation` of the caller. */
  readonly project?: Omit<ProjectOptions, "blobs" | "signal" | "tools" | "viewTool">;
  /** Chooses what of the context is sent, such as its newest part. @default all */
  readonly select?: (context: Context) => Context | Promise<Context>;
  /** Runs a call, around `run`, which runs the tool. @default `run` alone */
  readonly runCall?: (call: ToolCall, run: () => Promise<ToolResultMessage>) => Promise<ToolResultMessage>;
  /** Called with pieces of a reply as they come, and the reply, whose id its message will have. */
  readonly onDelta?: (delta: ReplyDelta, reply: Pick<Reply, "id">) => void;
  /** Called with each request before it is sent: its losses, its attachments, its prefix. */
  readonly onRequest?: (projection: Projection<unknown>) => void;
  /** Called at the start and the end of each step. */
  readonly onEvent?: (event: TurnEvent) => void;
}

/**
 * How a turn ended. `done`: the model answered. `refused`, `cut`: see `turnState`. `aborted`: by the signal, or the
 * last reply was aborted before. `steps`: by `maxSteps`. `condition`: by `until`. `permission`: a call waits for one.
 * `busy`: another process is at work on the turn, and gets the message with its next request.
 */
export interface TurnEnd {
  readonly reason: "done" | "refused" | "cut" | "aborted" | "steps" | "condition" | "permission" | "busy";
  /** The number of requests that were answered. */
  readonly steps: number;
  /** The last reply of this run. */
  readonly reply?: AssistantMessage;
}
