/** Frames for the gateway: images of a turn, and its last message. */

import { currentTurnStart, readPayload } from "../attachments/internal.js";
import type { BlobStore } from "../blobs/index.js";
import {
  type AssistantMessage,
  blockResource,
  type Context,
  type ImageBlock,
  type Resource,
  type StoredResource,
  type ToolResultMessage,
} from "../content/index.js";
import { blockAttachments } from "../content/internal.js";
import { tetherLimits } from "../content/limits/index.js";
import { type ImageMediaType, sniff } from "../content/media/index.js";
import { describe } from "../core/arguments.js";
import { decodeBase64, encodeBase64, padBase64 } from "../core/base64.js";
import { assistantDone, type FrameOptions } from "./build.js";
import type { AssistantDoneFrame, TetherImage, TetherSession } from "./frame.js";
import { isImageType, wireBytes } from "./frame-limits.js";

/** An image that can be sent: a resource, or an inline image of a message. */
export type OutgoingImage = Resource | ImageBlock;

/**
 * Why a frame omits an image. `missing`: the store has no such blob. `corrupt`: the bytes do not match their
 * digest, or the base64 is invalid. `link`: a link, whose target was never fetched. `mediaType`: a type that
 * frames do not take. `imageBytes`, `frameBytes`, `imageCount`: the limit that it exceeds, alone or together
 * with the images before it.
 */
export type OmittedReason =
  | "missing"
  | "corrupt"
  | "link"
  | "mediaType"
  | "imageBytes"
  | "frameBytes"
  | "imageCount";

/** Images for a frame, and the images that it omits. */
export interface OutgoingImages {
  /** In the given order. */
  readonly images: readonly TetherImage[];
  /** In the given order. */
  readonly omitted: readonly { readonly image: OutgoingImage; readonly reason: OmittedReason }[];
}

