/**
 * A reply over HTTP, by the reading part of the Durable Streams protocol: catch-up, long-poll and server-sent events,
 * from any offset.
 *
 * @see https://github.com/durable-streams/durable-streams/blob/main/PROTOCOL.md (version 1.0, read 2026-11-29)
 */

import { sleep } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import type { Session } from "../api/session.js";
import type { ReplyPart } from "../api/turn.js";

/** How long a request is kept open without news, and a connection of events. In milliseconds. */
const longPollMs = 20_000;
const eventsMs = 60_000;
/** Cursors count intervals since an epoch that the protocol names, and only grow. */
const cursorEpoch = Date.UTC(2024, 9, 9);
const cursorMs = 20_000;

/** After the offset of the last piece: the reader has the end, too. It sorts after every digit and letter. */
const endMark = "~";

/** What of a reply follows an offset. */
interface Read {
  readonly messages: readonly object[];
  readonly offset: string;
  readonly hasEnded: boolean;
}

/**
 * Answers a request for a reply: a stream of JSON messages, its deltas, then one of type `end`, with the id of its entry
 * and its stop reason, or `discarded`. Whoever may read the session has to be checked before.
 *
 * @param id the reply's, as `turnState` has it
 * @example
 * ```ts
 * const sessions = memorySessionStore();
 * const handler = async (request: Request, chatId: string, replyId: string) =>
 *   replyResponse(await sessions.open(chatId), replyId, request);
 * ```
 */
export async function replyResponse(session: Session, id: string, request: Request): Promise<Response> {
  const { searchParams } = new URL(request.url);
  const live = searchParams.get("live");
  const offset = searchParams.get("offset");
  if (request.method !== "GET" && request.method !== "HEAD") return failed(405, { allow: "GET, HEAD" });
  if (live !== null && ((live !== "long-poll" && live !== "sse") || offset === null)) return failed(400);
  const cursor = nextCursor(searchParams.get("cursor"));
  const { signal } = request;
  try {
    const isNow = offset === "now" || request.method === "HEAD";
    const from = isNow || offset === null || offset === "-1" ? undefined : offset;
    if (!(await isOffset(from))) return failed(400);
    const found = await read(session, id, from);
    const start: Read = isNow ? { ...found, messages: [] } : found;
    if (request.method === "HEAD") return answer("", start, { "cache-control": "no-store" });
    if (live === "sse") return events(session, id, start, cursor, signal);
    if (live === null) {
      const tag = `"${id}:${from ?? "-1"}:${start.offset}"`;
      const headers: Record<string, string> = isNow ? {} : { etag: tag };
      if (!isNow && request.headers.get("if-none-match") === tag) return failed(304, headers);
      return answer(JSON.stringify(start.messages), start, headers);
    }
    const news = start.messages.length > 0 || start.hasEnded ? start : await wait(session, id, start, signal);
    const headers = { "stream-cursor": cursor };
    if (news.messages.length === 0) return answer(null, news, headers, 204);
    return answer(JSON.stringify(news.messages), news, headers);
  } catch (error) {
    if (SessileError.is(error, "REPLY_NOT_FOUND") || SessileError.is(error, "SESSION_NOT_FOUND"))
      return failed(404);
    throw error;
  }
}

async function isOffset(from: string | undefined): Promise<boolean> {
  const { parseReplyOffset } = await import("./reply-log.js");
  try {
    parseReplyOffset(from?.endsWith(endMark) === true ? from.slice(0, -endMark.length) : from);
    return true;
  } catch {
    return false;
  }
}

async function read(session: Session, id: string, from: string | undefined): Promise<Read> {
  const hadEnd = from?.endsWith(endMark) === true;
  const after = hadEnd ? from.slice(0, -endMark.length) : from;
  const messages: object[] = [];
  let offset = after ?? "";
  let hasEnded = false;
  for await (const part of session.followReply(id, {
    live: false,
    ...(after === undefined ? {} : { from: after }),
  })) {
    ({ offset, hasEnded } = place(part));
    if (!hadEnd) for (const message of messagesOf(part)) messages.push(message);
  }
  return { messages, offset: offset === "" ? firstOffset : offset, hasEnded };
}

