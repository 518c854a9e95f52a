import type { BotApi } from "./bot-api.js";
import type { Clock } from "./clock.js";
import { fieldsOf, integerOf } from "./fields.js";
import { patiently } from "./patience.js";
import { TelegramError } from "./telegram-error.js";

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
