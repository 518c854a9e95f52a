/** The images of a session: separated from its entries, and limited to a budget of bytes. */

import { isResource, type OpaqueBlock, type StoredResource } from "../content/index.js";
import { blockResources, opaqueMedia, withReferences } from "../content/internal.js";
import { decodeBase64, encodeBase64 } from "../core/base64.js";
import { isRecord } from "../core/shape.js";
import { inlineImageKey, type LeftOutImage, type PageEntry, type PageImage } from "./page-data.js";

/** The part of a blob store that a page needs. */
export interface ImageBlobs {
  get(ref: StoredResource["blob"]): Promise<Uint8Array | undefined>;
}

/** Entries without inline images, and the images by key. */
export interface SeparatedImages {
  readonly entries: readonly PageEntry[];
  readonly found: readonly FoundImage[];
}

/** An image that an entry holds or names. */
interface FoundImage {
  readonly key: string;
  readonly session: string;
  readonly entryId: string;
  readonly mediaType: string;
  readonly size: number;
  readonly name?: string;
  /** The base64 text of an inline image. */
  readonly inline?: string;
  /** The blob of a stored one. */
  readonly blob?: StoredResource["blob"];
}

/** Types that a browser shows as an image. A page gives no other type to an image element. */
const shownTypes: ReadonlySet<string> = new Set([
  ...["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "image/svg+xml"],
]);

/**
 * Finds all images, and replaces the data of inline ones by their key.
 *
 * @param session the key of the entries' session
 */
export function separateImages(session: string, entries: readonly PageEntry[]): SeparatedImages {
  const found = new Map<string, FoundImage>();
  return {
    entries: entries.map((entry) => withoutImages(session, entry, found)),
    found: [...found.values()],
  };
}

function withoutImages(session: string, entry: PageEntry, found: Map<string, FoundImage>): PageEntry {
  let inline = 0;
  let changed = false;
  const block = (value: unknown): unknown => {
    if (!isRecord(value)) return value;
    if (value.type === "image" && typeof value.data === "string" && value.data !== "") {
      const key = inlineImageKey(session, entry.id, inline++);
      const mediaType = typeof value.mimeType === "string" ? value.mimeType : "";
      const size = Math.floor((value.data.length * 3) / 4);
      if (isShownType(mediaType)) {
        found.set(key, { key, session, entryId: entry.id, mediaType, size, inline: value.data });
      }
      changed = true;
      return { ...value, data: "", viewerKey: key };
    }
    if (value.type === "opaque") return opaque(value as unknown as OpaqueBlock);
    stored(value.resource);
    return value;
  };
  const stored = (resource: unknown) => {
    if (!isResource(resource) || resource.kind !== "image" || !isShownType(resource.mediaType)) return;
    const { blob, mediaType, size, name } = resource;
    if (found.has(blob)) return;
    found.set(blob, {
      ...{ key: blob, session, entryId: entry.id, mediaType, size, blob },
      ...(name !== undefined && { name }),
    });
  };
  /** A provider's block, whose inline images have their keys in `viewerMedia`. */
  const opaque = (value: OpaqueBlock): unknown => {
    for (const resource of blockResources(value)) stored(resource);
    const media = opaqueMedia(value.data);
    if (media.length === 0) return value;
    const keys = media.map(() => inlineImageKey(session, entry.id, inline++));
    const viewerMedia = media.flatMap(({ base64, imageType: mimeType }, at) => {
      const key = keys[at] as string;
      const size = Math.floor((base64.length * 3) / 4);
      const mediaType = mimeType ?? "application/octet-stream";
      if (mimeType !== undefined)
        found.set(key, { key, session, entryId: entry.id, mediaType, size, inline: base64 });
      return mimeType === undefined ? [] : [{ type: "image", mimeType, data: "", viewerKey: key }];
    });
    changed = true;
    return { ...value, data: withReferences(value.data, (at) => keys[at]), viewerMedia };
  };
  const copy = mapContent(entry, block);
  return changed ? copy : entry;
}

/** Applies a function to every block of an entry, in all places that have blocks. */
function mapContent(entry: PageEntry, block: (value: unknown) => unknown): PageEntry {
  switch (entry.type) {
    case "message":
    case "message_update":
      return { ...entry, message: mapBlocks(entry.message, block) as never };
    case "custom_message":
      return mapBlocks(entry, block) as never;
    case "context_edit":
      return entry.replacement === null
        ? entry
        : { ...entry, replacement: mapBlocks(entry.replacement, block) as never };
    case "part_update":
      return { ...entry, part: block(entry.part) as never };
    default:
      return entry;
  }
}

function mapBlocks(holder: object, block: (value: unknown) => unknown): object {
  const { content } = holder as { readonly content?: unknown };
  return Array.isArray(content) ? { ...holder, content: content.map(block) } : holder;
}

/** Whether a browser shows a type as an image. */
export function isShownType(mediaType: string): boolean {
  return shownTypes.has(mediaType.toLowerCase());
}

/** The images of a page, and those that it lacks. */
export interface LoadedImages {
  readonly images: readonly PageImage[];
  readonly leftOut: readonly LeftOutImage[];
}

/**
 * Loads images up to a number of bytes. The largest ones are left out first, so that most images are there.
 * A blob that is missing or corrupt is left out with that reason; other errors of the store are thrown.
 */
export async function loadImages(
  found: SeparatedImages["found"],
  blobs: ImageBlobs | undefined,
  maxBytes: number,
): Promise<LoadedImages> {
  const images: PageImage[] = [];
  const leftOut: LeftOutImage[] = [];
  const leave = (image: FoundImage, reason: LeftOutImage["reason"]) => {
    const { key, session, entryId, mediaType, size, name } = image;
    leftOut.push({ key, session, entryId, mediaType, size, ...(name !== undefined && { name }), reason });
  };
  let room = maxBytes;
  // A blob may be in several sessions.
  const unique = new Map<string, FoundImage>();
  for (const image of found) if (!unique.has(image.key)) unique.set(image.key, image);
  for (const image of [...unique.values()].sort((a, b) => a.size - b.size)) {
    if (image.size > room) leave(image, "budget");
    else {
      const loaded = await foundImageBase64(image, blobs);
      if ("reason" in loaded) leave(image, loaded.reason);
      else {
        images.push({ key: image.key, mediaType: image.mediaType.toLowerCase(), base64: loaded.base64 });
        room -= image.size;
      }
    }
  }
  return { images, leftOut };
}

async function foundImageBase64(
  { inline, blob }: FoundImage,
  blobs: ImageBlobs | undefined,
): Promise<{ readonly base64: string } | { readonly reason: "missing" | "corrupt" }> {
  if (inline !== undefined) {
    // Encoded again, so that only base64 gets into the page.
    const bytes = decodeBase64(inline);
    return bytes === undefined ? { reason: "corrupt" } : { base64: encodeBase64(bytes) };
  }
  try {
    const bytes = blob === undefined ? undefined : await blobs?.get(blob);
    return bytes === undefined ? { reason: "missing" } : { base64: encodeBase64(bytes) };
  } catch (error) {
    if (isRecord(error) && error.code === "BLOB_CORRUPT") return { reason: "corrupt" };
    throw error;
  }
}
