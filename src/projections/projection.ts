import type { LeakageBoundary } from "../attachments/index.js";
import type { BlobStore } from "../blobs/index.js";
import type { ReplayPolicy } from "../content/index.js";
import type { AttachmentReport } from "./attachment-state.js";
import type { CachePolicy } from "./cache-breakpoints.js";
import type { Explanation } from "./explain.js";
import type { ResizeImage } from "./load-media.js";
import type { Loss } from "./losses.js";
import type { ReferenceCache } from "./references.js";
import type { RefusalSearch } from "./refusal-search.js";
import type { NeutralRequest } from "./request.js";
import type { ProjectionUsage } from "./usage.js";

/** Options of {@link project}. */
export interface ProjectOptions {
  /** Where the bytes of attachments are. Without it each place says that they are missing. */
  readonly blobs?: Pick<BlobStore, "get">;
  /**
   * Which attachments are sent. By default those of the current turn and what a view brings back; images that
   * are inline in their messages always, since no view could bring them back. A policy that is given here
   * decides on these too.
   */
  readonly replay?: ReplayPolicy;
  /**
   * Whether the request declares the tool of `viewTool` (`sessile/attachments`): descriptors of what the
   * target can show then tell to use it. Default false.
   */
  readonly viewTool?: boolean;
  /** What may leave at all; by default everything. */
  readonly boundary?: LeakageBoundary;
  /** What the provider has already. */
  readonly references?: ReferenceCache;
  /** Makes images smaller that the target would not take; without it they are described. */
  readonly resize?: ResizeImage;
  /** Where cache markers go, for targets that take some; by default none. */
  readonly cache?: CachePolicy;
  /** `throw` for PROJECTION_LOSSY if there are losses. Default `report`. */
  readonly onLoss?: "report" | "throw";
  /** Milliseconds since 1970; default `Date.now`. Only references look at it. */
  readonly now?: () => number;
  readonly signal?: AbortSignal;
}

/**
 * Something that a harness should know before it sends. `empty`: nothing is left to send, and a sentence says
 * so. `overLimit`: there is so much text that a limit is passed all the same. `endsWithAssistant`: the last
 * turn is the model's, which some models take as the beginning of their answer and others refuse.
 */
export interface ProjectionWarning {
  readonly code: "empty" | "overLimit" | "endsWithAssistant";
  readonly message: string;
}

/** A request for one target, and all that there is to know of how it came about. */
export interface Projection<V> {
  /** The target's own part of a request; fresh, and the caller's to change. */
  readonly value: V;
  /** What was changed or left out because it had to be, in the order of the context. None is by `policy`. */
  readonly losses: readonly Loss[];
  /**
   * What an option of the target leaves out, set or default: `notRepeated` by one that keeps its own history,
   * `unplaced` views of what that history holds, and reasoning of turns that are over. All are by `policy`.
   */
  readonly byPolicy: readonly Loss[];
  readonly warnings: readonly ProjectionWarning[];
  /**
   * What became of each attachment, in the order of the context. `reason` tells the decisions of the replay
   * policy and the boundary, which are no losses.
   */
  readonly attachments: readonly AttachmentReport[];
  /** What the request costs, estimated when it is first asked for. */
  readonly usage: ProjectionUsage;
  /** The request before the target wrote it in its own way. */
  readonly request: NeutralRequest;
  /** {@link Target.name}. */
  readonly target: string;
  /**
   * Which entry a provider's refusal is about, and the drafts that take the cause out of the context, so that
   * the next projection passes. Undefined where the refusal is not about what was sent, or does not tell.
   * With a search, what several attachments can be the cause of is found by halves, and the others are put
   * back.
   */
  explain(error: unknown, search?: RefusalSearch): Explanation | undefined;
}
