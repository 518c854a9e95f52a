import { checkLimits, limitProfiles } from "sessile/limits";
import type { FrameImage } from "sessile/tether";
import { type BotApi, fieldsOf, integerOf, TelegramError } from "./bot-api.js";
import { type Clock, patiently } from "./retry.js";

/** Of a caption, in UTF-16 code units after entities are parsed. https://core.telegram.org/bots/api#sendphoto, read 2026-11-22. */
const maxCaptionUnits = 1024;
/** Of a message, likewise. https://core.telegram.org/bots/api#sendmessage, read 2026-11-22. */
export const maxTextUnits = 4096;

/** What of an image a plan looks at. */
export type OutgoingImage = Omit<FrameImage, "bytes"> & { readonly bytes: Pick<Uint8Array, "length"> };

/** How an image goes out. */
export type ImageMethod = "sendPhoto" | "sendDocument";

/** An image to be sent. */
export interface ImageSend {
  /** Which one of the images. */
  readonly image: number;
  /** To be tried in this order until one is taken. */
  readonly methods: readonly [ImageMethod, ...ImageMethod[]];
  readonly caption?: string;
}

/** An answer as calls of the Bot API, in order: all of `images`, then all of `texts`. */
export interface OutgoingPlan {
  readonly images: readonly ImageSend[];
  readonly texts: readonly string[];
  /** In place of `texts`, when the image with the caption could not be sent: so its text is never lost. */
  readonly textsWithoutCaption: readonly string[];
}

/**
 * How an answer is sent: images first, so that text and images do not mix. Text that fits is the caption of the first image;
 * longer text follows in pieces. It has no entities, so that its length is what Telegram counts. Pure.
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
  // As a photo, only its first picture would be left: https://github.com/nickoala/telepot/issues/159, read 2026-11-22.
  if (mediaType === "image/gif") return ["sendDocument"];
  const item = { mediaType, size: bytes.length, width, height };
  const fits = checkLimits([item], limitProfiles.telegram, { transport: "photo" }).length === 0;
  return fits ? ["sendPhoto", "sendDocument"] : ["sendDocument"];
}

/** White space, and what else Telegram shows nothing for: a message of these alone is refused as empty. */
const blank = /^[\s\u200b-\u200f\u2060-\u2064]*$/;

/** Whether there is nothing in it to be sent. */
export function isBlank(text: string): boolean {
  return blank.test(text);
}

/**
 * Cuts a text into pieces of at most so many UTF-16 code units, which is how Telegram counts. A cut is behind the last line end
 * that fits, else behind the last space, if that leaves half of a piece; and never inside a surrogate pair. Joined, the pieces
 * are the text, but for pieces of nothing but white space, which Telegram refuses.
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

/** What one can do in a chat. Every method rejects with a TelegramError. */
export interface Chat {
  /** Gives the id of the message. */
  sendText(text: string): Promise<number>;
  /** A text that is there already is no error. */
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
 * A chat behind the Bot API. A group that has become a supergroup is followed to its new id.
 *
 * @param again how a call is made: by default patiently
 * @see https://core.telegram.org/bots/api#available-methods read 2026-11-22
 */
export function chatOf(api: BotApi, chatId: number, clock: Clock, again: typeof patiently = patiently): Chat {
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
 * Carries out a plan. Where there are no images, the message that is there already becomes the first text. Where there are some,
 * they go out first and the text behind them, and then that message is deleted: it stands above the images, and so the text is in the
 * chat at every moment.
 *
 * @returns which images were not taken, in any way
 * @throws TelegramError when text could not be sent
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
  // One that cannot be deleted any more stays.
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

/** Whether the message now has the text: somebody may have deleted it. */
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
