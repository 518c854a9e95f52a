/**
 * Files of a chat: parts with data URLs, whose bytes are blobs. A page gets addresses in place of the bytes,
 * and a message that comes back with such an address is the stored message.
 */

import { type BlobStore, digest } from "../../blobs/index.js";
import type { BlobRef } from "../../content/index.js";
import { decodeBase64 } from "../../core/base64.js";
import { isRecord } from "../../core/shape.js";
import { type PackedValue, type Parcel, valueDigest } from "../shared/parcels.js";
import { dataUrlHead, type FilePart, isFilePart, messageParts } from "./ui-message.js";

/** A file of a chat that is in the blob store. */
export interface ChatFile {
  readonly chatId: string;
  /** The name of the bytes. In an address it also identifies the file of a request. */
  readonly ref: BlobRef;
  /** As the part states it; not checked against the bytes. */
  readonly mediaType: string;
  readonly filename?: string;
}

/** A file in the parcel of a message. */
export interface StoredFile {
  readonly file: ChatFile;
  /** Index of its part. */
  readonly part: number;
  /** The data URL up to the bytes. */
  readonly head: string;
}

/** The files of a parcel, by the parts that name them. */
export function parcelFiles(parcel: Parcel, chatId: string): readonly StoredFile[] {
  if (parcel.out === undefined) return [];
  const parts = messageParts("json" in parcel ? JSON.parse(parcel.json) : parcel.v);
  return parcel.out.flatMap((out) => {
    const [path, kind, ref, head] = out;
    const at = partOfUrl(path);
    const part = at === undefined ? undefined : parts[at];
    if (kind !== "data" || at === undefined || !isRecord(part) || ref === undefined) return [];
    if (part.type !== "file" && part.type !== "reasoning-file") return [];
    const { mediaType, filename } = part;
    const named = typeof filename === "string" ? { filename } : {};
    const type = typeof mediaType === "string" ? mediaType : "application/octet-stream";
    return [{ file: { chatId, ref, mediaType: type, ...named }, part: at, head: head ?? "" }];
  });
}

/** A parcel without the bytes of its files. */
export function withoutFiles(parcel: Parcel): Parcel {
  const out = (parcel.out ?? []).filter(([path, kind]) => kind !== "data" || partOfUrl(path) === undefined);
  return { ...parcel, out };
}

/** The index of a part whose `url` is at a path. */
function partOfUrl(path: readonly (string | number)[]): number | undefined {
  const [parts, at, url] = path;
  return path.length === 3 && parts === "parts" && typeof at === "number" && url === "url" ? at : undefined;
}

/**
 * The SHA-256 of a message: its JSON with sorted keys, without `undefined`, with digests in place of the
 * bytes of data URLs. `known` has the files of addresses.
 */
export function messageDigest(message: unknown, known: ReadonlyMap<string, StoredFile>): string {
  if (!isRecord(message) || !Array.isArray(message.parts)) return valueDigest(message);
  const parts = message.parts.map((part) => (isFilePart(part) ? digestible(part, known) : part));
  return valueDigest({ ...message, parts });
}

function digestible(part: FilePart, known: ReadonlyMap<string, StoredFile>): unknown {
  const { url } = part;
  const stored = known.get(url);
  if (stored !== undefined) return { ...part, url: [stored.head, stored.file.ref] };
  const head = dataUrlHead(url);
  const bytes = head === undefined ? undefined : decodeBase64(url.slice(head.length));
  return bytes === undefined ? part : { ...part, url: [head, digest(bytes)] };
}

/** Whether a message has a file part whose address may be one of the chat's. */
export function hasAddress(message: unknown): boolean {
  return messageParts(message).some((part) => isFilePart(part) && !part.url.startsWith("data:"));
}

/** A packed message with the stored files in place of their addresses. */
export function withStoredFiles(packed: PackedValue, known: ReadonlyMap<string, StoredFile>): PackedValue {
  const inline = [...packed.inline];
  const json = packed.json as { readonly parts: readonly unknown[] };
  const parts = json.parts.map((part, at) => {
    const stored = isFilePart(part) ? known.get(part.url) : undefined;
    if (stored === undefined) return part;
    inline.push([["parts", at, "url"], "data", stored.file.ref, stored.head]);
    return { ...(part as object), url: null };
  });
  return { ...packed, json: { ...json, parts }, inline };
}

/** The bytes of a file; undefined if the store does not have them. */
export async function fileBytes(
  blobs: BlobStore | undefined,
  file: ChatFile | undefined,
): Promise<
  { readonly bytes: Uint8Array; readonly mediaType: string; readonly filename?: string } | undefined
> {
  const bytes = file === undefined ? undefined : await blobs?.get(file.ref);
  if (file === undefined || bytes === undefined) return undefined;
  const { mediaType, filename } = file;
  return { bytes, mediaType, ...(filename === undefined ? {} : { filename }) };
}
