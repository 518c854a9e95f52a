import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { basename, dirname, extname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { BlobRef, BlobStore } from "sessile";
import { resolveAttachmentsToContentBlocks } from "sessile/claude-agent";
import { SessileError } from "sessile/errors";
import { type Media, sniff } from "sessile/media";
import { readLocalFile } from "sessile/node";
import { commonHeaders, HttpFailure, pathOf } from "../support/http.js";
import { blockBytes } from "./prompt.js";

/** A file that was uploaded. */
export interface UploadedFile {
  /** Absolute; a turn names the file by it. */
  readonly path: string;
  readonly name: string;
  /** Sniffed from the bytes. */
  readonly mediaType: string;
  readonly kind: "image" | "file";
  readonly size: number;
  readonly width?: number;
  readonly height?: number;
}

/** Stores uploaded files until a turn ingests them. */
export interface Uploads {
  /**
   * Stores a file that a turn would accept.
   *
   * @throws HttpFailure 415 with the reason if no turn would accept it; errors of the source. Nothing stays
   *   on disk then.
   */
  receive(given: string, source: AsyncIterable<Uint8Array>): Promise<UploadedFile>;
}

/**
 * Opens the uploads of a directory. Each upload has a directory of its own, so it keeps its name. Partial
 * uploads of a killed process are removed.
 */
export async function openUploads(dir: string, max: number): Promise<Uploads> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  for (const name of await readdir(dir)) {
    if (name.endsWith(partial)) await rm(join(dir, name), { recursive: true, force: true });
  }
  // A file is in memory while it is checked, so files are checked one at a time.
  const inTurn = oneByOne();
  return {
    async receive(given, source) {
      const id = newId();
      const aside = join(dir, `${id}${partial}`);
      const name = uploadName(given);
      try {
        await mkdir(aside, { mode: 0o700 });
        await pipeline(source, createWriteStream(join(aside, name), { flags: "wx", mode: 0o600 }));
        const facts = await inTurn(() => look(join(aside, name), aside));
        await rename(aside, join(dir, id));
        await inTurn(() => removeOldest(dir, max));
        return { path: join(dir, id, name), name, ...facts };
      } catch (error) {
        await rm(aside, { recursive: true, force: true });
        throw error;
      }
    },
  };
}

const partial = ".part";

/** Sorts by time. */
function newId(): string {
  return `${Date.now().toString(16).padStart(12, "0")}-${randomBytes(4).toString("hex")}`;
}

/** Checks a file with the code that a turn uses. */
async function look(path: string, root: string): Promise<Omit<UploadedFile, "path" | "name">> {
  const { blocks, errors } = await resolveAttachmentsToContentBlocks("", [path], { roots: [root] });
  const [error] = errors;
  const file = blocks.find((block) => block.type !== "text");
  if (error !== undefined || file === undefined) {
    const { code = "EMPTY", reason = "it is empty" } = error ?? {};
    throw new HttpFailure(415, { code, message: reason });
  }
  return factsOf(blockBytes(file));
}

function factsOf(bytes: Uint8Array): Omit<UploadedFile, "path" | "name"> {
  const media = sniff(bytes) as Media;
  const { mediaType } = media;
  if (media.kind !== "image") return { mediaType, kind: "file", size: bytes.length };
  const { width = 0, height = 0 } = media;
  return { mediaType, kind: "image", size: bytes.length, width, height };
}

async function removeOldest(dir: string, max: number): Promise<void> {
  const ids = (await readdir(dir)).filter((name) => !name.endsWith(partial)).sort();
  for (const id of ids.slice(0, Math.max(0, ids.length - max))) {
    await rm(join(dir, id), { recursive: true, force: true });
  }
}

/** File systems take names of 255 bytes. */
const maxStemBytes = 120;
const maxExtensionBytes = 20;

/**
 * Makes a safe file name from a client's name: its last part, without characters that a file system, a
 * terminal or a header would interpret.
 *
 * @example
 * ```ts
 * uploadName("../../etc/pass\r\nwd.png"); // "pass_wd.png"
 * ```
 */
