import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { readLocalFile } from "sessile/attachments/node";
import { SessileError } from "sessile/errors";
import { commonHeaders } from "./answer.js";
import { HttpFailure } from "./http-failure.js";
import { pathOf } from "./request-path.js";

const mediaTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** Nothing but this server's own files runs, and no page shows this one in a frame. */
const policy = [
  "default-src 'self'",
  "img-src 'self' blob: data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** `/`, which is index.html, and names of one part: there is no way from here to another directory. */
const pathPattern = /^\/(?:([a-z0-9][a-z0-9-]*)\.(html|js|css|svg))?$/;

const maxBytes = 2 ** 20;

/**
 * Sends a file of the page.
 *
 * @throws HttpFailure 404 and 405
 */
export async function sendPageFile(
  request: IncomingMessage,
  response: ServerResponse,
  dir: string,
): Promise<void> {
  if (request.method !== "GET") {
    throw new HttpFailure(405, { code: "METHOD_NOT_ALLOWED", message: "expected GET" }, { allow: "GET" });
  }
  const match = pathPattern.exec(pathOf(request));
  if (match === null) throw notFound();
  const [, name = "index", extension = "html"] = match;
  const bytes = await read(dir, `${name}.${extension}`);
  response.writeHead(200, {
    ...commonHeaders,
    "content-type": mediaTypes[extension],
    "content-length": bytes.length,
    "content-security-policy": policy,
  });
  response.end(bytes);
}

async function read(dir: string, name: string): Promise<Uint8Array> {
  try {
    return (await readLocalFile(join(dir, name), { roots: [dir], maxBytes })).bytes;
  } catch (error) {
    if (!(error instanceof SessileError)) throw error;
    throw notFound();
  }
}

function notFound(): HttpFailure {
  return new HttpFailure(404, { code: "NOT_FOUND", message: "there is no such file" });
}
