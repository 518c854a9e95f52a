import { tetherLimits } from "sessile/limits";
import type { TetherUser } from "sessile/tether";
import { arrayOf, type Fields, fieldsOf, integerOf, textOf } from "./bot-api.js";

/** A photo to be fetched with getFile. */
export interface PhotoToFetch {
  readonly fileId: string;
  /** Bytes, as Telegram claims; the download has its own limit. */
  readonly size?: number;
}

/** The task for an update, as JSON for the inbox. */
export type IncomingPlan =
  | {
      readonly kind: "message";
      readonly chatId: number;
      /** The text or the caption; empty for a photo without one. */
      readonly text: string;
      readonly user?: TetherUser;
      readonly photo?: PhotoToFetch;
      /** The album, if this is its first photo. */
      readonly album?: string;
    }
  | { readonly kind: "reply"; readonly chatId: number; readonly text: string; readonly album?: string }
  | { readonly kind: "ignore"; readonly why: IgnoreReason };

/** The reason for no task. `kind`: a sticker, a video, a service message or another unsupported message. */
export type IgnoreReason = "notAMessage" | "bot" | "album" | "kind";

/**
 * Plans the task for an update of the Bot API. Pure; never throws.
 *
 * The text of a message is its text or its caption. The largest size of a photo counts, in any order. A
 * document with an image type is a photo. An album is one message for each photo with a shared
 * `media_group_id`: only the first is taken.
 *
 * @param albums the albums of earlier plans, as many as the caller remembers
 * @see https://core.telegram.org/bots/api#message read 2026-11-22
 */
export function planIncoming(update: unknown, albums: ReadonlySet<string>): IncomingPlan {
  const message = fieldsOf(fieldsOf(update)?.message);
  const chatId = integerOf(fieldsOf(message?.chat)?.id);
  if (message === undefined || chatId === undefined) return { kind: "ignore", why: "notAMessage" };
  const from = fieldsOf(message.from);
  // Two bots that answer each other would never stop.
  if (from?.is_bot === true) return { kind: "ignore", why: "bot" };
  const picture = largestPhoto(message) ?? imageDocument(message);
  const text = (picture === undefined ? textOf(message.text) : textOf(message.caption)) ?? "";
  if (picture === undefined && text.trim() === "") return { kind: "ignore", why: "kind" };
  const group = textOf(message.media_group_id);
  const album = group === undefined ? undefined : `${chatId} ${group}`;
  if (album !== undefined && albums.has(album)) return { kind: "ignore", why: "album" };
  const place = { chatId, ...(album === undefined ? {} : { album }) };
  const refusal = picture === undefined ? undefined : refusalOf(picture);
  if (refusal !== undefined) return { kind: "reply", ...place, text: refusal };
  const user = userOf(from);
  return {
    kind: "message",
    ...place,
    text,
    ...(user === undefined ? {} : { user }),
    ...(picture === undefined ? {} : { photo: photoOf(picture) }),
  };
}

/** The refusal of a large image, with its size if known. */
export function tooLarge(bytes?: number): string {
  const max = `max ${tetherLimits.maxImageBytes / mebibyte} MiB`;
  if (bytes === undefined) return `That image is too large (${max}).`;
  return `That image is too large: ${Math.ceil((10 * bytes) / mebibyte) / 10} MiB (${max}).`;
}

const mebibyte = 2 ** 20;

/** The refusal of another type of image. */
export const imageTypesTaken = "I can look at PNG, JPEG, GIF and WebP images.";

interface Picture {
  readonly fileId: string;
  readonly size: number | undefined;
  /** As the sender claims; absent for photos, which Telegram converts to JPEG. */
  readonly mediaType?: string;
}

function largestPhoto(message: Fields): Picture | undefined {
  let largest: Picture | undefined;
  let largestArea = -1;
  for (const size of arrayOf(message.photo).map(fieldsOf)) {
    const [fileId, width, height] = [textOf(size?.file_id), integerOf(size?.width), integerOf(size?.height)];
    if (fileId === undefined || width === undefined || height === undefined) continue;
    if (width < 0 || height < 0 || width * height <= largestArea) continue;
    largest = { fileId, size: integerOf(size?.file_size) };
    largestArea = width * height;
  }
  return largest;
}

function imageDocument(message: Fields): Picture | undefined {
  const document = fieldsOf(message.document);
  const [fileId, mediaType] = [textOf(document?.file_id), textOf(document?.mime_type)?.toLowerCase()];
  if (fileId === undefined || mediaType?.startsWith("image/") !== true) return undefined;
  return { fileId, size: integerOf(document?.file_size), mediaType };
}

function refusalOf({ size, mediaType }: Picture): string | undefined {
  const types: readonly string[] = tetherLimits.imageTypes;
  if (mediaType !== undefined && !types.includes(mediaType)) return imageTypesTaken;
  return size !== undefined && size > tetherLimits.maxImageBytes ? tooLarge(size) : undefined;
}

function photoOf({ fileId, size }: Picture): PhotoToFetch {
  return size === undefined || size < 0 ? { fileId } : { fileId, size };
}

function userOf(from: Fields | undefined): TetherUser | undefined {
  const id = integerOf(from?.id);
  if (id === undefined) return undefined;
  const name = [textOf(from?.first_name), textOf(from?.last_name)].filter((part) => part?.trim()).join(" ");
  return { id: String(id), ...(name === "" ? {} : { name }) };
}
