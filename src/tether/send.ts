import { currentTurnStart, readPayload } from "../attachments/internal.js";
import type { BlobStore } from "../blobs/index.js";
import {
  type AssistantMessage,
  type Context,
  type ImageBlock,
  type Resource,
  resourceOf,
  type StoredResource,
  type ToolResultMessage,
} from "../content/index.js";
import { describe } from "../internal/arguments.js";
import { decodeBase64, padBase64 } from "../internal/base64.js";
import { encodeBase64 } from "../internal/encode-base64.js";
import { tetherLimits } from "../limits/index.js";
import { type ImageMediaType, sniff } from "../media/index.js";
import { assistantDone, type FrameOptions } from "./build.js";
import type { AssistantDoneFrame, TetherImage, TetherSession } from "./frame.js";
import { wireBytes } from "./frame-limits.js";

/** What can go out as an image: a resource, or an image that is inline in a message. */
export type OutgoingImage = Resource | ImageBlock;

/**
 * Why an image is not in a frame. `missing`: its bytes are not stored. `corrupt`: they are not what their name says, or are no
 * base64. `link`: it was never fetched. `mediaType`: it is none of the images that a frame takes. `imageBytes`, `frameBytes`,
 * `imageCount`: the limit that it is over, alone or together with those before it.
 */
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
  /** In the order in which they were given. */
  readonly images: readonly TetherImage[];
  /** In the order in which they were given. */
  readonly left: readonly { readonly image: OutgoingImage; readonly reason: LeftReason }[];
}

/** Options of {@link outgoingImages}. */
export interface OutgoingOptions {
  readonly blobs: Pick<BlobStore, "get">;
  readonly signal?: AbortSignal;
}

/**
 * The bytes of images as images of a frame, within its limits: in the order in which they are given each that still fits, so that
 * a small one behind one that is too large goes. A blob, or base64, that is there twice goes once. Their type is what they are,
 * whatever the descriptor says. What is left out is told, and never an error: an answer is not lost for an image. One that is over
 * a limit by its descriptor alone is not read.
 *
 * @throws SessileError what the store throws, besides BLOB_CORRUPT; the signal's reason
 * @throws TypeError for images that are no array
 * @example
 * ```ts
 * const { images, left } = await outgoingImages([screenshot], { blobs });
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

/**
 * {@link outgoingImages} that are no longer than this on the wire.
 *
 * @param wireBytes of base64
 */
export async function imagesWithin(
  given: readonly OutgoingImage[],
  options: OutgoingOptions,
  wireBytes: number,
): Promise<OutgoingImages> {
  const images: TetherImage[] = [];
  const left: { image: OutgoingImage; reason: LeftReason }[] = [];
  const seen = new Set<string>();
  let bytes = Math.min(tetherLimits.maxFrameBytes, Math.floor(wireBytes / 4) * 3);
  for (const image of given) {
    options.signal?.throwIfAborted();
    const name = nameOf(image);
    if (seen.has(name)) continue;
    seen.add(name);
    const found = await read(image, { images: tetherLimits.maxImages - images.length, bytes }, options);
    if (typeof found === "string") left.push({ image, reason: found });
    else {
      bytes -= found.bytes.length;
      images.push({ media_type: found.mediaType, data: encodeBase64(found.bytes) });
    }
  }
  return { images, left };
}

function nameOf(image: OutgoingImage): string {
  if ("data" in image) return image.data;
  return image.kind === "link" ? image.resourceId : image.blob;
}

interface ReadImage {
  readonly mediaType: ImageMediaType;
  readonly bytes: Uint8Array;
}

async function read(
  image: OutgoingImage,
  room: Room,
  { blobs, signal }: OutgoingOptions,
): Promise<ReadImage | LeftReason> {
  const inline = "data" in image;
  if (!inline && image.kind === "link") return "link";
  // What was kept as a file is none of these images, or is not to be shown as one.
  if (!inline && image.kind === "file") return "mediaType";
  // As far as it can be told without the bytes.
  const early = refusal(inline ? Math.floor((image.data.length * 3) / 4) - 2 : image.size, room);
  if (early !== undefined) return early;
  const bytes = inline
    ? (decodeBase64(padBase64(image.data)) ?? "corrupt")
    : await readPayload(blobs, image.blob, signal);
  if (typeof bytes === "string") return bytes;
  const media = sniff(bytes);
  if (media?.kind !== "image") return "mediaType";
  return refusal(bytes.length, room) ?? { mediaType: media.mediaType, bytes };
}

