/** `serve`: the viewer of a session that is being written, on this machine alone. */

import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { viewerEvents, viewerHtml } from "../../viewer/internal.js";
import { readViewerTemplate } from "../../viewer/node/internal.js";
import { type CommandBody, numberOption, UsageError } from "../command.js";
import { LiveSession } from "../live-session.js";
import type { FoundSession, NamedSession } from "../named-session.js";
import { blobStoreByPath, locate, sourceOptions } from "../sources.js";
import { newestSession, readNewest, readViewed, type Viewed } from "../viewed.js";

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
