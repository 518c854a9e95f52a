/** `serve`: the list of all sessions and the viewer of one that is being written, on this machine alone. */

import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { SessileError } from "../../core/errors/index.js";
import {
  type ChangedSource,
  type KeyedSource,
  keyedSources,
  viewerEvents,
  viewerHtml,
} from "../../viewer/internal.js";
import { readViewerTemplate } from "../../viewer/node/internal.js";
import { type CommandBody, type CommandContext, numberOption, type Parsed, UsageError } from "../command.js";
import { House } from "../house.js";
import type { FoundSession, NamedSession } from "../named-session.js";
import { blobStoreByPath, locate, sourceOptions } from "../sources.js";
import { newestSession, readNewest, readViewed, type Viewed } from "./view.js";

const pollMs = 500;
const maxPort = 65_535;
const tokenBytes = 16;
/** Sessions that stay in memory after their page was shown. */
const maxRooms = 8;

const serve: CommandBody = {
  description: [
    "Serves the viewer on 127.0.0.1, at a URL with a secret token, until Ctrl-C. Without S it serves the sessions of",
    "all agents: a list by day or project, a search over all, costs by day and model, and a page of each session.",
    "Requests with another Host, or from a page of another origin, are refused.",
  ],
  arguments: [{ name: "S", kind: "session", optional: true, description: "The session. Default: all." }],
  options: [...sourceOptions, { name: "port", value: "N", description: "The port. Default: a free one." }],
  examples: [
    { line: "sessile serve", does: "the sessions of all agents" },
    { line: "sessile serve latest --agent codex", does: "what Codex does at the moment" },
  ],
  async run(parsed, context) {
    const { out, signal } = context;
    const port = numberOption(parsed, "port") ?? 0;
    if (port > maxPort) throw new UsageError(`--port: expected at most ${maxPort}, got ${port}`);
    const token = randomBytes(tokenBytes).toString("hex");
    const [name] = parsed.positionals;
    const pages = name === undefined ? await allPages(parsed, context) : await onePage(name, parsed, context);
    const server = createServer((request, response) => {
      answer(request, response, token, pages).catch((error: Error) => {
        // Such as a session that is gone by now.
        if (response.headersSent) response.destroy();
        else refuse(response, 500, SessileError.printable(error.message));
      });
    });
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${token}/`;
    if (out.json) await out.value({ url });
    else await out.line(url);
    if (!signal.aborted) await once(signal, "abort");
    server.close();
    server.closeAllConnections();
    return 0;
  },
};

/** A request below the token. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The token between slashes, with which the addresses of pages begin. */
  readonly base: string;
  /** The rest of the path. */
  readonly path: string;
  readonly query: URLSearchParams;
}

/** Answers a request. Returns undefined for a path without a page. */
type Pages = (exchange: Exchange) => Promise<void> | undefined;

/** The page of one session, at the token itself. */
async function onePage(name: string, parsed: Parsed, context: CommandContext): Promise<Pages> {
  const named = await locate(name, parsed, context);
  // Another session may be the latest one later.
  const id = "id" in named ? (named as FoundSession).id : name;
  const room = new Room(named, () => locate(id, parsed, context), parsed, context);
  // A session that cannot be read is an error of the command.
  await room.screen();
  const template = await readViewerTemplate();
  return ({ path, ...exchange }) => room.answer({ ...exchange, path }, { template });
}

/** The list of all sessions at the token, and the page of each below it. */
async function allPages(parsed: Parsed, context: CommandContext): Promise<Pages> {
  const house = new House(parsed, context);
  // A directory that is not there is an error of the command.
  await house.list(0);
  const [list, template] = await Promise.all([readViewerTemplate("list"), readViewerTemplate()]);
  const rooms = new Map<string, Room>();
  return (exchange) => {
    const { response, path, query, base } = exchange;
    const [, key, rest] = /^s\/([0-9a-f]+)\/(.*)$/s.exec(path) ?? [];
    const found = key === undefined ? undefined : house.session(key);
    if (key !== undefined && rest !== undefined && found !== undefined) {
      const find = async () => house.session(key) ?? found;
      const room = rooms.get(key) ?? new Room(found, find, parsed, context);
      // The order of the map is that of their use.
      rooms.delete(key);
      rooms.set(key, room);
      for (const [other] of rooms) if (rooms.size > maxRooms) rooms.delete(other);
      return room.answer({ ...exchange, base: `${base}s/${key}/`, path: rest }, { template, list: base });
    }
    switch (path) {
      case "":
        return sendText(response, "text/html; charset=utf-8", [list]);
      case "sessions":
        return house.list(versionOf(query.get("after"))).then((update) => sendJson(response, update));
      case "costs":
        return sendJson(response, house.costs());
      case "search":
        return sendHits(response, house, query.get("words") ?? "");
      default:
        return undefined;
    }
  };
}

function sendJson(response: ServerResponse, value: unknown): Promise<void> {
  return sendText(response, "application/json", [JSON.stringify(value)]);
}

async function sendText(response: ServerResponse, type: string, parts: readonly string[]): Promise<void> {
  response.setHeader("Content-Type", type);
  for (const part of parts) {
    if (response.destroyed) return;
    if (!response.write(part)) await drained(response);
  }
  response.end();
}

/** Hits as lines of JSON, as they are found. A page that is no longer interested closes the connection. */
async function sendHits(response: ServerResponse, house: House, words: string): Promise<void> {
  const left = new AbortController();
  response.once("close", () => left.abort());
  response.writeHead(200, { "Content-Type": "application/x-ndjson" });
  response.flushHeaders();
  try {
    for await (const hit of house.search(words, left.signal)) response.write(`${JSON.stringify(hit)}\n`);
  } catch (error) {
    if (!left.signal.aborted) throw error;
  }
  response.end();
}

/** A version that a page has: 0 for none. */
function versionOf(text: unknown): number {
  const version = Number(text ?? 0);
  return Number.isSafeInteger(version) ? version : 0;
}

/** The content of a page: a whole session, or the newest part of a long one. */
type Screen = Pick<Viewed, "source" | "blobs">;

/** The page of one session and its stream of changes. */
class Room {
  readonly #named: NamedSession;
  readonly #live: LiveSession;
  readonly #parsed: Parsed;
  readonly #context: CommandContext;

  constructor(
    named: NamedSession,
    find: () => Promise<NamedSession>,
    parsed: Parsed,
    context: CommandContext,
  ) {
    this.#named = named;
    this.#parsed = parsed;
    this.#context = context;
    let first: NamedSession | undefined = named;
    this.#live = new LiveSession({
      async locate() {
        const found = first ?? (await find());
        first = undefined;
        return found;
      },
      read: (each) => readViewed(each, parsed, context),
      now: context.now,
      // A page that outlived an earlier reading of the session gets all of it again.
      after: context.now(),
    });
  }

  async screen(): Promise<Screen> {
    const { read, path } = this.#named;
    const newest = read === undefined ? await readNewest(path) : undefined;
    if (newest !== undefined)
      return { source: newest, blobs: blobStoreByPath(path, this.#parsed, this.#context) };
    const { source, blobs } = await this.#live.read();
    return { source: (await newestSession(source)) ?? source, blobs };
  }

  answer(
    { request, response, base, path, query }: Exchange,
    page: { readonly template: string; readonly list?: string },
  ): Promise<void> | undefined {
    if (path === "events") {
      // A browser that connects again names the last event that it has.
      const after = versionOf(request.headers["last-event-id"] ?? query.get("after"));
      return sendEvents(response, after, this.#live, this.#context.signal);
    }
    return path === "" ? this.#sendPage(response, base, page) : undefined;
  }

  async #sendPage(
    response: ServerResponse,
    base: string,
    page: { readonly template: string; readonly list?: string },
  ): Promise<void> {
    const { source, blobs } = await this.screen();
    // The stream of a part brings the whole session.
    const after = source.isPart === true ? 0 : this.#live.version;
    const { parts } = await viewerHtml(source, {
      ...page,
      agent: this.#named.agent,
      live: `${base}events?after=${after}`,
      ...(blobs && { blobs }),
    });
    await sendText(response, "text/html; charset=utf-8", parts);
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  token: string,
  pages: Pages,
): Promise<void> {
  response.setHeader("Cache-Control", "no-store");
  response.setHeader("Referrer-Policy", "no-referrer");
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.setHeader("Cross-Origin-Resource-Policy", "same-origin");
  if (!isFromHere(request)) return refuse(response, 403);
  const { pathname, searchParams: query } = new URL(request.url ?? "/", "http://127.0.0.1");
  const [, given = "", ...rest] = pathname.split("/");
  if (!isEqual(given, token) || rest.length === 0) return refuse(response, 404);
  if (request.method !== "GET") return refuse(response, 405);
  const exchange = { request, response, base: `/${token}/`, path: rest.join("/"), query };
  return pages(exchange) ?? refuse(response, 404);
}

/**
 * Another Host is an attack by DNS rebinding, and another Origin is a page of another site.
 * @see https://fetch.spec.whatwg.org/#origin-header
 */
function isFromHere({ headers, socket }: IncomingMessage): boolean {
  const hosts = ["127.0.0.1", "localhost"].map((name) => `${name}:${socket.localPort}`);
  const { host = "", origin } = headers;
  const site = headers["sec-fetch-site"];
  if (!hosts.includes(host) || (origin !== undefined && origin !== `http://${host}`)) return false;
  return site === undefined || site === "none" || site === "same-origin";
}

function isEqual(given: string, token: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function refuse(response: ServerResponse, status: number, text = ""): void {
  response.writeHead(status, { "Content-Type": "text/plain; charset=utf-8" }).end(text);
}

/** Sends the changes after a version, and then each one that is written. */
async function sendEvents(
  response: ServerResponse,
  after: number,
  live: LiveSession,
  signal: AbortSignal,
): Promise<void> {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  response.flushHeaders();
  let sent = after;
  while (!response.destroyed && !signal.aborted) {
    const viewed = await live.read().catch(() => undefined);
    if (viewed !== undefined) {
      const { blobs } = viewed;
      const { version } = live;
      for await (const event of viewerEvents(live.changes(sent), { version, ...(blobs && { blobs }) })) {
        // A slow page delays only itself.
        if (!response.write(event)) await drained(response);
        if (response.destroyed) return;
      }
      sent = version;
    }
    await delay(pollMs, undefined, { signal }).catch(() => {});
  }
}

/** Waits until a response takes more, or ends. */
async function drained(response: ServerResponse): Promise<void> {
  const waiting = new AbortController();
  const { signal } = waiting;
  await Promise.race([once(response, "drain", { signal }), once(response, "close", { signal })]);
  // Removes the other listener.
  waiting.abort();
}

export const bodies = { serve };

// A session that another program writes: read again after its files changed, with the changes by version.

/** How a live session is read. */
export interface LiveSource {
  /** Finds the files of the session. */
  locate(): Promise<NamedSession>;
  read(named: NamedSession): Promise<Viewed>;
  /** Milliseconds since 1970. */
  now(): number;
  /** Versions are larger than it. Default: 0. */
  readonly after?: number;
}

/** A change of one session. */
interface Change {
  readonly version: number;
  /** The entries that stayed. */
  readonly from: number;
}

/** The interval of searches for files of subagents in other folders. */
const locateMs = 5000;

/** The session as it was read last. */
export class LiveSession {
  readonly #source: LiveSource;
  #named: NamedSession | undefined;
  #located = Number.NEGATIVE_INFINITY;
  #viewed: Viewed | undefined;
  #files = "";
  #sessions: readonly KeyedSource[] = [];
  /** By key. Rising in both members: a change covers all earlier ones that kept as much or more. */
  readonly #changes = new Map<string, Change[]>();
  #version: number;
  #reading: Promise<void> = Promise.resolve();

  constructor(source: LiveSource) {
    this.#source = source;
    this.#version = source.after ?? 0;
  }

  /** Grows with each change. */
  get version(): number {
    return this.#version;
  }

  /** Reads the session again if its files changed. Calls wait for each other. */
  async read(): Promise<Viewed> {
    const reading = this.#reading.then(() => this.#refresh());
    this.#reading = reading.catch(() => {});
    await reading;
    return this.#viewed as Viewed;
  }

  /** The sessions that changed after a version, each with the number of entries that stayed. */
  changes(after: number): readonly ChangedSource[] {
    return this.#sessions.flatMap((keyed) => {
      const since = this.#changes.get(keyed.key)?.filter(({ version }) => version > after) ?? [];
      const from = since.reduce((least, change) => Math.min(least, change.from), Number.POSITIVE_INFINITY);
      return since.length === 0 ? [] : [{ ...keyed, from }];
    });
  }

  async #refresh(): Promise<void> {
    const named = await this.#locate();
    const files = await this.#state(named);
    if (this.#viewed !== undefined && files === this.#files) return;
    const before = this.#viewed?.files;
    const viewed = await this.#source.read(named);
    this.#viewed = viewed;
    // A file that grew meanwhile differs from the state before, so that it is read again; so is a new list.
    this.#files = isDeepStrictEqual(viewed.files, before) ? files : "";
    this.#compare(keyedSources(viewed.source));
  }

  async #locate(): Promise<NamedSession> {
    const isDue = this.#viewed?.lacksChildren === true && this.#source.now() > this.#located + locateMs;
    if (this.#named === undefined || isDue) {
      this.#named = await this.#source.locate();
      this.#located = this.#source.now();
    }
    return this.#named;
  }

  async #state({ currentFiles, path }: NamedSession): Promise<string> {
    const names = (await currentFiles?.()) ?? this.#viewed?.files ?? [path];
    const stats = await Promise.all(names.map((each) => stat(each).catch(() => undefined)));
    return names.map((name, at) => `${name} ${stats[at]?.size} ${stats[at]?.mtimeMs}`).join();
  }

  #compare(sessions: readonly KeyedSource[]): void {
    const before = new Map(this.#sessions.map((keyed) => [keyed.key, keyed.source]));
    this.#sessions = sessions;
    const version = this.#version + 1;
    for (const { key, source } of sessions) {
      const known = before.get(key);
      const from = known === undefined ? 0 : commonLength(known.entries, source.entries);
      const isSame =
        known !== undefined &&
        from === known.entries.length &&
        from === source.entries.length &&
        known.leafId === source.leafId;
      if (isSame) continue;
      this.#version = version;
      const changes = this.#changes.get(key) ?? [];
      while ((changes.at(-1)?.from ?? -1) >= from) changes.pop();
      changes.push({ version, from });
      this.#changes.set(key, changes);
    }
  }
}

/** The number of entries at the start that are equal: an agent may complete or rewrite the last ones. */
function commonLength(before: readonly unknown[], now: readonly unknown[]): number {
  const most = Math.min(before.length, now.length);
  for (let at = 0; at < most; at++) if (!isDeepStrictEqual(before[at], now[at])) return at;
  return most;
}
