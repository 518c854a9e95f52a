import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  badRequest,
  Failure,
  type FailureFacts,
  LocalChats,
  type LocalMessage,
  LocalUpdates,
  parametersOf,
  type ReceivedFile,
  readBody,
} from "./local-chats.js";

/** A call that a bot made. */
export interface LocalCall {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly file?: ReceivedFile;
}

/** A message of a person. */
export interface LocalPost {
  readonly text?: string;
  /** An image of any type; its path ends in `.jpg`, as with Telegram. */
  readonly photo?: Uint8Array;
  /** Sent as a file, with the type that the sender claims. */
  readonly document?: { readonly bytes: Uint8Array; readonly mediaType: string };
  /** A false size for the photo or document. */
  readonly toldSize?: number;
  /** All other fields of the message, such as a sticker or a media_group_id. */
  readonly fields?: object;
}

/** A failure in place of one response; `drop` closes the connection without one. */
export type LocalFault = FailureFacts | "drop";

/** A Bot API on this machine. */
export interface LocalBotApi extends AsyncDisposable {
  /** Replaces `https://api.telegram.org`. */
  readonly root: string;
  readonly token: string;
  /** Every call, oldest first, polls included. */
  readonly calls: readonly LocalCall[];
  /** A person writes to the bot. Gives the id of the update. */
  post(chatId: number, post: LocalPost): number;
  /** Adds any update; it gets the next id unless it has one. */
  push(update: { readonly update_id?: number }): number;
  /** The bot's messages in a chat, oldest first. */
  messages(chatId: number): readonly LocalMessage[];
  /** Answers the next calls of a method with these faults, one for each. */
  fail(method: string, ...faults: readonly LocalFault[]): void;
  /** Replaces the bytes of all files for later downloads. */
  swapFile(bytes: Uint8Array): void;
  /** Called before each call, such as to wait until a process is killed. */
  beforeCall: (call: LocalCall) => Promise<void> | void;
}

/**
 * Starts a server on 127.0.0.1 with the documented behaviour of the Bot API: long polls, files, messages,
 * refusals in the same form. It is strict about its input.
 *
 * @see https://core.telegram.org/bots/api and https://github.com/tdlib/telegram-bot-api, both read
 *   2026-11-22
 */
export async function startLocalBotApi(token = "123456:local-token_of-Nobody"): Promise<LocalBotApi> {
  const updates = new LocalUpdates();
  const chats = new LocalChats();
  const calls: LocalCall[] = [];
  const faults = new Map<string, LocalFault[]>();
  const files = new Map<string, { readonly path: string; readonly size: number; bytes: Uint8Array }>();

  async function serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const [, kind, given = "", rest = ""] =
      /^\/(bot|file\/bot)([^/]*)\/([^?]*)/.exec(incoming.url ?? "") ?? [];
    if (kind === undefined) throw new Failure({ error_code: 404, description: "Not Found" });
    if (given !== token) throw new Failure({ error_code: 401, description: "Unauthorized" });
    const method = kind === "bot" ? rest : "download";
    const { params, file } = await parametersOf(incoming, await readBody(incoming));
    const call = { method, params, ...(file === undefined ? {} : { file }) };
    calls.push(call);
    await api.beforeCall(call);
    const fault = faults.get(method)?.shift();
    if (fault === "drop") return void incoming.socket.destroy();
    if (fault !== undefined) throw new Failure(fault);
    if (method !== "download") {
      answer(outgoing, 200, { ok: true, result: await resultOf(call, outgoing) });
      return;
    }
    const found = [...files.values()].find(({ path }) => path === decodeURIComponent(rest));
    if (found === undefined) throw new Failure({ error_code: 404, description: "Not Found" });
    outgoing.writeHead(200, { "content-type": "application/octet-stream" }).end(found.bytes);
  }

  async function resultOf({ method, params, file }: LocalCall, outgoing: ServerResponse): Promise<unknown> {
    switch (method) {
      case "getUpdates":
        return updates.get(params, outgoing);
      case "getFile":
        return describe(String(params.file_id));
      case "sendMessage":
        return chats.send(params);
      case "sendPhoto":
        return chats.sendFile("photo", params, file);
      case "sendDocument":
        return chats.sendFile("document", params, file);
      case "editMessageText":
        return chats.edit(params);
      case "deleteMessage":
        return chats.remove(params);
      case "sendChatAction":
        return chats.act(params);
      default:
        throw new Failure({ error_code: 404, description: "Not Found: method not found" });
    }
  }

  function describe(fileId: string): object {
    const file = files.get(fileId);
    if (file === undefined) throw badRequest("wrong file_id or the file is temporarily unavailable");
    if (file.size > 20e6) throw badRequest("file is too big");
    return { file_id: fileId, file_unique_id: `u${fileId}`, file_size: file.size, file_path: file.path };
  }

  function keep(bytes: Uint8Array, folder: string, toldSize = bytes.length) {
    const fileId = `file${files.size}`;
    // A photo's path always ends in .jpg.
    files.set(fileId, { path: `${folder}/file_${files.size}.jpg`, size: toldSize, bytes });
    return { file_id: fileId, file_unique_id: `u${fileId}`, file_size: toldSize };
  }

  function contentOf({ text, photo, document, toldSize, fields }: LocalPost): object {
    const words = photo === undefined && document === undefined ? { text } : { caption: text };
    return {
      ...(text === undefined ? {} : words),
      ...(photo === undefined ? {} : { photo: sizesOf(photo, toldSize) }),
      ...(document && {
        document: { ...keep(document.bytes, "documents", toldSize), mime_type: document.mediaType },
      }),
      ...fields,
    };
  }

  /** Sizes of a photo, the largest in the middle: the order is not guaranteed. */
  function sizesOf(photo: Uint8Array, toldSize: number | undefined): readonly object[] {
    const small = { ...keep(photo.subarray(0, 10), "photos"), width: 90, height: 60 };
    const full = { ...keep(photo, "photos", toldSize), width: 1280, height: 853 };
    return [small, full, { ...small, width: 320, height: 213 }];
  }

  const server = createServer((incoming, outgoing) => {
    serve(incoming, outgoing).catch((error: unknown) => {
      if (outgoing.headersSent) return;
      const odd = { error_code: 500, description: `Internal Server Error: ${String(error)}` };
      const facts = error instanceof Failure ? error.facts : odd;
      answer(outgoing, facts.error_code, { ok: false, ...facts });
    });
  });
  // Node ends an idle connection after 5 s, perhaps just when a client sends its next request.
  server.keepAliveTimeout = 65_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const api: LocalBotApi = {
    root: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token,
    calls,
    beforeCall: () => undefined,
    post(chatId, post) {
      const from = { id: chatId, is_bot: false, first_name: "Ada", last_name: "Byron" };
      const chat = chats.open(chatId);
      return updates.push({
        message: { message_id: chats.nextId(), date: 1_790_000_000, chat, from, ...contentOf(post) },
      });
    },
    push: (update) => updates.push(update),
    messages: (chatId) => chats.messages(chatId),
    fail: (method, ...more) => void faults.set(method, [...(faults.get(method) ?? []), ...more]),
    swapFile(bytes) {
      for (const file of files.values()) file.bytes = bytes;
    },
    async [Symbol.asyncDispose]() {
      updates.close();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return api;
}

function answer(outgoing: ServerResponse, status: number, body: object): void {
  if (outgoing.destroyed) return;
  outgoing.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
