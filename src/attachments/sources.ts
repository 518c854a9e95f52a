/**
 * The sources that `ingest` accepts, the claims of their senders, and the reading of a source to bytes or to
 * a link.
 */

import type { LinkResource, StoredResource } from "../content/index.js";
import { describe } from "../core/arguments.js";
import { base64Bytes, decodeBase64 } from "../core/base64.js";
import { encodeUtf8 } from "../core/bytes.js";
import { SessileError } from "../core/errors/index.js";

/** Bytes, such as `readLocalFile` returns, with the sender's claims about them. */
interface BytesSource {
  readonly bytes: Uint8Array;
  readonly name?: string;
  /** As declared; recorded, never believed. */
  readonly mediaType?: string;
  /** As declared; recorded, never believed. */
  readonly size?: number;
}

/** A data URL with a base64 payload. */
interface DataUrlSource {
  readonly dataUrl: string;
  readonly name?: string;
}

/** The address of something remote. Nothing is fetched. */
export interface LinkSource {
  readonly link: string;
  readonly name?: string;
}

/**
 * An image block of the Agent Client Protocol or of MCP, which are the same, or an inline image of a message.
 *
 * @see https://agentclientprotocol.com/protocol/content (read 2026-11-21)
 */
export interface ImageContentSource {
  readonly type: "image";
  /** Base64. */
  readonly data: string;
  readonly mimeType: string;
  readonly uri?: string | null;
}

/** An audio block of the Agent Client Protocol or of MCP, which are the same. */
interface AudioContentSource {
  readonly type: "audio";
  /** Base64. */
  readonly data: string;
  readonly mimeType: string;
}

/** A resource embedded in a block of the Agent Client Protocol or of MCP, as text or as base64. */
interface EmbeddedResourceSource {
  readonly type: "resource";
  readonly resource: {
    readonly uri: string;
    readonly mimeType?: string | null;
    readonly text?: string;
    /** Base64. */
    readonly blob?: string;
  };
}

/** A block of the Agent Client Protocol or of MCP that names a resource without its bytes. */
export interface ResourceLinkSource {
  readonly type: "resource_link";
  readonly uri: string;
  readonly name: string;
  readonly mimeType?: string | null;
  readonly size?: number | bigint | null;
}

/** An image of OpenAI's Responses: a data URL or a remote address. */
export interface InputImageSource {
  readonly type: "input_image";
  readonly image_url?: string | null;
  readonly file_id?: string | null;
  readonly detail?: string;
}

/** A content block, identified by its `type`. */
type BlockSource =
  | ImageContentSource
  | AudioContentSource
  | EmbeddedResourceSource
  | ResourceLinkSource
  | InputImageSource;

/** Whether a source is a content block. Its `type` decides, whatever its other fields. */
export function isBlock(source: IngestSource): source is BlockSource {
  return "type" in source && typeof source.type === "string";
}

/** A source that always becomes a stored resource. */
export type StoredSource =
  | BytesSource
  | DataUrlSource
  | ImageContentSource
  | AudioContentSource
  | EmbeddedResourceSource;

/** Any source that `ingest` takes. */
export type IngestSource = StoredSource | ResourceLinkSource | InputImageSource | LinkSource;

/** A sender's claims about bytes, unchecked. */
interface Claims {
  readonly mediaType?: unknown;
  readonly size?: unknown;
}

/**
 * The part of a sender's claims that is recorded: the media type in lower case, without parameters and of
 * bounded length, and a valid size. ` IMAGE/PNG ` is `image/png`. Undefined if neither is left.
 */
export function declaredFrom({ mediaType, size }: Claims): StoredResource["declared"] {
  const type = typeof mediaType === "string" ? normalMediaType(mediaType) : "";
  const isSize = typeof size === "number" && Number.isSafeInteger(size) && size >= 0;
  if (type === "" && !isSize) return undefined;
  return { ...(type === "" ? {} : { mediaType: type }), ...(isSize ? { size } : {}) };
}

/** RFC 6838 allows 127 characters on either side of the slash. */
const maxMediaTypeLength = 255;

function normalMediaType(mediaType: string): string {
  const [essence = ""] = mediaType.slice(0, 4 * maxMediaTypeLength).split(";", 1);
  return essence.trim().toLowerCase().slice(0, maxMediaTypeLength).toWellFormed();
}

const maxNameLength = 255;

/**
 * The part of a sender's name that is recorded: the last segment of a path, of bounded length and with its
 * extension. Directories are private. Of a URL only the path counts, since user, host and query may be
 * secrets. Undefined if nothing is left.
 */
