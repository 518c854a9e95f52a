import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  convertToModelMessages,
  generateId,
  type LanguageModel,
  pipeUIMessageStreamToResponse,
  streamText,
  type UIMessage,
  type UIMessageChunk,
  validateUIMessages,
} from "ai";
import type { BlobStore, SessionStore } from "sessile";
import { aiSdkChats } from "sessile/ai-sdk";
import type { Page } from "../../examples/apps/ai-sdk-chat/server.js";
import { readJson, sendJson } from "../../examples/apps/support/http.js";

/** The routes of the chat's page on `aiSdkChats` alone, as the guide has them: no loop, no checks of a public server. */
export async function startChatStoreServer(options: {
  readonly sessions: SessionStore;
  readonly blobs: BlobStore;
  readonly model: LanguageModel;
  readonly page: () => Promise<Page>;
}): Promise<AsyncDisposable & { readonly url: string }> {
  const { sessions, blobs, model } = options;
  const made = options.page();
  const fileUrl = ({ chatId, ref }: { readonly chatId: string; readonly ref: string }) =>
    `/api/chat/${chatId}/files/${ref}`;
  // Small files are blobs too, so that the page gets their addresses.
  const chats = aiSdkChats<UIMessage>({ sessions, blobs, fileUrl, outOfLine: 64 });
  const stops = new Map<string, AbortController>();

  async function post(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { id: chatId, messages } = (await readJson(request, 2 ** 25)) as {
      id: string;
      messages: UIMessage[];
    };
    await chats.save({ chatId, messages });
    const originalMessages = await validateUIMessages<UIMessage>({ messages: await chats.load(chatId) });
    const stop = new AbortController();
    stops.set(chatId, stop);
    const result = streamText({
      model,
      messages: await convertToModelMessages(originalMessages),
      abortSignal: stop.signal,
    });
    const stream = result.toUIMessageStream({
      originalMessages,
      generateMessageId: generateId,
      onFinish: async (end) => {
        await chats.save({ chatId, messages: end.messages });
      },
    });
    pipeUIMessageStreamToResponse({ response, stream: chats.stream<UIMessageChunk>(chatId, stream) });
  }

  async function versions(chatId: string, messageId: string) {
    const shown = new Set((await chats.load(chatId)).map((message) => JSON.stringify(message)));
    return (await chats.versions(chatId, messageId)).map(({ leafId, message }) => ({
      leafId,
      current: shown.has(JSON.stringify(message)),
    }));
  }

  async function list() {
    const found = [];
    for await (const { chatId, title = "" } of chats.list()) found.push({ id: chatId, title });
    return found;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, api, , id = "", rest = "", last = ""] = (request.url ?? "").split("/").map(decodeURIComponent);
    const route = `${request.method} ${api === "api" ? `${id === "" ? "" : ":id"}${rest && `/${rest}`}` : `/${api}`}`;
    const end = (status: number, type: string, body?: string | Uint8Array) =>
      response.writeHead(status, { "content-type": type }).end(body);
    if (route === "GET /") return void end(200, "text/html", (await made).html);
    if (route === "GET /page.js") return void end(200, "text/javascript", (await made).script);
    if (route === "POST ") return post(request, response);
    if (route === "GET ") return sendJson(response, 200, await list());
    if (route === "GET :id") return sendJson(response, 200, await chats.load(id, { files: "url" }));
    if (route === "GET :id/versions") return sendJson(response, 200, await versions(id, last));
    if (route === "DELETE :id/stream") stops.get(id)?.abort();
    if (route === "DELETE :id") await chats.delete(id);
    if (route === "POST :id/leaf") {
      const { leafId } = (await readJson(request, 1000)) as { leafId: string };
      await chats.save({ chatId: id, messages: await chats.load(id, { leafId }) });
    }
    const stream = route === "GET :id/stream" ? chats.resume<UIMessageChunk>(id) : undefined;
    if (stream !== undefined) return pipeUIMessageStreamToResponse({ response, stream });
    const file = route === "GET :id/files" ? await chats.file(id, last) : undefined;
    if (file !== undefined) return void end(200, file.mediaType, file.bytes);
    end(204, "text/plain");
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(error));
    });
  });
  // Node ends an idle connection after 5 s, perhaps just when a client sends its next request.
  server.keepAliveTimeout = 65_000;
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const stop of stops.values()) stop.abort();
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
      await chats.close();
    },
  };
}