/** The offset of a reply without a piece. */
const firstOffset = "000000000000";

/** Waits for the next part, or until the time is over. */
async function wait(session: Session, id: string, start: Read, signal: AbortSignal): Promise<Read> {
  const until = AbortSignal.any([signal, AbortSignal.timeout(longPollMs)]);
  for await (const part of session.followReply(id, { from: start.offset, signal: until })) {
    // Its process has ended: a client that asks at once again would learn no more.
    if (part.type === "interrupted") await sleep(longPollMs, until).catch(() => undefined);
    else return { messages: messagesOf(part), ...place(part) };
  }
  return start;
}

function events(session: Session, id: string, start: Read, cursor: string, signal: AbortSignal): Response {
  const closed = new AbortController();
  const until = AbortSignal.any([signal, closed.signal, AbortSignal.timeout(eventsMs)]);
  const encoder = new TextEncoder();
  async function* texts(): AsyncGenerator<string> {
    yield eventText(start, cursor);
    if (start.hasEnded) return;
    for await (const part of session.followReply(id, { from: start.offset, signal: until })) {
      if (part.type === "interrupted") return;
      yield eventText({ messages: messagesOf(part), ...place(part) }, cursor);
    }
  }
  const source = texts();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await source.next();
      if (done === true) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      closed.abort();
      await source.return(undefined);
    },
  });
  const headers = {
    ...common,
    "cache-control": "private, no-cache, no-store",
    "content-type": "text/event-stream",
  };
  return new Response(body, { headers });
}

function eventText({ messages, offset, hasEnded }: Read, cursor: string): string {
  const data = messages.length === 0 ? "" : `event: data\ndata: ${JSON.stringify(messages)}\n\n`;
  const control = {
    streamNextOffset: offset,
    upToDate: true,
    // A client does not reconnect to a stream that has ended.
    ...(hasEnded ? { streamClosed: true } : { streamCursor: cursor }),
  };
  return `${data}event: control\ndata: ${JSON.stringify(control)}\n\n`;
}

function place(part: ReplyPart): { readonly offset: string; readonly hasEnded: boolean } {
  const hasEnded = part.type === "end" || part.type === "discarded";
  return { offset: hasEnded ? part.offset + endMark : part.offset, hasEnded };
}

function messagesOf(part: ReplyPart): readonly object[] {
  if (part.type === "deltas") return part.deltas;
  if (part.type === "discarded") return [{ type: part.type }];
  if (part.type !== "end") return [];
  const { id, message } = part.entry;
  const stopReason = message.role === "assistant" ? message.stopReason : undefined;
  return [{ type: part.type, entryId: id, ...(stopReason === undefined ? {} : { stopReason }) }];
}

const common = {
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
  // A shared cache must not keep what people say to a model.
  "cache-control": "private, no-store",
};

function answer(
  body: string | null,
  { offset, hasEnded }: Read,
  headers: Readonly<Record<string, string>>,
  status = 200,
): Response {
  return new Response(body, {
    status,
    headers: {
      ...common,
      ...(body === null ? {} : { "content-type": "application/json" }),
      "stream-next-offset": offset,
      "stream-up-to-date": "true",
      ...(hasEnded ? { "stream-closed": "true" } : {}),
      ...headers,
    },
  });
}

function failed(status: number, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, { status, headers: { ...common, ...headers } });
}

/** The interval of now; one after the client's if that is as late. */
function nextCursor(given: string | null): string {
  const now = Math.floor((Date.now() - cursorEpoch) / cursorMs);
  const last = Number(given ?? Number.NaN);
  return String(
    last >= now && last < Number.MAX_SAFE_INTEGER ? last + 1 + Math.floor(Math.random() * 180) : now,
  );
}
