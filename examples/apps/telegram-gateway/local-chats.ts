import { sniff } from "sessile/media";
import type { ReceivedFile } from "./local-bot-request.js";
import { badRequest } from "./local-failure.js";

/** A message of the bot as it stands in a chat. */
export interface LocalMessage {
  readonly messageId: number;
  readonly text?: string;
  readonly caption?: string;
  readonly photo?: ReceivedFile;
  readonly document?: ReceivedFile;
}

type Params = Readonly<Record<string, unknown>>;

/** The chats of a bot. A bot speaks only in those that somebody opened. */
export class LocalChats {
  readonly #chats = new Map<number, LocalMessage[]>();
  #lastId = 0;

  nextId(): number {
    return ++this.#lastId;
  }

  open(chatId: number): object {
    if (!this.#chats.has(chatId)) this.#chats.set(chatId, []);
    return { id: chatId, type: "private", first_name: "Ada" };
  }

  messages(chatId: number): readonly LocalMessage[] {
    return this.#chats.get(chatId) ?? [];
  }

  send(params: Params): object {
    return this.#add(params, { text: shownText(params.text, 4096, "message") });
  }

  sendFile(kind: "photo" | "document", params: Params, file: ReceivedFile | undefined): object {
    if (file?.field !== kind) throw badRequest(`there is no ${kind} in the request`);
    if (file.bytes.length === 0) throw badRequest("file must be non-empty");
    if (kind === "photo") checkPhoto(file.bytes);
    const caption =
      params.caption === undefined ? undefined : shownText(params.caption, 1024, "message caption");
    return this.#add(params, { [kind]: file, ...(caption === undefined ? {} : { caption }) });
  }

  edit(params: Params): object {
    const messages = this.#messagesOf(params);
    const at = messages.findIndex(({ messageId }) => messageId === Number(params.message_id));
    const message = messages[at];
    if (message?.text === undefined) throw badRequest("message to edit not found");
    const text = shownText(params.text, 4096, "message");
    if (text === message.text) {
      throw badRequest(
        "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
      );
    }
    messages[at] = { ...message, text };
    return { message_id: message.messageId, chat: { id: Number(params.chat_id) }, text };
  }

  remove(params: Params): true {
    const messages = this.#messagesOf(params);
    const at = messages.findIndex(({ messageId }) => messageId === Number(params.message_id));
    if (at < 0) throw badRequest("message to delete not found");
    messages.splice(at, 1);
    return true;
  }

  act(params: Params): true {
    this.#messagesOf(params);
    if (params.action !== "typing") throw badRequest("wrong parameter action in request");
    return true;
  }

  #add(params: Params, content: Omit<LocalMessage, "messageId">): object {
    const messageId = this.nextId();
    this.#messagesOf(params).push({ messageId, ...content });
    return { message_id: messageId, chat: { id: Number(params.chat_id) }, date: 1_790_000_000 };
  }

  #messagesOf({ chat_id: chatId }: Params): LocalMessage[] {
    if (chatId === undefined || chatId === "") throw badRequest("chat_id is empty");
    const messages = this.#chats.get(Number(chatId));
    if (messages === undefined) throw badRequest("chat not found");
    return messages;
  }
}

/** Text as it is shown: without white space around it, and not too long then. */
function shownText(value: unknown, maxUnits: number, what: string): string {
  const text = String(value ?? "").trim();
  if (text === "" && what === "message") throw badRequest("message text is empty");
  if (text.length > maxUnits) throw badRequest(`${what} is too long`);
  return text;
}

/** https://core.telegram.org/bots/api#sendphoto, read 2026-11-22. */
function checkPhoto(bytes: Uint8Array): void {
  const media = sniff(bytes);
  if (bytes.length > 10 * 2 ** 20) {
    const facts = `file of size ${bytes.length} bytes is too big for a photo; the maximum size is 10485760 bytes`;
    throw badRequest(facts);
  }
  if (media?.kind !== "image") throw badRequest("IMAGE_PROCESS_FAILED");
  const { width, height } = media;
  const ratio = Math.max(width / height, height / width);
  if (width + height > 10_000 || ratio > 20) throw badRequest("PHOTO_INVALID_DIMENSIONS");
}
