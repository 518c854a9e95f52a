/** The sources that `ingest` accepts, and the claims of their senders that are recorded. */
import type { StoredResource } from "../content/index.js";

/** Bytes, such as `readLocalFile` returns, with the sender's claims about them. */
export interface BytesSource {
  readonly bytes: Uint8Array;
  readonly name?: string;
  /** As declared; recorded, never believed. */
  readonly mediaType?: string;
  /** As declared; recorded, never believed. */
  readonly size?: number;
}

/** A data URL with a base64 payload. */
export interface DataUrlSource {
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
export interface AudioContentSource {
  readonly type: "audio";
  /** Base64. */
  readonly data: string;
  readonly mimeType: string;
}

/** A resource embedded in a block of the Agent Client Protocol or of MCP, as text or as base64. */
export interface EmbeddedResourceSource {
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
export type BlockSource =
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
export interface Claims {
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
export function nameFromUrl(url: unknown): string | undefined {
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