/** What a frame still has room for. */
interface Room {
  readonly images: number;
  readonly bytes: number;
}

function refusal(bytes: number, room: Room): LeftReason | undefined {
  if (room.images === 0) return "imageCount";
  if (bytes > tetherLimits.maxImageBytes) return "imageBytes";
  return bytes > room.bytes ? "frameBytes" : undefined;
}

/**
 * The images that tools and the model made in the current turn, oldest first: what an agent sends along with its answer. Those
 * that a tool gave inline are among them. What a tool merely names, by a path or a link, is not, nor is what a view of this turn
 * shows the model again.
 *
 * @example
 * ```ts
 * producedImages(contextOf([userMessage("hi")])); // []
 * ```
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
  return items.slice(start).flatMap(({ message }, at) => {
    if (message.role !== "toolResult" && message.role !== "assistant") return [];
    return message.content.flatMap((block: Block): readonly (StoredResource | ImageBlock)[] => {
      if (block.type === "image") return [block];
      const resource = resourceOf(block);
      if (resource?.kind !== "image") return [];
      return start + at >= (viewedAt.get(resource.resourceId) ?? items.length) ? [] : [resource];
    });
  });
}

type Block = (AssistantMessage | ToolResultMessage)["content"][number];

/** Options of {@link finishTurn}. */
export interface FinishTurnOptions extends OutgoingOptions, FrameOptions {
  /** Images to send. By default those of {@link producedImages}. */
  readonly images?: readonly OutgoingImage[];
}

/** The end of a turn, to be sent. */
export interface FinishedTurn extends Pick<OutgoingImages, "left"> {
  readonly frame: AssistantDoneFrame;
}

/**
 * The `assistant.done` frame that ends a turn: the text of the answer at the end of the context, and its images. Behind an answer
 * that was aborted, or that an error ended, stands its `errorMessage`, where it has one. Empty where the turn has no answer: one of an earlier
 * turn is not said again. A text so long that no image fits beside it on the wire goes without.
 *
 * @throws what {@link outgoingImages} throws; SessileError LIMIT_EXCEEDED for a text that is too long for the wire by itself
 * @throws TypeError, RangeError for a session, a message's name or a time that {@link assistantDone} does not take
 * @example
 * ```ts
 * const { frame, left } = await finishTurn({ channel: "mcp", id: "default" }, await session.context(), { blobs });
 * ```
 */
export async function finishTurn(
  session: TetherSession,
  context: Pick<Context, "items"> & Partial<Pick<Context, "views">>,
  options: FinishTurnOptions,
): Promise<FinishedTurn> {
  const text = answerOf(context);
  const room =
    tetherLimits.maxWireBytes - wireBytes(assistantDone(session, text, [], options)) - aroundImages;
  const wanted = options.images ?? producedImages(context);
  const { images, left } = await imagesWithin(wanted, options, room);
  return { frame: assistantDone(session, text, images, options), left };
}

/** More bytes than all that stands around four images in a frame, and than their base64 is rounded up by. */
const aroundImages = 512;

function answerOf(context: Pick<Context, "items">): string {
  const turn = context.items.slice(currentTurnStart(context));
  const message = turn.findLast((item) => item.message.role === "assistant")?.message;
  if (message?.role !== "assistant") return "";
  const { stopReason, errorMessage = "" } = message;
  const failure = stopReason === "error" || stopReason === "aborted" ? errorMessage : "";
  return [wordsOf(message), failure].filter((part) => part !== "").join("\n\n");
}

/** A text may come in pieces, which belong together where nothing stands between them. */
function wordsOf({ content }: AssistantMessage): string {
  let words = "";
  let apart = false;
  for (const block of content) {
    if (block.type !== "text" || block.resource !== undefined) apart = true;
    else if (block.text !== "") {
      words += apart && words !== "" ? `\n\n${block.text}` : block.text;
      apart = false;
    }
  }
  return words;
}
