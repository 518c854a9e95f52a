/**
 * Frames for the gateway: images of a turn and its last message, the builders of frames, and the way of a
 * checked message into a session.
 */

import { type IngestOptions, ingest } from "../attachments/index.js";
import { currentTurnStart, readPayload } from "../attachments/internal.js";
import { type BlobStore, digest } from "../blobs/index.js";
import {
  type AssistantMessage,
  blockResource,
  type Context,
  type ImageBlock,
  type Resource,
  type StoredResource,
  type ToolResultMessage,
  type UserMessage,
  userMessage,
} from "../content/index.js";
import { blockAttachments } from "../content/internal.js";
import { tetherLimits } from "../content/limits/index.js";
import { type ImageMediaType, sniff } from "../content/media/index.js";
import { describe, stringArgument } from "../core/arguments.js";
import { decodeBase64, encodeBase64, padBase64 } from "../core/base64.js";
import { encodeUtf8 } from "../core/bytes.js";
import { uuidv7 } from "../core/ids.js";
import { isRecord } from "../core/shape.js";
import {
  type CheckedUserMessage,
  checkFrame,
  ensureChecked,
  imageTooLarge,
  invalidImage,
  isImageType,
  limitExceeded,
  unsupportedType,
  wireBytes,
} from "./check.js";
import type {
  AssistantDeltaFrame,
  AssistantDoneFrame,
  TetherFrame,
  TetherImage,
  TetherSession,
  UserMessageFrame,
  UserMessagePayload,
} from "./frame.js";

/** An image that can be sent: a resource, or an inline image of a message. */
export type OutgoingImage = Resource | ImageBlock;

/**
 * Why a frame omits an image. `missing`: the store has no such blob. `corrupt`: the bytes do not match their
 * digest, or the base64 is invalid. `link`: a link, whose target was never fetched. `mediaType`: a type that
 * frames do not take. `imageBytes`, `frameBytes`, `imageCount`: the limit that it exceeds, alone or together
 * with the images before it.
 */
type OmittedReason =
  | "missing"
  | "corrupt"
  | "link"
  | "mediaType"
  | "imageBytes"
  | "frameBytes"
  | "imageCount";

