/** `serve`: the viewer of a session that is being written, on this machine alone. */

import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { viewerEvent, viewerHtml } from "../../viewer/internal.js";
import { readViewerTemplate } from "../../viewer/node/internal.js";
import {
  type CommandBody,
  type CommandContext,
  numberOption,
  type Parsed,
  sourceOptions,
  UsageError,
} from "../command.js";
import { locate, type NamedSession } from "../sources.js";
import { readViewed, type Viewed } from "../viewed.js";

const pollMs = 500;
const maxPort = 65_535;
const tokenBytes = 16;

export const serve: CommandBody = {
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
    const live = new LiveSession(named, parsed, context);
    await live.read();
    const template = await readViewerTemplate();
    const server = createServer((request, response) => {
      answer(request, response, { live, token, template, signal }).catch(() => response.destroy());
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

/** A session that is read again after its files changed. */
class LiveSession {
  readonly agent: string;
  readonly #named: NamedSession;
  readonly #parsed: Parsed;
  readonly #context: CommandContext;
  #state = "";
  #viewed: Promise<Viewed> | undefined;

  constructor(named: NamedSession, parsed: Parsed, context: CommandContext) {
    this.agent = named.agent;
    this.#named = named;
    this.#parsed = parsed;
    this.#context = context;
  }

  async read(): Promise<Viewed> {
    const { files, path } = this.#named;
    const stats = await Promise.all((files ?? [path]).map((each) => stat(each).catch(() => undefined)));
    const state = stats.map((each) => `${each?.size} ${each?.mtimeMs}`).join();
    if (this.#viewed === undefined || state !== this.#state) {
      this.#state = state;
      this.#viewed = readViewed(this.#named, this.#parsed, this.#context);
      // The next reader tries again.
      this.#viewed.catch(() => {
        this.#viewed = undefined;
      });
    }
    return this.#viewed;
  }
}

interface Served {
  readonly live: LiveSession;
  readonly token: string;
  readonly template: string;
  readonly signal: AbortSignal;
}

async function answer(request: IncomingMessage, response: ServerResponse, served: Served): Promise<void> {
  const { live, token, template, signal } = served;
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
  if (name === "events") return sendEvents(response, Number(searchParams.get("after")), live, signal);
  const { source, blobs } = await live.read();
  const page = await viewerHtml(source, {
    template,
    agent: live.agent,
    live: `/${token}/events`,
    ...(blobs && { blobs }),
  });
  response.setHeader("Content-Type", "text/html; charset=utf-8");
  for (const part of page.parts) if (!response.write(part)) await once(response, "drain");
  response.end();
}

/**
 * Another name for this address is an attack by DNS, and another origin is a page of somebody else.
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

/** Sends the entries behind the first `after` ones, and then each one that is written. */
async function sendEvents(
  response: ServerResponse,
  after: number,
  live: LiveSession,
  signal: AbortSignal,
): Promise<void> {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  response.flushHeaders();
  let sent = Number.isSafeInteger(after) && after > 0 ? after : 0;
  let leaf: string | null | undefined;
  while (!response.destroyed && !signal.aborted) {
    const viewed = await live.read().catch(() => undefined);
    if (viewed !== undefined) {
      const { source, blobs } = viewed;
      const { leafId } = source;
      const entries = source.entries.slice(sent);
      if (entries.length > 0 || (leaf !== undefined && leaf !== leafId)) {
        sent = source.entries.length;
        response.write(await viewerEvent({ entries, leafId }, { count: sent, ...(blobs && { blobs }) }));
      }
      leaf = leafId;
    }
    await delay(pollMs, undefined, { signal }).catch(() => {});
  }
}
