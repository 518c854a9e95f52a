import type { IncomingMessage, ServerResponse } from "node:http";
import { sniff } from "sessile/media";

/** A message of the bot in a chat. */
export interface LocalMessage {
  readonly messageId: number;
  readonly text?: string;
  readonly caption?: string;
  readonly photo?: ReceivedFile;
  readonly document?: ReceivedFile;
}

type Params = Readonly<Record<string, unknown>>;

/** The chats of a bot. A bot can only write to a chat that a person opened. */
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

/** Text without surrounding white space, checked against the maximum length. */
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
  const { width = 0, height = 0 } = media;
  const ratio = Math.max(width / height, height / width);
  if (width + height > 10_000 || ratio > 20) throw badRequest("PHOTO_INVALID_DIMENSIONS");
}

/**
 * The body of a refusal, but for `ok`. https://core.telegram.org/bots/api#making-requests, read 2026-11-22.
 */
export interface FailureFacts {
  readonly error_code: number;
  readonly description: string;
  readonly parameters?: { readonly retry_after?: number; readonly migrate_to_chat_id?: number };
}

/** A call that is refused. */
export class Failure extends Error {
  constructor(readonly facts: FailureFacts) {
    super(facts.description);
  }
}

export function badRequest(why: string): Failure {
  return new Failure({ error_code: 400, description: `Bad Request: ${why}` });
}

/** The response to a call that comes too soon. */
export function tooManyRequests(seconds: number): FailureFacts {
  return {
    error_code: 429,
    description: `Too Many Requests: retry after ${seconds}`,
    parameters: { retry_after: seconds },
  };
}

/** A file as it was uploaded. */
export interface ReceivedFile {
  readonly field: string;
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/**
 * The largest accepted file, and its multipart envelope. https://core.telegram.org/bots/api#senddocument,
 * read 2026-11-22.
 */
const maxBodyBytes = 50e6 + 100_000;

export async function readBody(incoming: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBodyBytes)
      throw new Failure({ error_code: 413, description: "Request Entity Too Large" });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The parameters of a call, from its query, JSON, a form or multipart. */
export async function parametersOf(
  incoming: IncomingMessage,
  body: Uint8Array,
): Promise<{ readonly params: Readonly<Record<string, unknown>>; readonly file?: ReceivedFile }> {
  const query = Object.fromEntries(new URL(incoming.url ?? "/", "http://localhost").searchParams);
  const type = incoming.headers["content-type"] ?? "";
  if (body.length === 0) return { params: query };
  if (type.startsWith("application/json")) {
    return { params: { ...query, ...jsonOf(new TextDecoder().decode(body)) } };
  }
  const response = new Response(Uint8Array.from(body), { headers: { "content-type": type } });
  const params: Record<string, unknown> = query;
  let file: ReceivedFile | undefined;
  for (const [field, value] of await response.formData()) {
    if (typeof value === "string") params[field] = value;
    else {
      const bytes = new Uint8Array(await value.arrayBuffer());
      file = { field, name: value.name, mediaType: value.type, bytes };
    }
  }
  return file === undefined ? { params } : { params, file };
}

function jsonOf(text: string): object {
  try {
    return JSON.parse(text) as object;
  } catch {
    throw badRequest("can't parse JSON");
  }
}

interface WaitingPoll {
  readonly answer: (updates: readonly object[]) => void;
  readonly refuse: (failure: Failure) => void;
}

/** The unconfirmed updates, and the one waiting poll. */
export class LocalUpdates {
  #updates: { readonly update_id: number }[] = [];
  #nextId = 800_000_001;
  #waiting: WaitingPoll | undefined;

  push(update: { readonly update_id?: number; readonly message?: object }): number {
    const id = update.update_id ?? this.#nextId++;
    this.#updates.push({ ...update, update_id: id });
    this.#waiting?.answer(this.#updates.slice(0, 100));
    return id;
  }

  /**
   * A poll with an offset confirms the updates below it; without one, or with 0, it confirms none. A second
   * poll ends the first.
   */
  async get(params: Readonly<Record<string, unknown>>, outgoing: ServerResponse): Promise<readonly object[]> {
    this.#waiting?.refuse(conflict());
    const [offset, timeout] = [Number(params.offset ?? 0), Math.min(Number(params.timeout ?? 0), 50)];
    const limit = Math.min(Math.max(Number(params.limit ?? 100), 1), 100);
    if (offset < 0) this.#updates = this.#updates.slice(offset);
    if (offset > 0) this.#updates = this.#updates.filter(({ update_id: id }) => id >= offset);
    if (this.#updates.length > 0 || timeout <= 0) return this.#updates.slice(0, limit);
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        outgoing.off("close", empty);
        if (this.#waiting === poll) this.#waiting = undefined;
      };
      const poll: WaitingPoll = {
        answer: (updates) => {
          end();
          resolve(updates);
        },
        refuse: (failure) => {
          end();
          reject(failure);
        },
      };
      const empty = () => poll.answer([]);
      const timer = setTimeout(empty, timeout * 1000);
      outgoing.on("close", empty);
      this.#waiting = poll;
    });
  }

  close(): void {
    this.#waiting?.answer([]);
  }
}

function conflict(): Failure {
  return new Failure({
    error_code: 409,
    description:
      "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
  });
}
