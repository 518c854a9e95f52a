/** The routes. Each gets the stores of its tenant, and can reach no other tenant's. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import {
  type BlobStore,
  blockResource,
  isBlobRef,
  type Resource,
  type Session,
  type SessionEntry,
  type SessionStore,
  type SessionSummary,
  type UnknownEntry,
} from "sessile";
import { ingest } from "sessile/attachments";
import { SessileError } from "sessile/errors";
import type { TurnModel } from "sessile/turn";
import { z } from "zod";
import { bodyOf, commonHeaders, openEventStream, readJson, sendJson } from "../support/http.js";
import { invalid, notFound } from "./failures.js";
import { limits } from "./limits.js";
import { answerQuestion, textOf } from "./turn.js";

/** A request of a tenant. */
export interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: URLSearchParams;
  /** The tenant. */
  readonly partition: string;
  readonly sessions: SessionStore;
  /** The tenant's own blobs. */
  readonly blobs: BlobStore;
  readonly model: TurnModel;
  /** Aborts if the service ends before the work does. */
  readonly signal: AbortSignal;
  /** Aborts as soon as the service is to end. */
  readonly draining: AbortSignal;
}

/** Answers a request; `name` is the variable part of the path. */
type Route = (call: Call, name: string) => Promise<void>;

const sessionId = z.string().regex(/^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$/);
const key = z.string().regex(/^[A-Za-z0-9_-]{8,64}$/);
const newSession = z.strictObject({ title: z.string().min(1).max(200) });
const turn = z.strictObject({
  text: z.string().min(1).max(limits.textCharacters),
  attachments: z.array(z.string()).max(limits.attachments).default([]),
});
const fork = z.strictObject({ id: sessionId, upTo: z.string().optional() });
const change = z.strictObject({ archived: z.boolean() });
const page = z.object({
  limit: z.coerce.number().int().min(1).max(limits.pageSize).default(limits.pageSize),
  after: z
    .string()
    .regex(/^-?\d+(?:\.\d+)?_./)
    .optional(),
  archived: z.enum(["true", "false"]).optional(),
});

