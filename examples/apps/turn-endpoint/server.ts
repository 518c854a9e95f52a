import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import {
  boundConnections,
  checkOrigin,
  checkToken,
  failureOf,
  isClientGone,
  pathOf,
  sendFailure,
} from "../support/http.js";
import type { Model } from "./claude.js";
import { blobSender, openUploads, sendPageFile } from "./files.js";
import { type TurnLimits, turnLimits } from "./limits.js";
import { type RouteDependencies, routeOf } from "./routes.js";
import { ServedSession } from "./served-session.js";
import { type TurnTools, viewingTools } from "./turn.js";

/** Options of {@link startTurnServer}. */
export interface TurnServerOptions {
  /** The directory of sessions, blobs and uploads; the latest session is opened. */
  readonly dir: string;
  readonly model: Model;
  /** The model's name, for the message of a reply that broke off. */
  readonly maker: { readonly provider: string; readonly model: string };
  /** Default {@link viewingTools}. */
  readonly tools?: TurnTools;
  /** A directory whose files may be attached by path. Default none: only uploads can be attached. */
  readonly workspace?: string;
  /** Default any free port. */
  readonly port?: number;
  /** Default 256 random bits. */
  readonly token?: string;
  /** Default the directory `page`. */
  readonly page?: string;
  readonly limits?: Partial<TurnLimits>;
  /** Called with unexpected errors, which clients do not see. Default none. */
  readonly onError?: (error: unknown) => void;
}

/** A server that answers turns on this machine. */
export interface TurnServer extends AsyncDisposable {
  /** Such as `http://127.0.0.1:40001`. */
  readonly origin: string;
  readonly port: number;
  readonly token: string;
  /** The page with its token. A browser does not send the part behind #. */
  readonly url: string;
}

const defaultPage = fileURLToPath(new URL("./page/", import.meta.url));

/**
 * Starts the server.
 *
 * @throws TypeError for an empty token
 */
export async function startTurnServer(options: TurnServerOptions): Promise<TurnServer> {
  const { dir, workspace, page = defaultPage } = options;
  const { token = randomBytes(32).toString("base64url") } = options;
  if (token === "") throw new TypeError("token: expected one that is not empty");
  const limits = { ...turnLimits, ...options.limits };
  const report = (error: unknown): void => {
    if (failureOf(error).status === 500 && !isClientGone(error)) options.onError?.(error);
  };
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const uploads = join(dir, "uploads");
  const blobs = fileBlobStore({ dir: join(dir, "blobs") });
  const served = await ServedSession.open(fileSessionStore({ dir: join(dir, "sessions") }), workspace ?? dir);
  const places: RouteDependencies = {
    served,
    blobs,
    model: options.model,
    maker: options.maker,
    tools: options.tools ?? viewingTools,
    roots: [uploads, ...(workspace === undefined ? [] : [workspace])],
    limits,
    uploads: await openUploads(uploads, limits.uploads),
    sendBlob: blobSender(blobs),
    report,
  };

  const { headersMs, requestMs, idleMs, connections } = limits;
  const checks = Math.min(headersMs, requestMs, 5_000);
  const server = createServer(
    { headersTimeout: headersMs, requestTimeout: requestMs, connectionsCheckingInterval: checks },
    (request, response) => {
      response.on("error", () => {});
      handle(request, response)
        .catch((error: unknown) => {
          const failure = failureOf(error);
          report(error);
          return sendFailure(request, response, failure, limits);
        })
        .catch(() => response.destroy());
    },
  );
  const accept = boundConnections(server, connections);
  server.setTimeout(idleMs);
  // Node ends an idle connection after 5 s, perhaps just when a client sends its next request.
  server.keepAliveTimeout = idleMs;
  try {
    server.listen(options.port ?? 0, "127.0.0.1");
    await once(server, "listening");
  } catch (error) {
    await served[Symbol.asyncDispose]();
    throw error;
  }
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    checkOrigin(request, { port });
    if (!pathOf(request).startsWith("/api/")) return sendPageFile(request, response, page);
    checkToken(request, { token });
    accept(request, response);
    await routeOf(request)(request, response, places);
  }

  async function close(): Promise<void> {
    const closed = once(server, "close");
    server.close();
    try {
      // The running turn stores its last entry and tells its client before connections are closed.
      await served[Symbol.asyncDispose]();
    } finally {
      server.closeAllConnections();
      await closed;
    }
  }
  let closing: Promise<void> | undefined;

  return {
    origin,
    port,
    token,
    url: `${origin}/#${token}`,
    [Symbol.asyncDispose]() {
      closing ??= close();
      return closing;
    },
  };
}
