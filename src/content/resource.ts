/** Resources: the descriptors of attachments that messages carry, and their text for models. */

import { resourceShape } from "../core/message-shapes.js";
import { oneLine } from "../core/text.js";

/** The name of stored bytes: the digest algorithm and 64 lower-case hexadecimal digits. */
export type BlobRef = `${"sha256" | "blake3"}:${string}`;

interface ResourceBase {
  /** `res_` and 16 hexadecimal digits; unique in the session. */
  readonly resourceId: string;
  /** A name for people, such as a file's base name. Untrusted text. */
  readonly name?: string;
  /** How the resource came into the session. Other writers have values of their own. */
  readonly source: "upload" | "tool" | "model" | "link" | "import" | (string & Record<never, never>);
  /** The sender's claims. Recorded, never trusted. */
  readonly declared?: { readonly mediaType?: string; readonly size?: number };
}

/** A resource whose bytes are in a blob store. */
export interface StoredResource extends ResourceBase {
  readonly kind: "image" | "file";
  /** As sniffed from the bytes, such as `image/png`. */
  readonly mediaType: string;
  /** Bytes. */
  readonly size: number;
  readonly blob: BlobRef;
  /** 64 lower-case hexadecimal digits, also if the blob is named by another algorithm. */
  readonly contentSha256: string;
  /** Pixels. */
  readonly width?: number;
  /** Pixels. */
  readonly height?: number;
  /** Pages of a PDF, if they can be counted. */
  readonly pages?: number;
  /** A PDF is encrypted, if only to restrict printing or copying. */
  readonly encrypted?: boolean;
  /** The address of its origin, if known. */
  readonly uri?: string;
}

/** A link, which is never fetched and has no bytes. */
export interface LinkResource extends ResourceBase {
  readonly kind: "link";
  readonly uri: string;
}

/**
 * An attachment of a message in the log: its descriptor, without the bytes. A descriptor from outside is a
 * bearer capability for the blob that it names; see {@link asUserMessage}.
 */
export type Resource = StoredResource | LinkResource;

const maxShownNameLength = 80;

/**
 * The descriptor of a resource as text, such as `[image screen.png, image/png, 14 kB, res_0123456789abcdef]`.
 * One line. The name is safe in a prompt: no brackets, control characters or line breaks, and at most 80
 * characters.
 *
 * @example
 * ```ts
 * const resourceId = "res_0123456789abcdef";
 * describeResource({ resourceId, kind: "link", source: "link", uri: "https://a.example" });
 * // "[link https://a.example, res_0123456789abcdef]"
 * ```
 */
export function describeResource(resource: Resource): string {
  const name = resource.name === undefined ? "" : safeName(resource.name);
  const id = safeName(resource.resourceId);
  if (resource.kind === "link")
    return `[link ${name === "" ? "" : `${name}, `}${safeName(resource.uri)}, ${id}]`;
  const title = name === "" ? resource.kind : `${resource.kind} ${name}`;
  return `[${title}, ${safeName(resource.mediaType)}, ${byteCount(resource.size)}, ${id}]`;
}

/** The descriptor of an inline image or file, which has neither a name nor an id. */
export function describeImage({
  kind = "image",
  ...image
}: Pick<StoredResource, "mediaType" | "size"> & Partial<Pick<StoredResource, "kind">>): string {
  return `[${kind}, ${safeName(image.mediaType)}, ${byteCount(image.size)}]`;
}

/** Whether a value is a well-formed resource descriptor. Does not look for its blob. */
export function isResource(value: unknown): value is Resource {
  return resourceShape(value) === undefined;
}

/** The resource of a block; undefined for a plain block. */
export function blockResource(block: {
  readonly type: string;
  readonly resource?: Resource;
}): Resource | undefined {
  return block.type === "text" ? block.resource : undefined;
}

function safeName(name: string): string {
  const clean = oneLine(name).replace(/[[\]]/g, "_");
  const characters = Array.from(clean.slice(0, 2 * maxShownNameLength + 2));
  if (characters.length <= maxShownNameLength) return clean;
  return `${characters.slice(0, maxShownNameLength - 1).join("")}…`;
}

function byteCount(size: number): string {
  if (size < 1000) return `${size} B`;
  if (size < 999_500) return `${Math.round(size / 1000)} kB`;
  return `${(size / 1_000_000).toFixed(1)} MB`;
}
