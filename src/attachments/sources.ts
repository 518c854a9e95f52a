import type { StoredResource } from "../content/index.js";

/** Bytes at hand, such as `readLocalFile` gives, and what somebody says of them. */
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
 * An image block of the Agent Client Protocol or of MCP, whose blocks are the same, and of messages that carry images inline.
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

/** A resource that a block of the Agent Client Protocol or of MCP brings along, as text or as base64. */
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

/** A block of the Agent Client Protocol or of MCP that only names a resource. */
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

/** A content block, which says by its `type` what it is. */
export type BlockSource = ImageContentSource | EmbeddedResourceSource | ResourceLinkSource | InputImageSource;

/** Whether a source says by a `type` what it is: whatever other fields it has, they do not make it another one. */
export function isBlock(source: IngestSource): source is BlockSource {
  return "type" in source && typeof source.type === "string";
}

/** What always becomes a stored resource. */
export type StoredSource = BytesSource | DataUrlSource | ImageContentSource | EmbeddedResourceSource;

/** Everything that can be taken in. */
export type IngestSource = StoredSource | ResourceLinkSource | InputImageSource | LinkSource;

/** What a sender says of bytes, in any shape. */
export interface Claims {
  readonly mediaType?: unknown;
  readonly size?: unknown;
}

/**
 * What is recorded of a sender's claims: a media type without parameters, in lower case and of bounded length, and a size
 * that can be one. ` IMAGE/PNG ` is `image/png`. undefined where nothing of use was said.
 */
export function declaredFrom({ mediaType, size }: Claims): StoredResource["declared"] {
  const type = typeof mediaType === "string" ? normalMediaType(mediaType) : "";
  const isSize = typeof size === "number" && Number.isSafeInteger(size) && size >= 0;
  if (type === "" && !isSize) return undefined;
  return { ...(type === "" ? {} : { mediaType: type }), ...(isSize ? { size } : {}) };
}

/** As long as RFC 6838 lets one be: 127 characters on either side of the slash. */
const maxMediaTypeLength = 255;

function normalMediaType(mediaType: string): string {
  const [essence = ""] = mediaType.slice(0, 4 * maxMediaTypeLength).split(";", 1);
  return essence.trim().toLowerCase().slice(0, maxMediaTypeLength).toWellFormed();
}

const maxNameLength = 255;

/**
 * What is recorded of a name that a sender gave: the last part of a path, since where a file lay is nobody's business, and
 * of bounded length, the extension kept. Of a URL only the path counts, since user, host and query may have secrets.
 * undefined where nothing is left.
 */
export function nameFrom(name: unknown): string | undefined {
  if (typeof name !== "string") return undefined;
  if (/^\s*data:/i.test(name)) return undefined;
  if (name.includes("://")) return nameFromUrl(name);
  const base = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1).toWellFormed();
  if (base.trim() === "") return undefined;
  const characters = Array.from(base.slice(0, 4096));
  if (base.length <= maxNameLength) return base;
  const dot = base.lastIndexOf(".");
  const ending = dot > 0 && base.length - dot <= 16 ? base.slice(dot) : "";
  return `${characters.slice(0, maxNameLength - ending.length - 1).join("")}…${ending}`;
}

/** A name out of the path of an http, https or file URL; nothing else of it, and of any other text undefined. */
export function nameFromUrl(url: unknown): string | undefined {
  return typeof url === "string" ? nameFrom(lastPartOf(url)) : undefined;
}

const maxUrlLength = 4096;

function lastPartOf(text: string): string | undefined {
  if (text.length > maxUrlLength || !URL.canParse(text)) return undefined;
  const { protocol, pathname } = new URL(text);
  if (!/^(?:https?|file):$/.test(protocol)) return undefined;
  try {
    // Escaped, a slash or a whole URL may be in the last part.
    return decodeURIComponent(pathname.slice(pathname.lastIndexOf("/") + 1));
  } catch {
    return undefined;
  }
}
