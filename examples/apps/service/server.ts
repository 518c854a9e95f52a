/** The server: tenants by token, routes, health, failures, and an orderly end. */
import { createHash } from "node:crypto";
import { once, setMaxListeners } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { BlobStore, SessionStore } from "sessile";
import type { TurnModel } from "sessile/turn";
import { HttpFailure, isClientGone, sendFailure, sendJson } from "../support/http.js";
import { failureOf, notFound, unavailable } from "./failures.js";
import { limits } from "./limits.js";
import { type Call, routes } from "./routes.js";

/** Options of {@link startService}. */
export interface ServiceOptions {
  readonly sessions: SessionStore;
  /** Of all tenants: each has a partition. */
  readonly blobs: BlobStore;
  /** The model of a tenant. */
  readonly modelOf: (tenant: string) => TurnModel;
  /** Tenants by their tokens. A tenant is a partition. */
  readonly tenants: Readonly<Record<string, string>>;
  readonly port: number;
  /** Time for running requests at the end. @default 10 s */
  readonly graceMs?: number;
  /** Called with errors that clients do not see. */
  readonly onError: (error: unknown) => void;
}

/** A running service. */
export interface Service {
  readonly port: number;
  /**
   * Refuses new connections, ends event streams, waits for running requests, and closes. Requests that take
   * longer than the grace period are aborted: their turns stay as after a crash, and clients repeat them elsewhere.
   */
  close(): Promise<void>;
}

export async function startService(options: ServiceOptions): Promise<Service> {
  const { sessions, blobs, modelOf, graceMs = limits.graceMs, onError } = options;
  // Found by digest, so that the time of the search says nothing about a token.
  const tenants = new Map(Object.entries(options.tenants).map(([token, name]) => [sha256(token), name]));
  const draining = new AbortController();
  const ending = new AbortController();
  const running = new Set<ServerResponse>();
  // Every running request listens.
  setMaxListeners(0, draining.signal, ending.signal);

  async function health(response: ServerResponse): Promise<void> {
    if (draining.signal.aborted) throw unavailable("SHUTTING_DOWN");
    // One query, and one look for a blob that is not there.
    await Promise.all([sessions.latest({ partition: "health" }), blobs.stat(`sha256:${"0".repeat(64)}`)]);
    sendJson(response, 200, { status: "ok" });
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = "/" } = request;
    // A client may send any target, such as "//".
    if (!URL.canParse(url, base)) throw notFound();
    const { pathname, searchParams: query } = new URL(url, base);
    if (pathname === "/health") return health(response);
    const partition = tenants.get(
      sha256(/^Bearer (\S+)$/.exec(request.headers.authorization ?? "")?.[1] ?? ""),
    );
    if (partition === undefined) {
      const body = { code: "UNAUTHORIZED", message: "Authorization: expected the token of a tenant" };
      throw new HttpFailure(401, body, { "www-authenticate": "Bearer" });
    }
    const [, kind = "", name = "", ...rest] = pathname.split("/");
    const path = ["", kind, ...(name === "" ? [] : ["*"]), ...rest].join("/");
    const route = routes[`${request.method} ${path}`];
    if (route === undefined || (name !== "" && !namePattern.test(name))) throw notFound();
    const own = blobs.partition(partition);
    const call: Call = {
      ...{ request, response, query, partition, sessions },
      ...{ blobs: own, model: modelOf(partition), signal: ending.signal, draining: draining.signal },
    };
    await route(call, name);
  }

  const { headersMs: headersTimeout, requestMs: requestTimeout } = limits;
  const keepAliveTimeout = 65_000;
  const server = createServer({ headersTimeout, requestTimeout, keepAliveTimeout }, (request, response) => {
    response.on("error", () => {});
    running.add(response);
    response.once("close", () => {
      running.delete(response);
      closeIfDone();
    });
    handle(request, response)
      .catch((error: unknown) => {
        const failure = failureOf(error);
        if ((failure.status === 500 || failure.status === 503) && !isClientGone(error)) onError(error);
        return sendFailure(request, response, failure, limits);
      })
      .catch(() => response.destroy());
  });
  const closeIfDone = () => {
    // Clients hold connections open that have no request.
    if (draining.signal.aborted && running.size === 0) server.closeAllConnections();
  };
  server.listen(options.port, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, "close");
      draining.abort();
      server.close();
      closeIfDone();
      const timer = setTimeout(() => {
        ending.abort();
        setTimeout(() => server.closeAllConnections(), 1_000).unref();
      }, graceMs);
      await closed;
      clearTimeout(timer);
    },
  };
}

/** Targets of requests have no host. */
const base = "http://service";

/** Ids of sessions and refs of blobs. Neither has a character that a path escapes. */
const namePattern = /^[A-Za-z0-9](?:[A-Za-z0-9._:-]{0,126}[A-Za-z0-9])?$/;

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
