import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isBlobRef } from "sessile";
import { bodyOf, commonHeaders, HttpFailure, pathOf, readJson, sendJson } from "../support/http.js";
import { noSuchBlob, type SendBlob, type Uploads } from "./files.js";
import { asEntryId, asTurnRequest } from "./prompt.js";
import type { ServedSession } from "./served-session.js";
import { postTurn, type TurnDependencies } from "./turn.js";

/** The dependencies of the routes. */
export interface RouteDependencies extends TurnDependencies {
  readonly uploads: Uploads;
  readonly sendBlob: SendBlob;
}

/** Answers a request that has the token. */
export type Route = (
  request: IncomingMessage,
  response: ServerResponse,
  places: RouteDependencies,
) => Promise<void> | void;

/** Methods by path. */
const routes: Readonly<Record<string, Readonly<Record<string, Route>>>> = {
  "/api/harness/turn": {
    async POST(request, response, places) {
      const { served, limits } = places;
      // Before the body is read.
      served.assertIdle();
      const body = await readJson(request, limits.bodyBytes);
      await postTurn(response, asTurnRequest(body, limits.attachments), places);
    },
    DELETE(_request, response, { served }) {
      if (!served.abort()) {
        throw new HttpFailure(404, { code: "NO_TURN", message: "no turn is running" });
      }
      sendJson(response, 202, {});
    },
  },
  "/api/harness/files": {
    async POST(request, response, { uploads, limits }) {
      const body = bodyOf(request, limits.uploadBytes);
      sendJson(response, 201, await uploads.receive(parameterIn(request, "name") ?? "", body));
    },
  },
  "/api/harness/recent": {
    async GET(request, response, { served }) {
      const before = parameterIn(request, "before");
      const page = await served.recent(before).catch((error: unknown) => {
        throw error instanceof TypeError ? noSuchPage() : error;
      });
      sendJson(response, 200, { ...headOf(served), ...page });
    },
  },
  "/api/harness/session": {
    async GET(_request, response, { served }) {
      const type = "application/json; charset=utf-8";
      response.writeHead(200, { ...commonHeaders, "content-type": type });
      await pipeline(Readable.from(sessionJson(served)), response);
    },
  },
  "/api/harness/leaf": {
    async POST(request, response, { served, limits }) {
      const leafId = asEntryId(await readJson(request, limits.bodyBytes));
      await served.moveTo(leafId);
      sendJson(response, 200, { leafId });
    },
  },
};

const blobPath = "/api/harness/blobs/";

const blobRoutes: Readonly<Record<string, Route>> = {
  async GET(request, response, { served, sendBlob }) {
    const ref = pathOf(request).slice(blobPath.length);
    if (!isBlobRef(ref) || !(await served.names(ref))) throw noSuchBlob();
    await sendBlob(response, ref);
  },
};

/**
 * The route of a request.
 *
 * @throws HttpFailure 404 and 405
 */
export function routeOf(request: IncomingMessage): Route {
  const path = pathOf(request);
  const methods = path.startsWith(blobPath)
    ? blobRoutes
    : Object.hasOwn(routes, path)
      ? routes[path]
      : undefined;
  if (methods === undefined) {
    throw new HttpFailure(404, { code: "NOT_FOUND", message: "there is no such address" });
  }
  const { method = "" } = request;
  const route = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (route !== undefined) return route;
  const allow = Object.keys(methods).join(", ");
  throw new HttpFailure(405, { code: "METHOD_NOT_ALLOWED", message: `expected ${allow}` }, { allow });
}

/** A parameter of the address; undefined without it. */
function parameterIn({ url = "" }: IncomingMessage, name: string): string | undefined {
  const pair = (url.split("?")[1] ?? "").split("&").find((part) => part.startsWith(`${name}=`));
  try {
    return pair && decodeURIComponent(pair.slice(name.length + 1).replaceAll("+", " "));
  } catch {
    const code = `INVALID_${name.toUpperCase()}`;
    throw new HttpFailure(400, { code, message: `${name}: expected UTF-8, percent-encoded` });
  }
}

function noSuchPage(): HttpFailure {
  return new HttpFailure(400, { code: "INVALID_BEFORE", message: "before: expected the cursor of a page" });
}

function headOf({ session, running }: ServedSession) {
  const { name } = session.info;
  return { id: session.id, ...(name === undefined ? {} : { name }), leafId: session.leafId, running };
}

/** One entry at a time, at the client's speed. */
async function* sessionJson(served: ServedSession): AsyncGenerator<string> {
  yield `${JSON.stringify(headOf(served)).slice(0, -1)},"entries":[`;
  let separator = "";
  for await (const summary of served.summaries()) {
    yield `${separator}${JSON.stringify(summary)}`;
    separator = ",";
  }
  yield "]}";
}