export function nameFrom(name: unknown): string | undefined {
  if (typeof name !== "string") return undefined;
  if (/^data:/i.test(name.trimStart())) return undefined;
  if (name.includes("://")) return nameFromUrl(name);
  const base = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1).toWellFormed();
  if (base.trim() === "") return undefined;
  const characters = Array.from(base.slice(0, 4096));
  if (base.length <= maxNameLength) return base;
  const dot = base.lastIndexOf(".");
  const ending = dot > 0 && base.length - dot <= 16 ? base.slice(dot) : "";
  return `${characters.slice(0, maxNameLength - ending.length - 1).join("")}…${ending}`;
}

/** A name from the path of an http, https or file URL; undefined for other text. */
function nameFromUrl(url: unknown): string | undefined {
  return typeof url === "string" ? nameFrom(lastPathPart(url)) : undefined;
}

const maxUrlLength = 4096;

function lastPathPart(text: string): string | undefined {
  if (text.length > maxUrlLength || !URL.canParse(text)) return undefined;
  const { protocol, pathname } = new URL(text);
  if (!/^(?:https?|file):$/.test(protocol)) return undefined;
  try {
    // The decoded segment can contain slashes or a whole URL, so the caller checks it again.
    return decodeURIComponent(pathname.slice(pathname.lastIndexOf("/") + 1));
  } catch {
    return undefined;
  }
}

// Reads a source of `ingest` to bytes in memory, or to a link.

/**
 * Reads the file of a `file:` link, as `readLocalFile` does. The link is unchecked; only its scheme is in
 * lower case. `maxBytes` is at least 1.
 */
export type ReadFile = (
  uri: string,
  options: { readonly maxBytes: number; readonly signal?: AbortSignal },
) => Promise<{ readonly bytes: Uint8Array; readonly name?: string }>;

/** The bytes of a source, and the sender's claims about them. */
export interface SourceBytes {
  readonly kind: "bytes";
  readonly bytes: Uint8Array;
  readonly name: string | undefined;
  readonly declared: StoredResource["declared"];
  readonly uri: string | undefined;
}

export interface ReadSourceOptions {
  readonly maxBytes: number;
  readonly readFile?: ReadFile | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Generates the id of a link. */
  readonly newId: () => string;
}

/**
 * Reads a source to its bytes, or to a link. Checks the size before decoding. Errors never repeat the
 * payload.
 *
 * @throws SessileError INVALID_MESSAGE, BLOB_TOO_LARGE, LINK_REFUSED; errors of `readFile`
 */
export async function readSource(
  source: IngestSource,
  options: ReadSourceOptions,
): Promise<SourceBytes | LinkResource> {
  if (typeof source !== "object" || source === null) throw unknownSource(source);
  if (isBlock(source)) return readBlock(source, options);
  if ("link" in source) return readLink(source, options.newId);
  if ("dataUrl" in source) return readDataUrl("dataUrl", source.dataUrl, source.name, options);
  if (!("bytes" in source)) throw unknownSource(source);
  const { bytes, name, mediaType, size } = source;
  if (!(bytes instanceof Uint8Array)) {
    throw new TypeError(`source.bytes: expected a Uint8Array, got ${describe(bytes)}`);
  }
  checkSize(bytes.length, options.maxBytes);
  return sourceBytes(bytes, { name, mediaType, size });
}

function readBlock(
  source: BlockSource,
  options: ReadSourceOptions,
): SourceBytes | LinkResource | Promise<SourceBytes> {
  switch (source.type) {
    case "image": {
      const bytes = decoded("data", source.data, options.maxBytes);
      return sourceBytes(bytes, { mediaType: source.mimeType, uri: remoteUri(source.uri) });
    }
    case "audio":
      return sourceBytes(decoded("data", source.data, options.maxBytes), { mediaType: source.mimeType });
    case "resource": {
      const { uri, mimeType, text, blob }: Partial<typeof source.resource> = source.resource ?? {};
      const bytes =
        typeof text === "string"
          ? textBytes(text, options.maxBytes)
          : decoded("resource.blob", blob, options.maxBytes);
      return sourceBytes(bytes, { name: nameFromUrl(uri), mediaType: mimeType, uri: remoteUri(uri) });
    }
    case "resource_link":
      return isFileUri(source.uri)
        ? readFileLink(source, options)
        : linkResource(source.uri, {
            resourceId: options.newId(),
            name: nameFrom(source.name),
            declared: declaredFrom({ mediaType: source.mimeType, size: sizeNumber(source.size) }),
          });
    case "input_image": {
      const { image_url: url } = source;
      if (typeof url !== "string")
        throw linkRefused("fileId", "the id of a provider's file is neither bytes nor a link");
      if (/^data:/i.test(url.trimStart())) return readDataUrl("image_url", url, undefined, options);
      return linkResource(url, { resourceId: options.newId() });
    }
    default:
      throw unknownSource(source);
  }
}

