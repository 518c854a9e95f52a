import type { BlobStore } from "../blobs/index.js";
import type { Context, Resource, StoredResource } from "../content/index.js";
import type { FrameOptions } from "./build.js";
import type { AssistantDoneFrame, TetherImage, TetherSession } from "./frame.js";

/** Why an image is not in a frame. */
export type LeftReason =
  | "missing"
  | "corrupt"
  | "link"
  | "mediaType"
  | "imageBytes"
  | "frameBytes"
  | "imageCount";

/** Images for a frame, and those that could not be. */
export interface OutgoingImages {
  readonly images: readonly TetherImage[];
  readonly left: readonly { readonly resource: Resource; readonly reason: LeftReason }[];
}

/** Options of {@link outgoingImages}. */
export interface OutgoingOptions {
  readonly blobs: Pick<BlobStore, "get">;
  readonly signal?: AbortSignal;
}

/**
 * The bytes of resources as images of a frame, within its limits: the first that fit, each once however often it is named. What
 * is left out is told, and never an error: an answer is not lost for an image.
 *
 * @throws SessileError what the store throws, besides BLOB_CORRUPT
 */
export declare function outgoingImages(
  resources: readonly Resource[],
  options: OutgoingOptions,
): Promise<OutgoingImages>;

/** The images that tools' results of the current turn hold, oldest first: what an agent sends along with its answer. */
export declare function producedImages(context: Pick<Context, "items">): readonly StoredResource[];

/** Options of {@link finishTurn}. */
export interface FinishTurnOptions extends OutgoingOptions, FrameOptions {
  /** Images to send. By default those that tools produced in this turn. */
  readonly resources?: readonly Resource[];
}

/** The end of a turn, to be sent. */
export interface FinishedTurn extends Pick<OutgoingImages, "left"> {
  readonly frame: AssistantDoneFrame;
}

/**
 * The `assistant.done` frame that ends a turn: the text of the answer at the end of the context, and its images.
 *
 * @example
 * ```ts
 * const { frame, left } = await finishTurn({ channel: "mcp", id: "default" }, await session.context(), { blobs });
 * ```
 */
export declare function finishTurn(
  session: TetherSession,
  context: Pick<Context, "items">,
  options: FinishTurnOptions,
): Promise<FinishedTurn>;