/** Options of {@link outgoingImages}. */
export interface OutgoingOptions {
  readonly blobs: Pick<BlobStore, "get">;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Encodes images for a frame, within its limits. Images are considered in the given order, and each that
 * still fits is sent, so that a small image follows one that is too large. The same blob or base64 is sent
 * once. The type is sniffed from the bytes. An image that cannot be sent is reported in `omitted` and never
 * throws: an answer is not lost for an image. An image whose descriptor exceeds a limit is not read.
 *
 * @throws SessileError of the store, except BLOB_CORRUPT; the signal's reason
 * @throws TypeError if `images` is not an array
 * @example
 * ```ts
 * const { images, omitted } = await outgoingImages([screenshot], { blobs });
 * const frame = assistantDone({ channel: "mcp", id: "default" }, "As it is now.", images);
 * ```
 */
export async function outgoingImages(
  images: readonly OutgoingImage[],
  options: OutgoingOptions,
): Promise<OutgoingImages> {
  if (!Array.isArray(images)) throw new TypeError(`images: expected an array, got ${describe(images)}`);
  return imagesWithin(images, options, tetherLimits.maxWireBytes);
}

/** {@link outgoingImages} with at most `maxBase64` characters of base64 in all. */
async function imagesWithin(
  given: readonly OutgoingImage[],
  options: OutgoingOptions,
  maxBase64: number,
): Promise<OutgoingImages> {
  const images: TetherImage[] = [];
  const omitted: { image: OutgoingImage; reason: OmittedReason }[] = [];
  const seen = new Set<string>();
  let bytes = Math.min(tetherLimits.maxFrameBytes, Math.floor(maxBase64 / 4) * 3);
  for (const image of given) {
    options.signal?.throwIfAborted();
    const key = imageKey(image);
    if (seen.has(key)) continue;
    seen.add(key);
    const found = await readImage(image, { images: tetherLimits.maxImages - images.length, bytes }, options);
    if (typeof found === "string") omitted.push({ image, reason: found });
    else {
      bytes -= found.bytes.length;
      images.push({ media_type: found.mediaType, data: encodeBase64(found.bytes) });
    }
  }
  return { images, omitted };
}

/** Equal for images with the same content. */
function imageKey(image: OutgoingImage): string {
  if ("data" in image) return image.data;
  return image.kind === "link" ? image.resourceId : image.blob;
}

interface ImageBytes {
  readonly mediaType: ImageMediaType;
  readonly bytes: Uint8Array;
}

/** The capacity of a frame that is left. */
interface Capacity {
  readonly images: number;
  readonly bytes: number;
}

async function readImage(
  image: OutgoingImage,
  capacity: Capacity,
  { blobs, signal }: OutgoingOptions,
): Promise<ImageBytes | OmittedReason> {
  const inline = "data" in image;
  if (!inline && image.kind === "link") return "link";
  // A resource of kind "file" has another type, or was stored as a file on purpose.
  if (!inline && image.kind === "file") return "mediaType";
  // Checked by the announced size first, so that no large blob is read in vain.
  const early = exceededLimit(inline ? Math.floor((image.data.length * 3) / 4) - 2 : image.size, capacity);
  if (early !== undefined) return early;
  const bytes = inline
    ? (decodeBase64(padBase64(image.data)) ?? "corrupt")
    : await readPayload(blobs, image.blob, signal);
  if (typeof bytes === "string") return bytes;
  const media = sniff(bytes);
  if (media?.kind !== "image" || !isImageType(media.mediaType)) return "mediaType";
  return exceededLimit(bytes.length, capacity) ?? { mediaType: media.mediaType, bytes };
}

function exceededLimit(bytes: number, capacity: Capacity): OmittedReason | undefined {
  if (capacity.images === 0) return "imageCount";
  if (bytes > tetherLimits.maxImageBytes) return "imageBytes";
  return bytes > capacity.bytes ? "frameBytes" : undefined;
}

/**
 * The images that tools and the model produced in the current turn, oldest first; tools' inline images are
 * included. Links and paths that a tool names are not, nor are images that a view of this turn shows the
 * model again.
 */
export function producedImages(
  context: Pick<Context, "items"> & Partial<Pick<Context, "views">>,
): readonly (StoredResource | ImageBlock)[] {
  const { items, views = [] } = context;
  const start = currentTurnStart(context);
  const viewedAt = new Map<string, number>();
  for (const { resourceId, item } of views) {
    if (item >= start && !viewedAt.has(resourceId)) viewedAt.set(resourceId, item);
  }
  return items.slice(start).flatMap(({ message }, index) => {
    if (message.role !== "toolResult" && message.role !== "assistant") return [];
    const blocks: readonly ProducedBlock[] = message.content;
    const shown = blocks.flatMap((block): readonly ProducedBlock[] =>
      block.type === "opaque" ? blockAttachments(block) : [block],
    );
    return shown.flatMap((block): readonly (StoredResource | ImageBlock)[] => {
      if (block.type === "image") return [block];
      const resource = blockResource(block);
      if (resource?.kind !== "image") return [];
      return start + index >= (viewedAt.get(resource.resourceId) ?? items.length) ? [] : [resource];
    });
  });
}

type ProducedBlock = (AssistantMessage | ToolResultMessage)["content"][number];

/** Options of {@link finishTurn}. */
export interface FinishTurnOptions extends OutgoingOptions, FrameOptions {
  /** Images to send. Default: the images that tools and the model produced in the current turn. */
  readonly images?: readonly OutgoingImage[] | undefined;
}

/** The frame that ends a turn, and the images that it omits. */
export interface FinishedTurn extends Pick<OutgoingImages, "omitted"> {
  readonly frame: AssistantDoneFrame;
}

/**
 * Builds the `assistant.done` frame that ends a turn: the text of the last answer, and images. An aborted or
 * failed answer is followed by its `errorMessage`. The text is empty if the turn has no answer; an earlier
 * turn's answer is never repeated. Images that do not fit on the wire beside a long text are omitted.
 *
 * By default it sends the images that tools and the model produced in the turn. Links and paths that a tool
 * names are not sent, nor are images that a view of the turn shows the model again.
 *
 * @throws as {@link outgoingImages}; SessileError LIMIT_EXCEEDED if the text alone is too long
 *   for the wire
 * @throws TypeError, RangeError for a session, message id or time that {@link assistantDone} refuses
 * @example
 * ```ts
 * const to = { channel: "mcp", id: "default" };
 * const { frame, omitted } = await finishTurn(to, await session.context(), { blobs });
 * ```
 */
export async function finishTurn(
  session: TetherSession,
  context: Pick<Context, "items"> & Partial<Pick<Context, "views">>,
  options: FinishTurnOptions,
): Promise<FinishedTurn> {
  const text = answerText(context);
  const textBytes = wireBytes(assistantDone(session, text, [], options));
  const maxBase64 = tetherLimits.maxWireBytes - textBytes - imageOverheadBytes;
  const given = options.images ?? producedImages(context);
  const { images, omitted } = await imagesWithin(given, options, maxBase64);
  return { frame: assistantDone(session, text, images, options), omitted };
}

/** An upper bound of the JSON around four images in a frame, and of the padding of their base64. */
const imageOverheadBytes = 512;

function answerText(context: Pick<Context, "items">): string {
  const turn = context.items.slice(currentTurnStart(context));
  const message = turn.findLast((item) => item.message.role === "assistant")?.message;
  if (message?.role !== "assistant") return "";
  const { stopReason, errorMessage = "" } = message;
  const failure = stopReason === "error" || stopReason === "aborted" ? errorMessage : "";
  return [joinTexts(message), failure].filter((part) => part !== "").join("\n\n");
}

/** Joins adjacent text blocks directly, and others by an empty line. */
function joinTexts({ content }: AssistantMessage): string {
  let joined = "";
  let isApart = false;
  for (const block of content) {
    if (block.type !== "text" || block.resource !== undefined) isApart = true;
    else if (block.text !== "") {
      joined += isApart && joined !== "" ? `\n\n${block.text}` : block.text;
      isApart = false;
    }
  }
  return joined;
}
