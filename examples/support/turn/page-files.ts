import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { readLocalFile } from "sessile/attachments/node";
import { SessileError } from "sessile/errors";
import { commonHeaders } from "./answer.js";
import { HttpFailure } from "./http-failure.js";

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

/** Sends a file of the page; false for a path that no such file has. */
export async function sendPageFile(response: ServerResponse, dir: string, path: string): Promise<boolean> {
  const match = pathPattern.exec(path);
  if (match === null) return false;
  const [, name = "index", extension = "html"] = match;
  const bytes = await read(dir, `${name}.${extension}`);
  response.writeHead(200, {
    ...commonHeaders,
    "content-type": mediaTypes[extension],
    "content-length": bytes.length,
    "content-security-policy": policy,
  });
  response.end(bytes);
  return true;
}

async function read(dir: string, name: string): Promise<Uint8Array> {
  try {
    return (await readLocalFile(join(dir, name), { roots: [dir], maxBytes })).bytes;
  } catch (error) {
    if (!(error instanceof SessileError)) throw error;
    throw new HttpFailure(404, { code: "NOT_FOUND", message: "there is no such file" });
  }
}