export function uploadName(given: string): string {
  const last = given.split(/[/\\]/).at(-1) ?? "";
  const safe = last
    .toWellFormed()
    .normalize("NFC")
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\uFFFD<>:"|?*]+/gu, "_")
    .replace(/^[\s.]+|[\s.]+$/g, "");
  const extension = extname(safe);
  const stem = safe.slice(0, safe.length - extension.length) || "unnamed";
  // The cut may leave a space or a dot at the end.
  return `${cut(stem, maxStemBytes)}${cut(extension, maxExtensionBytes)}`.replace(/[\s.]+$/, "");
}

function cut(text: string, maxBytes: number): string {
  let bytes = 0;
  let kept = "";
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    kept += character;
  }
  return kept;
}

/** A mutex: runs tasks in the order of the calls, one at a time. A failure does not stop the later ones. */
function oneByOne(): <T>(task: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const next = last.then(task);
    last = next.catch(() => undefined);
    return next;
  };
}

/** Sends a blob. Its type is sniffed once; after that it is streamed and never in memory as a whole. */
export type SendBlob = (response: ServerResponse, ref: BlobRef) => Promise<void>;

/** A larger blob is not sent. */
const maxBlobBytes = 64 * 2 ** 20;

/** A {@link SendBlob} for a store. */
export function blobSender(blobs: Pick<BlobStore, "get" | "stat" | "stream">): SendBlob {
  const types = new Map<BlobRef, string>();
  const inTurn = oneByOne();
  const typeOf = async (ref: BlobRef): Promise<string> => {
    const bytes = await blobs.get(ref);
    if (bytes === undefined) throw noSuchBlob();
    const media = sniff(bytes);
    return media === undefined || media.kind === "invalid"
      ? "application/octet-stream"
      : media.kind === "text"
        ? `${media.mediaType}; charset=utf-8`
        : media.mediaType;
  };
  return async (response, ref) => {
    const stat = await blobs.stat(ref);
    if (stat === undefined || stat.size > maxBlobBytes) throw noSuchBlob();
    const type = types.get(ref) ?? (await inTurn(() => typeOf(ref)));
    types.set(ref, type);
    const chunks = await blobs.stream(ref);
    if (chunks === undefined) throw noSuchBlob();
    response.writeHead(200, {
      ...commonHeaders,
      // The name is the digest, so the bytes never change.
      "cache-control": "private, max-age=31536000, immutable",
      "content-type": type,
      "content-length": stat.size,
      "content-security-policy": "default-src 'none'; sandbox",
    });
    await pipeline(chunks, response);
  };
}

/** The failure for an absent blob. */
export function noSuchBlob(): HttpFailure {
  return new HttpFailure(404, { code: "NOT_FOUND", message: "this session has no such blob" });
}

const mediaTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** Only this server's own scripts run, and no page may frame this one. */
const policy = [
  "default-src 'self'",
  "img-src 'self' blob: data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** `/`, which is index.html, and plain names: no path leads to another directory. */
const pathPattern = /^\/(?:([a-z0-9][a-z0-9-]*)\.(html|js|css|svg))?$/;

const maxPageFileBytes = 2 ** 20;

/** The package's module for pages, which they import without a bundler as `/viewer.js`. */
export const viewerFile = join(
  dirname(createRequire(import.meta.url).resolve("sessile/package.json")),
  ...["dist", "viewer", "index.js"],
);

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
  if (match === null) throw noSuchFile();
  const [, name = "index", extension = "html"] = match;
  const isViewer = `${name}.${extension}` === "viewer.js";
  const bytes = isViewer
    ? await readPageFile(dirname(viewerFile), basename(viewerFile))
    : await readPageFile(dir, `${name}.${extension}`);
  response.writeHead(200, {
    ...commonHeaders,
    "content-type": mediaTypes[extension],
    "content-length": bytes.length,
    "content-security-policy": policy,
  });
  response.end(bytes);
}

async function readPageFile(dir: string, name: string): Promise<Uint8Array> {
  try {
    return (await readLocalFile(join(dir, name), { roots: [dir], maxBytes: maxPageFileBytes })).bytes;
  } catch (error) {
    if (!(error instanceof SessileError)) throw error;
    throw noSuchFile();
  }
}

function noSuchFile(): HttpFailure {
  return new HttpFailure(404, { code: "NOT_FOUND", message: "there is no such file" });
}