/** @throws SessileError LINK_REFUSED */
export function readLink({ link, name }: LinkSource, newId: () => string): LinkResource {
  return linkResource(link, { resourceId: newId(), name: nameFrom(name) });
}

function readDataUrl(
  path: string,
  url: unknown,
  name: string | undefined,
  { maxBytes }: ReadSourceOptions,
): SourceBytes {
  const parsed = typeof url === "string" ? parseDataUrl(url) : undefined;
  if (parsed !== undefined) checkSize(parsed.size, maxBytes);
  const bytes = parsed?.decode();
  if (parsed === undefined || bytes === undefined) throw invalid(path, "a data URL with base64");
  return sourceBytes(bytes, { name, mediaType: parsed.mediaType });
}

/** The largest `maxBytes` of `readLocalFile`. */
const mostReadBytes = 2 ** 32 - 1;

async function readFileLink(
  { uri, name, mimeType, size }: { uri: string; name: unknown; mimeType?: unknown; size?: unknown },
  { readFile, maxBytes, signal }: ReadSourceOptions,
): Promise<SourceBytes> {
  if (readFile === undefined) throw linkRefused("file", "a link to a file needs the option readFile");
  const file = await readFile(uri.trim().replace(/^file:/i, "file:"), {
    maxBytes: Math.min(Math.max(maxBytes, 1), mostReadBytes),
    ...(signal && { signal }),
  });
  checkSize(file.bytes.length, maxBytes);
  // The path is private, so the address is not recorded.
  return sourceBytes(file.bytes, {
    name: nameFrom(name) ?? file.name,
    mediaType: mimeType,
    size: sizeNumber(size),
  });
}

function sourceBytes(
  bytes: Uint8Array,
  { name, uri, ...claims }: Claims & { readonly name?: unknown; readonly uri?: string | undefined },
): SourceBytes {
  return { kind: "bytes", bytes, name: nameFrom(name), declared: declaredFrom(claims), uri };
}

function decoded(path: string, base64: unknown, maxBytes: number): Uint8Array {
  const size = typeof base64 === "string" ? base64Bytes(base64) : undefined;
  if (size !== undefined) checkSize(size, maxBytes);
  const bytes = size === undefined ? undefined : decodeBase64(base64 as string);
  if (bytes === undefined) throw invalid(path, "base64 of RFC 4648");
  return bytes;
}

function textBytes(text: string, maxBytes: number): Uint8Array {
  // Each UTF-16 unit is at least one byte, so this bounds the work of encoding.
  checkSize(text.length, maxBytes);
  const bytes = encodeUtf8(text);
  checkSize(bytes.length, maxBytes);
  return bytes;
}

/** @throws SessileError BLOB_TOO_LARGE */
export function checkSize(bytes: number, maxBytes: number): void {
  if (bytes <= maxBytes) return;
  throw new SessileError("BLOB_TOO_LARGE", `${bytes} bytes, at most ${maxBytes}`, {
    details: { bytes, maxBytes },
  });
}

function isFileUri(uri: unknown): boolean {
  return typeof uri === "string" && /^file:/i.test(uri.trimStart());
}

/** The stripped address of an http or https URL; undefined for anything else. */
function remoteUri(uri: unknown): string | undefined {
  if (typeof uri !== "string" || !/^https?:/i.test(uri.trimStart())) return undefined;
  try {
    return linkUri(uri);
  } catch {
    return undefined;
  }
}

function sizeNumber(size: unknown): unknown {
  return typeof size === "bigint" ? Number(size) : size;
}

function invalid(path: string, expected: string): SessileError<"INVALID_MESSAGE"> {
  return new SessileError("INVALID_MESSAGE", `${path}: expected ${expected}`, {
    details: { path, expected },
  });
}

function unknownSource(source: unknown): TypeError {
  return new TypeError(
    `source: expected { bytes }, { dataUrl }, { link } or a known block, got ${given(source)}`,
  );
}

