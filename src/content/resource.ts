import { resourceShape } from "../internal/message-shapes.js";
import type { TextBlock } from "./message.js";

/** The name of stored bytes: the digest algorithm and 64 lower-case hexadecimal digits. */
export type BlobRef = `${"sha256" | "blake3"}:${string}`;

interface ResourceBase {
  /** `res_` and 16 hexadecimal digits; unique in the session. */
  readonly resourceId: string;
  /** A name for people, such as a file's base name. Untrusted text. */
  readonly name?: string;
  /** How the resource came into the session; other writers have words of their own. */
  readonly source: "upload" | "tool" | "link" | "import" | (string & Record<never, never>);
  /** What the sender said of it. Recorded, never believed. */
  readonly declared?: { readonly mediaType?: string; readonly size?: number };
}

/** A resource whose bytes lie in a blob store. */
export interface StoredResource extends ResourceBase {
  readonly kind: "image" | "file";
  /** As sniffed from the bytes, such as `image/png`. */
  readonly mediaType: string;
  /** Bytes. */
  readonly size: number;
  readonly blob: BlobRef;
  /** 64 lower-case hexadecimal digits, whatever algorithm names the blob. */
  readonly contentSha256: string;
  /** Pixels. */
  readonly width?: number;
  /** Pixels. */
  readonly height?: number;
  /** Where it came from, if that is known. */
  readonly uri?: string;
}

/** A link that was recorded and never fetched: there are no bytes. */
export interface LinkResource extends ResourceBase {
  readonly kind: "link";
  readonly uri: string;
}

/**
 * Something attached to a message, as the log knows it: a descriptor, never the bytes. A descriptor from outside is a
 * bearer capability for the blob that it names; see {@link asUserMessage}.
 */
export type Resource = StoredResource | LinkResource;

const maxShownNameLength = 80;

/**
 * The descriptor text that stands for a resource wherever its bytes do not, such as
 * `[image screen.png, image/png, 14 kB, res_0123456789abcdef]`. One line; the name is made safe for a prompt: no
 * brackets, control characters or line breaks, at most 80 characters. The digest is not part of it.
 *
 * @example
 * ```ts
 * describeResource({ resourceId: "res_0123456789abcdef", kind: "link", source: "link", uri: "https://example.com/a" });
 * // "[link https://example.com/a, res_0123456789abcdef]"
 * ```
 */
export function describeResource(resource: Resource): string {
  const name = resource.name === undefined ? "" : safeName(resource.name);
  if (resource.kind === "link") {
    return `[link ${name === "" ? "" : `${name}, `}${safeName(resource.uri)}, ${safeName(resource.resourceId)}]`;
  }
  const first = name === "" ? resource.kind : `${resource.kind} ${name}`;
  return `[${first}, ${safeName(resource.mediaType)}, ${byteCount(resource.size)}, ${safeName(resource.resourceId)}]`;
}

/**
 * The descriptor of an image that is inline in its message, and so has neither a name nor an id to view it by.
 *
 * @example
 * ```ts
 * describeImage({ mediaType: "image/png", size: 14_000 }); // "[image, image/png, 14 kB]"
 * ```
 */
export function describeImage(image: Pick<StoredResource, "mediaType" | "size">): string {
  return `[image, ${safeName(image.mediaType)}, ${byteCount(image.size)}]`;
}

/** Whether a value is a well-formed resource descriptor. Does not look for its blob. */
export function isResource(value: unknown): value is Resource {
  return resourceShape(value) === undefined;
}

/** The resource that a block stands for, or undefined where it is a plain block. */
export function resourceOf(
  block: { readonly type: string } & Partial<Pick<TextBlock, "resource">>,
): Resource | undefined {
  return block.type === "text" ? block.resource : undefined;
}

function safeName(name: string): string {
  const clean = name
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .replace(/[[\]]/g, "_")
    .trim();
  const characters = Array.from(clean);
  if (characters.length <= maxShownNameLength) return clean;
  return `${characters.slice(0, maxShownNameLength - 1).join("")}…`;
}

function byteCount(size: number): string {
  if (size < 1000) return `${size} B`;
  if (size < 999_500) return `${Math.round(size / 1000)} kB`;
  return `${(size / 1_000_000).toFixed(1)} MB`;
}