/** Images for a frame, and the images that it omits. */
interface OutgoingImages {
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
interface FinishedTurn extends Pick<OutgoingImages, "omitted"> {
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

// Builders of frames. They run the same check as readers of frames.

/** Options of the builders of frames. */
export interface FrameOptions {
  /** Default: a UUID of version 7. The deltas and the end of one answer share an id: pass it. */
  readonly msgId?: string | undefined;
  /** Default: now. */
  readonly ts?: Date | undefined;
}

/**
 * Builds a `user.message` frame. Fields outside the protocol are dropped, so that the reserved `ref` is never
 * sent.
 *
 * @throws SessileError as {@link checkFrame}, and LIMIT_EXCEEDED for a frame that is too long for the wire:
 *   senders refuse before they send
 * @throws TypeError for a session without channel and id; RangeError for an invalid `ts`, or one outside the
 *   years 0 to 9999
 * @example
 * ```ts
 * const session = { channel: "mcp", id: "default" };
 * const frame = userMessageFrame(session, { text: "What is this?", images: [tetherImage(bytes)] });
 * ```
 */
export function userMessageFrame(
  session: TetherSession,
  payload: UserMessagePayload,
  options: FrameOptions = {},
): UserMessageFrame {
  const { text, images, user } = payload;
  return buildFrame("user.message", session, options, {
    text,
    ...withImages(images),
    ...(user === undefined ? {} : { user: pickFields(user, ["id", "name"]) }),
  });
}

/** Builds an `assistant.delta` frame, which has text only. Checked as by {@link userMessageFrame}. */
export function assistantDelta(
  session: TetherSession,
  text: string,
  options: FrameOptions = {},
): AssistantDeltaFrame {
  return buildFrame("assistant.delta", session, options, { text });
}

/**
 * Builds an `assistant.done` frame, with or without images. Checked as by {@link userMessageFrame}.
 *
 * @example
 * ```ts
 * assistantDone({ channel: "mcp", id: "default" }, "Done.").payload; // { text: "Done." }
 * ```
 */
export function assistantDone(
  session: TetherSession,
  text: string,
  images: readonly TetherImage[] = [],
  options: FrameOptions = {},
): AssistantDoneFrame {
  return buildFrame("assistant.done", session, options, { text, ...withImages(images) });
}

/**
 * Encodes an image for the wire: the sniffed type, and base64.
 *
 * @throws SessileError MEDIA_INVALID for a damaged image; LIMIT_EXCEEDED for more than 10 MiB, or other
 *   bytes than PNG, JPEG, GIF or WebP
 */
export function tetherImage(bytes: Uint8Array): TetherImage {
  const media = sniff(bytes);
  if (bytes.length > tetherLimits.maxImageBytes) {
    throw limitExceeded(imageTooLarge(bytes.length, 0, "image"));
  }
  if (media?.kind === "invalid") throw invalidImage(media);
  if (media?.kind !== "image" || !isImageType(media.mediaType)) {
    throw limitExceeded(unsupportedType(media?.mediaType ?? "application/octet-stream", 0, "image"));
  }
  return { media_type: media.mediaType, data: encodeBase64(bytes) };
}

/** Runs the check of the receiving side. */
function buildFrame<Frame extends TetherFrame>(
  type: Frame["type"],
  session: TetherSession,
  { msgId, ts }: FrameOptions,
  payload: Frame["payload"],
): Frame {
  const frame: TetherFrame = {
    v: 1,
    type,
    ts: printTime(ts),
    session: sessionArgument(session),
    msg_id: msgId === undefined ? uuidv7(Date.now()) : stringArgument("msgId", msgId),
    payload,
  };
  return checkFrame(frame).frame as Frame;
}

/** The years of the wire have four digits. */
function printTime(ts: Date = new Date()): string {
  const year = ts instanceof Date ? ts.getUTCFullYear() : Number.NaN;
  if (year >= 0 && year <= 9999) return ts.toISOString();
  throw new RangeError(`ts: expected a Date from the year 0 to 9999, got ${describe(ts)}`);
}

/** Omits an empty `images`, so that a frame of text is equal to one of a version without images. */
function withImages(images: readonly TetherImage[] | undefined): Pick<UserMessagePayload, "images"> {
  if (images === undefined) return {};
  if (!Array.isArray(images)) return { images };
  return images.length === 0
    ? {}
    : { images: images.map((image) => pickFields(image, ["media_type", "data"])) };
}

/** Copies the named fields. A value that is not an object is left to the check. */
function pickFields<T extends object>(from: T, fields: readonly (keyof T & string)[]): T {
  if (!isRecord(from)) return from;
  return Object.fromEntries(
    fields.filter((field) => from[field] !== undefined).map((field) => [field, from[field]]),
  ) as T;
}

// The way of a checked message into a session.

/**
 * Converts a checked message to a user message for a session. Its images are stored in the blob store, byte
 * for byte, and the message refers to them as resources after the text. They are durable once it resolves, so
 * that the message can be appended. Projections prefix the text with the user's name. Without images the
 * content is a string; with images, an empty text is left out. A value that did not pass the check in this
 * process is checked here.
 *
 * @throws SessileError as {@link checkFrame} and the store
 * @example
 * ```ts
 * const checked = checkFrame(json);
 * if (checked.kind === "userMessage") await session.appendMessage(await receiveMessage(checked, { blobs }));
 * ```
 */
export async function receiveMessage(
  checked: CheckedUserMessage,
  options: Pick<IngestOptions, "blobs" | "newId" | "signal">,
): Promise<UserMessage> {
  const { frame, images } = ensureChecked(checked);
  const { text, user } = frame.payload;
  const { blobs, newId, signal } = options;
  const resources = await ingest(
    images.map(({ bytes }) => ({ bytes })),
    { blobs, newId, signal, source: "upload" },
  );
  const texts = text === "" && resources.length > 0 ? [] : [text];
  const message = userMessage(...texts, ...resources);
  return user?.name === undefined ? message : { ...message, name: user.name };
}

// The id of the session that stores a conversation.

/**
 * Derives the session id of a conversation: `tether-` and 32 hexadecimal digits of a digest over instance,
 * channel and id. It is deterministic, and differs between conversations: names joined by a separator would
 * collide (`a_b` and `c`, `a` and `b_c`), and external ids may be paths.
 *
 * @param instance the agent, if several agents share a store
 * @throws TypeError for a name that is not a non-empty string
 * @example
 * ```ts
 * tetherSessionId({ channel: "telegram", id: "42" }); // "tether-f9dc6f1bb5d8bfc01efc800772fde4cf"
 * ```
 */
export function tetherSessionId(session: TetherSession, instance?: string): string {
  const { channel, id } = sessionArgument(session);
  const agent = instance === undefined ? null : stringArgument("instance", instance);
  // JSON delimits the names, and escapes lone surrogates, which UTF-8 would replace.
  const names = encodeUtf8(JSON.stringify([agent, channel, id]));
  return `tether-${digest(names).slice("sha256:".length, "sha256:".length + 32)}`;
}

/**
 * Validates a session argument, and copies its two names. @throws TypeError with the name of the invalid one
 */
function sessionArgument(session: TetherSession): TetherSession {
  if (typeof session !== "object" || session === null) {
    throw new TypeError(`session: expected an object with channel and id, got ${describe(session)}`);
  }
  return {
    channel: stringArgument("session.channel", session.channel),
    id: stringArgument("session.id", session.id),
  };
}