/** What was given in place of a source, and what to do with it. */
function given(source: unknown): string {
  if (typeof source === "string") {
    const isLink = /^(?:data|https?):/i.test(source);
    return `${describe(source)}: ${isLink ? "give { dataUrl } or { link }" : "read a file with readLocalFile first"}`;
  }
  if (source instanceof Uint8Array) return "bytes: give { bytes }";
  if (typeof source !== "object" || source === null) return describe(source);
  const { type, path, arrayBuffer } = source as Readonly<Record<string, unknown>>;
  if (typeof arrayBuffer === "function")
    return "a Blob or a Response: give { bytes: new Uint8Array(await it.arrayBuffer()) }";
  if (type !== undefined) return describe(type);
  if (typeof path === "string") return "{ path }: read it with readLocalFile first";
  return Object.keys(source).length === 0
    ? describe(source)
    : `{ ${Object.keys(source).slice(0, 5).join(", ")} }`;
}

/** A parsed data URL. */
interface DataUrl {
  /** Unchanged; empty if the URL has none. */
  readonly mediaType: string;
  /** Bytes. */
  readonly size: number;
  /** Decodes the payload; undefined if it is not base64. */
  decode(): Uint8Array | undefined;
}

/**
 * Parses a data URL with a base64 payload; undefined for any other text. Strict about the payload, as
 * providers are, and lenient about the media type.
 *
 * @see https://www.rfc-editor.org/rfc/rfc2397 (read 2026-11-21)
 */
export function parseDataUrl(url: string): DataUrl | undefined {
  const comma = url.indexOf(",");
  // Media types are short: a comma farther on belongs to something else.
  if (comma < 0 || comma > 1000) return undefined;
  const head = url.slice(0, comma).trim();
  // Not a pattern: white space on both sides of the semicolon would make it backtrack.
  const semicolon = head.lastIndexOf(";");
  if (
    !/^data:/i.test(head) ||
    head
      .slice(semicolon + 1)
      .trim()
      .toLowerCase() !== "base64"
  )
    return undefined;
  const payload = url.slice(comma + 1);
  const size = base64Bytes(payload);
  if (semicolon < 0 || size === undefined) return undefined;
  const mediaType = head.slice("data:".length, semicolon).trim();
  return { mediaType, size, decode: () => decodeBase64(payload) };
}

/** Maximum size of a link's address, in UTF-8 bytes. */
const maxLinkBytes = 1000;

/**
 * Reduces the address of a remote link to scheme, host and path. User name, password, query and fragment may
 * be secrets. Nothing is fetched.
 *
 * @throws SessileError LINK_REFUSED, which does not repeat the address
 */
export function linkUri(link: string): string {
  // Checked before parsing, since a data URL can have any length.
  if (/^data:/i.test(String(link).trimStart())) throw dataUrlRefused();
  const url = parsed(link);
  if (url === undefined) throw linkRefused("malformed", "it is not an absolute URL");
  switch (url.protocol) {
    case "http:":
    case "https:":
      break;
    case "data:":
      throw dataUrlRefused();
    case "file:":
      throw linkRefused("file", "a file has to be read, not linked");
    default:
      throw linkRefused("scheme", "its scheme is neither http nor https");
  }
  const uri = `${url.protocol}//${url.host}${url.pathname}`;
  // A truncated address would be another one.
  if (encodeUtf8(uri).length > maxLinkBytes)
    throw linkRefused("tooLong", `it has more than ${maxLinkBytes} bytes`);
  return uri;
}

function parsed(link: string): URL | undefined {
  return typeof link === "string" && URL.canParse(link) ? new URL(link) : undefined;
}

type LinkRefusal = SessileError<"LINK_REFUSED">["details"]["reason"];

function linkRefused(reason: LinkRefusal, because: string): SessileError<"LINK_REFUSED"> {
  return new SessileError("LINK_REFUSED", `link: ${because}`, { details: { reason } });
}

function dataUrlRefused(): SessileError<"LINK_REFUSED"> {
  return linkRefused("data", "a data URL is not a link, since it contains the bytes");
}

/** A resource with an address and no bytes. */
export function linkResource(
  link: string,
  {
    resourceId,
    name,
    declared,
  }: {
    readonly resourceId: string;
    readonly name?: string | undefined;
    readonly declared?: LinkResource["declared"] | undefined;
  },
): LinkResource {
  return {
    resourceId,
    kind: "link",
    ...(name === undefined ? {} : { name }),
    uri: linkUri(link),
    source: "link",
    ...(declared === undefined ? {} : { declared }),
  };
}