/** Methods and paths; `*` is a name without slashes. */
export const routes: Readonly<Record<string, Route>> = {
  async "PUT /sessions/*"(call, name) {
    const { title } = await bodyAs(newSession, call);
    const id = parsed(sessionId, name);
    const { partition, sessions, response } = call;
    try {
      await using session = await sessions.create({ id, partition, cwd: "/" });
      await session.updateInfo({ title });
      await session.flush();
      sendJson(response, 201, { id });
    } catch (error) {
      // An earlier attempt of the same request.
      if (!SessileError.is(error, "SESSION_EXISTS")) throw error;
      sendJson(response, 200, { id });
    }
  },

  async "GET /sessions"({ query, partition, sessions, response }) {
    const { limit, after, archived } = parsed(page, Object.fromEntries(query));
    const found: SessionSummary[] = [];
    const filter = archived === undefined ? {} : { archived: archived === "true" };
    const from = after === undefined ? {} : { after };
    for await (const summary of sessions.list({ partition, limit, ...from, ...filter })) found.push(summary);
    const next = found.length === limit ? found.at(-1)?.cursor : undefined;
    sendJson(response, 200, { sessions: found.map(summaryOf), ...(next === undefined ? {} : { next }) });
  },

  async "GET /sessions/*"({ query, partition, sessions, response }, id) {
    await using session = await sessions.open(id, { partition });
    const after = query.get("after");
    const entries = await session.path();
    const start = after === null ? 0 : entries.findIndex((entry) => entry.id === after) + 1;
    if (after !== null && start === 0) throw notFound();
    const { title, time } = session.info;
    sendJson(response, 200, {
      id,
      title,
      archivedAt: time.archived,
      messages: entries.slice(start).flatMap(messageOf),
    });
  },

  async "POST /sessions/*/turns"(call, id) {
    const { request, response, partition, sessions, blobs, model, signal } = call;
    const idempotencyKey = parsed(key, request.headers["idempotency-key"]);
    const { text, attachments } = await bodyAs(turn, call);
    await using session = await sessions.open(id, { partition, mode: "write" });
    const resources = await Promise.all(attachments.map((ref) => attachment(ref, blobs)));
    const question = { key: idempotencyKey, text, attachments: resources };
    sendJson(response, 200, await answerQuestion(session, question, { model, blobs, signal }));
  },

  async "POST /sessions/*/forks"(call, source) {
    const { partition, sessions, response } = call;
    const { id, upTo } = await bodyAs(fork, call);
    try {
      const options = { id, partition, ...(upTo === undefined ? {} : { upTo }) };
      await using _copy = await sessions.fork(source, options);
      sendJson(response, 201, { id });
    } catch (error) {
      if (!SessileError.is(error, "SESSION_EXISTS")) throw error;
      await using copy = await sessions.open(id, { partition });
      if (!isCopyOf(copy, source)) throw error;
      sendJson(response, 200, { id });
    }
  },

  async "PATCH /sessions/*"(call, id) {
    const { archived } = await bodyAs(change, call);
    const { time } = await call.sessions.archive(id, { archived, partition: call.partition });
    sendJson(call.response, 200, { id, archivedAt: time.archived });
  },

  async "DELETE /sessions/*"({ partition, sessions, response }, id) {
    if (!(await sessions.delete(id, { partition }))) throw notFound();
    response.writeHead(204, commonHeaders).end();
  },

  async "GET /sessions/*/events"({ request, response, partition, sessions, draining }, id) {
    const closed = new AbortController();
    response.once("close", () => closed.abort());
    await using session = await sessions.open(id, { partition });
    // "close" comes once: a stream that begins after it would never end.
    if (closed.signal.aborted) return;
    const stream = openEventStream(response, limits);
    const send = (entry: SessionEntry | UnknownEntry) => {
      for (const message of messageOf(entry)) stream.send("message", message, message.id);
    };
    const seen = request.headers["last-event-id"];
    const entries = await session.path();
    entries.slice(entries.findIndex((entry) => entry.id === seen) + 1).forEach(send);
    const signal = AbortSignal.any([closed.signal, draining]);
    for await (const entry of session.follow({ signal, pollMs: limits.pollMs })) send(entry);
    stream.end();
  },

  async "POST /blobs"({ request, response, blobs, signal }) {
    const { ref, size } = await blobs.put(bodyOf(request, limits.uploadBytes), { signal });
    sendJson(response, 201, { ref, size });
  },

  async "GET /blobs/*"({ response, blobs }, ref) {
    const stat = isBlobRef(ref) ? await blobs.stat(ref) : undefined;
    const bytes = stat && (await blobs.stream(stat.ref));
    if (stat === undefined || bytes === undefined) throw notFound();
    const type = { "content-type": "application/octet-stream", "content-length": stat.size };
    response.writeHead(200, { ...commonHeaders, ...type, "content-disposition": "attachment" });
    await pipeline(bytes, response);
  },
};

/** The bytes decide on the type. The put renews the lease: no collection removes them before the append. */
async function attachment(ref: string, blobs: BlobStore): Promise<Resource> {
  const bytes = isBlobRef(ref) ? await blobs.get(ref) : undefined;
  if (bytes === undefined) throw notFound();
  return ingest({ bytes }, { blobs, mismatch: "file" });
}

function isCopyOf({ header }: Session, source: string): boolean {
  return header.parentSession === source;
}

function summaryOf({ id, title, firstMessage, modified, archivedAt }: SessionSummary) {
  return { id, title, firstMessage, modified, archivedAt };
}

/** A message as clients see it. Entries of other types are not shown. */
function messageOf(entry: SessionEntry | UnknownEntry) {
  if (entry.type !== "message" || !("content" in entry.message)) return [];
  const { id, timestamp, message } = entry;
  const blocks = typeof message.content === "string" ? [] : message.content;
  const attachments = blocks.flatMap((block) => {
    const resource = block.type === "text" ? blockResource(block) : undefined;
    return resource !== undefined && "blob" in resource ? [resource.blob] : [];
  });
  return [{ id, timestamp, role: message.role, text: textOf(entry), attachments }];
}

async function bodyAs<T>(schema: z.ZodType<T>, { request }: Call): Promise<T> {
  return parsed(schema, await readJson(request, limits.bodyBytes));
}

/** @throws HttpFailure 400 with the first problem */
function parsed<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw invalid(`${issue?.path.join(".") || "value"}: ${issue?.message}`);
}
