/** The options and the result of a projection. */

import type { LeakageBoundary } from "../attachments/index.js";
import type { BlobStore } from "../blobs/index.js";
import type { ReplayPolicy } from "../content/index.js";
import type { AttachmentReport, ResizeImage } from "./attachment-state.js";
import type { CachePolicy } from "./cache-breakpoints.js";
import type { Explanation } from "./explain.js";
import type { Loss } from "./losses.js";
import type { RequestPrefix } from "./prefix.js";
import type { RefusalSearch } from "./refusal-search.js";
import type { NeutralRequest, ReferenceCache } from "./request.js";
import type { ProjectionUsage } from "./usage.js";

/** Options of {@link project}. */
export interface ProjectOptions {
  /** The blob store with the attachments' bytes. Without it, placeholders report them as missing. */
  readonly blobs?: Pick<BlobStore, "get">;
  /**
   * The replay policy. By default the request has the attachments of the current turn, viewed attachments,
   * and all inline images, which no view could bring back. A policy given here decides inline images too.
   */
  readonly replay?: ReplayPolicy;
  /**
   * Whether the request declares the tool of `viewTool` (`sessile/attachments`). Descriptions of viewable
   * attachments then mention the tool. @default false
   */
  readonly viewTool?: boolean;
  /** Decides which attachments may leave. @default all */
  readonly boundary?: LeakageBoundary;
  /** The provider's references to uploaded attachments. */
  readonly references?: ReferenceCache;
  /** Resizes images that the target would refuse. Without it they are described. */
  readonly resize?: ResizeImage;
  /** The positions of cache markers, for targets that support them. @default none */
  readonly cache?: CachePolicy;
  /**
   * The tools that the request declares, in the provider's form, for `usage` and `prefix`: a change of tools
   * is found only if they are given here. They are not sent.
   * @default those that system messages of the context add
   */
  readonly tools?: unknown;
  /**
   * Whether the provider may hold nothing of the request beyond its answer: the value has `store: false` if the API
   * stores requests, and no `continue` of a target counts. Uploads that `references` names are the caller's.
   * @default false
   */
  readonly zeroRetention?: boolean;
  /** `throw` for PROJECTION_LOSSY if there are losses. @default "report" */
  readonly onLoss?: "report" | "throw";
  /** Milliseconds since 1970, for the expiry of references. @default Date.now */
  readonly now?: () => number;
  readonly signal?: AbortSignal;
}

/**
 * A condition that a harness should handle before it sends. `empty`: the request has only a placeholder.
 * `overLimit`: the text alone exceeds a limit. `endsWithAssistant`: the last turn is the assistant's, which
 * some models continue and others refuse; not after a reply that the provider paused. `refused`: turns that the
 * model declined to answer are left out. `noBlobs`: attachments are described, because {@link ProjectOptions} have no
 * `blobs`. `notSent`: other attachments that the policy would send are described. A message names each of them once.
 */
export interface ProjectionWarning {
  readonly code: "empty" | "overLimit" | "endsWithAssistant" | "refused" | "noBlobs" | "notSent";
  readonly message: string;
}

/** A request for one target, with a report of how it was made. `JSON.stringify` of it has the value alone. */
export interface Projection<V> {
  /** The target's part of a request: fresh, and the caller's to change. */
  readonly value: V;
  /** Forced changes and omissions, in the order of the context. None is by `policy`. */
  readonly losses: readonly Loss[];
  /**
   * Omissions by an option of the target, set or default: `notRepeated` if the target keeps its own history,
   * `unplaced` views of that history, `refused` turns, reasoning of finished turns, and reasoning that a
   * compaction or the replay policy made invalid. All are by `policy`.
   */
  readonly byPolicy: readonly Loss[];
  readonly warnings: readonly ProjectionWarning[];
  /**
   * The outcome for each attachment, in the order of the context. `reason` gives the decisions of the replay
   * policy and the boundary, which are not losses.
   */
  readonly attachments: readonly AttachmentReport[];
  /** The estimated cost of the request, computed on first access. */
  readonly usage: ProjectionUsage;
  /**
   * Whether this request repeats what the model answered last, and the cost if it does not. Computed on first
   * access, except for targets that bind reasoning.
   */
  readonly prefix: RequestPrefix;
  /**
   * The reply that the request continues, if `value` has only what is new: a target with `continue`, and a provider
   * that holds the rest. Absent otherwise.
   */
  readonly continues?: string;
  /**
   * The value with all turns. Send it if the provider refuses a continued request for any reason: what it holds ends
   * without notice.
   */
  whole(): V;
  /**
   * The tools to declare beside the value, as system messages of the session add them (`toolsAdded`). With
   * `toolChanges` of the target only those of its first messages: the value tells the others where they changed.
   */
  readonly tools: readonly unknown[];
  /** The request before the target rendered it. */
  readonly request: NeutralRequest;
  /** {@link Target.name}. */
  readonly target: string;
  /**
   * Finds the entry that a provider's refusal is about, and drafts that exclude the cause, so that the next
   * projection passes. Returns undefined if the refusal is about something else or does not tell. With a
   * search, several candidates are bisected, and the innocent ones are restored.
   */
  explain(error: unknown, search?: RefusalSearch): Explanation | undefined;
}
