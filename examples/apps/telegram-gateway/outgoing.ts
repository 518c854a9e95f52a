import { checkLimits, limitProfiles } from "sessile/limits";
import type { FrameImage } from "sessile/tether";
import { type BotApi, fieldsOf, integerOf, TelegramError } from "./bot-api.js";
import { type Clock, withRetries } from "./retry.js";

/**
 * Length of a caption, in UTF-16 code units after entities are parsed.
 * https://core.telegram.org/bots/api#sendphoto, read 2026-11-22.
 */
const maxCaptionUnits = 1024;
/** Length of a message, likewise. https://core.telegram.org/bots/api#sendmessage, read 2026-11-22. */
export const maxTextUnits = 4096;

/** The fields of an image that a plan needs. */
export type OutgoingImage = Omit<FrameImage, "bytes"> & { readonly bytes: Pick<Uint8Array, "length"> };

/** The method that sends an image. */
export type ImageMethod = "sendPhoto" | "sendDocument";

/** An image to be sent. */
export interface ImageSend {
  /** The index of the image. */
  readonly image: number;
  /** Methods to try in this order until one succeeds. */
  readonly methods: readonly [ImageMethod, ...ImageMethod[]];
  readonly caption?: string;
}

/** An answer as calls of the Bot API, in order: all of `images`, then all of `texts`. */
export interface OutgoingPlan {
  readonly images: readonly ImageSend[];
  readonly texts: readonly string[];
  /** Replaces `texts` if the image with the caption could not be sent, so the text is never lost. */
  readonly textsWithoutCaption: readonly string[];
}

/**
 * Plans the messages of an answer: images first, so that text and images do not mix. Text that fits is the
 * caption of the first image; longer text follows in pieces. Text has no entities, so its length is the
 * length that Telegram counts. Pure.
 */
export function planOutgoing({
  text,
  images,
}: {
  readonly text: string;
  readonly images: readonly OutgoingImage[];
}): OutgoingPlan {
  const pieces = textPieces(text, maxTextUnits);
  const captioned = images.length > 0 && !isBlank(text) && text.length <= maxCaptionUnits;
  return {
    images: images.map((image, index) => ({
      image: index,
      methods: methodsFor(image),
      ...(captioned && index === 0 ? { caption: text } : {}),
    })),
    texts: captioned ? [] : pieces,
    textsWithoutCaption: pieces,
  };
}

function methodsFor({ mediaType, bytes, width, height }: OutgoingImage): ImageSend["methods"] {
  // As a photo it would lose all frames but the first: https://github.com/nickoala/telepot/issues/159, read
  // 2026-11-22.
  if (mediaType === "image/gif") return ["sendDocument"];
  const item = { mediaType, size: bytes.length, width, height };
  const fits = checkLimits([item], limitProfiles.telegram, { transport: "photo" }).length === 0;
  return fits ? ["sendPhoto", "sendDocument"] : ["sendDocument"];
}

/** White space and other invisible characters: Telegram refuses a message of these alone as empty. */
const blank = /^[\s\u200b-\u200f\u2060-\u2064]*$/;

/** Whether a text has nothing to send. */
export function isBlank(text: string): boolean {
  return blank.test(text);
}

/**
 * Cuts a text into pieces of at most `maxUnits` UTF-16 code units, as Telegram counts. A cut is behind the
 * last line feed that fits, otherwise behind the last space if that leaves half a piece, and never inside a
 * surrogate pair. Joined, the pieces are the text, except for blank pieces, which Telegram refuses.
 *
 * @param maxUnits at least 2
 * @see https://core.telegram.org/api/entities#entity-length read 2026-11-22
 */
export function textPieces(text: string, maxUnits: number): readonly string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length; ) {
    const end = cutAt(text, start, maxUnits);
    const piece = text.slice(start, end);
    if (!isBlank(piece)) pieces.push(piece);
    start = end;
  }
  return pieces;
}

function cutAt(text: string, start: number, maxUnits: number): number {
  const end = start + maxUnits;
  if (end >= text.length) return text.length;
  const window = text.slice(start, end);
  for (const separator of ["\n", " "]) {
    const length = window.lastIndexOf(separator) + 1;
    if (length >= maxUnits / 2) return start + length;
  }
  return splitsPair(text, end) ? end - 1 : end;
}

function splitsPair(text: string, at: number): boolean {
  const [before, after] = [text.charCodeAt(at - 1), text.charCodeAt(at)];
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}

