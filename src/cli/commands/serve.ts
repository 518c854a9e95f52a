/** `serve`: the viewer of a session that is being written, on this machine alone. */

import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import {
  type ChangedSource,
  type KeyedSource,
  keyedSources,
  viewerEvents,
  viewerHtml,
} from "../../viewer/internal.js";
import { readViewerTemplate } from "../../viewer/node/internal.js";
import { type CommandBody, numberOption, UsageError } from "../command.js";
import type { FoundSession, NamedSession } from "../named-session.js";
import { blobStoreByPath, locate, sourceOptions } from "../sources.js";
import { newestSession, readNewest, readViewed, type Viewed } from "./view.js";

const pollMs = 500;
const maxPort = 65_535;
const tokenBytes = 16;

const serve: CommandBody = {
  description: [
    "Serves the viewer on 127.0.0.1, at a URL with a secret token, until Ctrl-C. Requests with another Host, or",
    "from a page of another origin, are refused.",
  ],
  arguments: [{ name: "S", kind: "session", description: "The session." }],
  options: [...sourceOptions, { name: "port", value: "N", description: "The port. Default: a free one." }],
  examples: [{ line: "sessile serve latest --agent codex", does: "what Codex does at the moment" }],
  async run(parsed, context) {
    const { out, signal } = context;
    const port = numberOption(parsed, "port") ?? 0;
    if (port > maxPort) throw new UsageError(`--port: expected at most ${maxPort}, got ${port}`);
    const named = await locate(parsed.positionals[0] ?? "", parsed, context);
    const token = randomBytes(tokenBytes).toString("hex");
    // Another session may be the latest one later.
    const name = "id" in named ? (named as FoundSession).id : (parsed.positionals[0] ?? "");
    let first: NamedSession | undefined = named;
    const live = new LiveSession({
      async locate() {
        const found = first ?? (await locate(name, parsed, context));
        first = undefined;
        return found;
      },
      read: (each) => readViewed(each, parsed, context),
      now: context.now,
    });
    const screen = async (): Promise<Screen> => {
      const newest = named.read === undefined ? await readNewest(named.path) : undefined;
      if (newest !== undefined)
        return { source: newest, blobs: blobStoreByPath(named.path, parsed, context) };
      const { source, blobs } = await live.read();
      return { source: (await newestSession(source)) ?? source, blobs };
    };
    // A session that cannot be read is an error of the command.
    await screen();
    const template = await readViewerTemplate();
    const served = { live, screen, agent: named.agent, token, template, signal };
    const server = createServer((request, response) => {
      answer(request, response, served).catch(() => {
        // Such as a session that is gone by now.
        if (response.headersSent) response.destroy();
        else refuse(response, 500);
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

/** The content of a page: a whole session, or the newest part of a long one. */
type Screen = Pick<Viewed, "source" | "blobs">;

interface Served {
  readonly live: LiveSession;
  screen(): Promise<Screen>;
  readonly agent: string;
  readonly token: string;
  readonly template: string;
  readonly signal: AbortSignal;
}

async function answer(request: IncomingMessage, response: ServerResponse, served: Served): Promise<void> {
  const { live, agent, token, template, signal } = served;
  response.setHeader("Cache-Control", "no-store");
  response.setHeader("Referrer-Policy", "no-referrer");
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.setHeader("Cross-Origin-Resource-Policy", "same-origin");
  if (!isFromHere(request)) return refuse(response, 403);
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
  const [, given = "", name = "", ...more] = pathname.split("/");
  if (!isEqual(given, token) || more.length > 0 || !["", "events"].includes(name))
    return refuse(response, 404);
  if (request.method !== "GET") return refuse(response, 405);
  if (name === "events") {
    // A browser that connects again names the last event that it has.
    const after = Number(request.headers["last-event-id"] ?? searchParams.get("after"));
    return sendEvents(response, Number.isSafeInteger(after) ? after : 0, live, signal);
  }
  const { source, blobs } = await served.screen();
  // The stream of a part brings the whole session.
  const after = source.isPart === true ? 0 : live.version;
  const page = await viewerHtml(source, {
    template,
    agent,
    live: `/${token}/events?after=${after}`,
    ...(blobs && { blobs }),
  });
  response.setHeader("Content-Type", "text/html; charset=utf-8");
  for (const part of page.parts) if (!response.write(part)) await once(response, "drain");
  response.end();
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

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { "Content-Type": "text/plain" }).end();
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
  #version = 0;
  #reading: Promise<void> = Promise.resolve();

  constructor(source: LiveSource) {
    this.#source = source;
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