/** The calls for one chat. Every method rejects with a TelegramError. */
export interface Chat {
  /** Returns the id of the message. */
  sendText(text: string): Promise<number>;
  /** An unchanged text is not an error. */
  editText(messageId: number, text: string): Promise<void>;
  sendImage(method: "sendPhoto" | "sendDocument", image: ChatImage, caption?: string): Promise<void>;
  deleteMessage(messageId: number): Promise<void>;
  /** Shown for five seconds. */
  showTyping(): Promise<void>;
}

/** An image with its type. */
export interface ChatImage {
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/**
 * The calls of the Bot API for one chat. If a group becomes a supergroup, its new id is used.
 *
 * @param again makes a call; by default with retries
 * @see https://core.telegram.org/bots/api#available-methods read 2026-11-22
 */
export function chatOf(
  api: BotApi,
  chatId: number,
  clock: Clock,
  again: typeof withRetries = withRetries,
): Chat {
  let id = chatId;
  async function call(
    method: string,
    params: object,
    upload?: Parameters<BotApi["call"]>[2],
  ): Promise<unknown> {
    const once = () => api.call(method, { chat_id: id, ...params }, upload);
    try {
      return await again(once, clock);
    } catch (error) {
      if (!(error instanceof TelegramError) || error.migrateTo === undefined) throw error;
      id = error.migrateTo;
      return again(once, clock);
    }
  }
  return {
    async sendText(text) {
      const messageId = integerOf(fieldsOf(await call("sendMessage", { text }))?.message_id);
      if (messageId === undefined) throw new TelegramError("sendMessage", "the answer is no message");
      return messageId;
    },
    async editText(messageId, text) {
      try {
        await call("editMessageText", { message_id: messageId, text });
      } catch (error) {
        if (!(error instanceof TelegramError && /message is not modified/.test(error.message))) throw error;
      }
    },
    async sendImage(method, { mediaType, bytes }, caption) {
      const field = method === "sendPhoto" ? "photo" : "document";
      const name = `image.${mediaType.slice("image/".length)}`;
      await call(method, caption === undefined ? {} : { caption }, {
        upload: { field, name, mediaType, bytes },
      });
    },
    async deleteMessage(messageId) {
      await call("deleteMessage", { message_id: messageId });
    },
    async showTyping() {
      await call("sendChatAction", { action: "typing" });
    },
  };
}

/** A message that showed the answer while it was written. */
export interface ShownMessage {
  readonly messageId: number;
  readonly text: string;
}

/**
 * Sends a planned answer. Without images, the shown message becomes the first text. With images, these and
 * the text are sent first, then the shown message above them is deleted, so the chat has the text at every
 * moment.
 *
 * @returns the indexes of the images that could not be sent
 * @throws TelegramError if text could not be sent
 */
export async function sendAnswer(
  chat: Chat,
  plan: OutgoingPlan,
  images: readonly ChatImage[],
  shown?: ShownMessage,
): Promise<readonly number[]> {
  const failed: number[] = [];
  for (const send of plan.images) {
    if (!(await sendImage(chat, send, images[send.image]))) failed.push(send.image);
  }
  const captionLost = plan.images.some(
    ({ image, caption }) => caption !== undefined && failed.includes(image),
  );
  const texts = captionLost ? plan.textsWithoutCaption : plan.texts;
  const kept = plan.images.length === 0 && (await replaceText(chat, shown, texts[0]));
  for (const text of kept ? texts.slice(1) : texts) await chat.sendText(text);
  // A message that cannot be deleted stays.
  if (shown !== undefined && !kept) await chat.deleteMessage(shown.messageId).catch(ignoreRefusal);
  return failed;
}

async function sendImage(chat: Chat, { methods, caption }: ImageSend, image?: ChatImage): Promise<boolean> {
  if (image === undefined) return false;
  for (const method of methods) {
    try {
      await chat.sendImage(method, image, caption);
      return true;
    } catch (error) {
      ignoreRefusal(error);
    }
  }
  return false;
}

/** Returns whether the message now has the text: a person may have deleted it. */
async function replaceText(
  chat: Chat,
  shown: ShownMessage | undefined,
  text: string | undefined,
): Promise<boolean> {
  if (shown === undefined || text === undefined) return false;
  try {
    if (shown.text !== text) await chat.editText(shown.messageId, text);
    return true;
  } catch (error) {
    ignoreRefusal(error);
    return false;
  }
}

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof TelegramError)) throw error;
}
