/** Moves inline images, and media in providers' blocks, from messages and entries to the blob store. */

import {
  type AssistantMessage,
  describeResource,
  type Message,
  type OpaqueBlock,
  type StoredResource,
} from "../content/index.js";
import { opaqueMedia, withReferences } from "../content/internal.js";
import { decodeBase64, decodeLooseBase64 } from "../core/base64.js";
import { encodeUtf8 } from "../core/bytes.js";
import { SessileError } from "../core/errors/index.js";
import { isRecord } from "../core/shape.js";
import {
  assertBlobs,
  defaultMaxBytes,
  type IngestOptions,
  identifySource,
  resourceIdFrom,
  storeResource,
} from "./ingest.js";
import { checkSize, declaredFrom } from "./sources.js";

/** Options of {@link imageExternalizer}. */
export type ExternalizeOptions = Pick<IngestOptions, "blobs" | "maxBytes" | "newId" | "signal" | "source">;

/** Totals of an `imageExternalizer` so far. */
export interface ExternalizerReport {
  /** Entries that `rewrite` was called with. */
  readonly entries: number;
  /** Images and other media of these entries that were moved into the store. */
  readonly images: number;
  /** UTF-8 bytes of all entries as JSON, before. */
  readonly bytesBefore: number;
  /** UTF-8 bytes of all entries as JSON, after. */
  readonly bytesAfter: number;
  /**
   * Images and other media that stay inline: their data is not base64, they are too large for the store, or
   * messages of the role cannot have images.
   */
  readonly kept: readonly {
    readonly entryId: string;
    /** Index among the blocks. */
    readonly block: number;
    readonly code: "INVALID_MESSAGE" | "BLOB_TOO_LARGE";
  }[];
}

/** Moves inline media out of the entries of a session while it is copied. */
export interface ImageExternalizer {
  /** Returns the entry with its media as resources; the same object if none is inline. */
  readonly rewrite: <E extends { readonly type: string; readonly id: string }>(entry: E) => Promise<E>;
  readonly report: ExternalizerReport;
}

/**
 * Moves inline base64 images into a blob store while a session is copied: those of messages, of custom
 * messages, of edits of either, and of updated parts. Media that a model made, in a provider's own block,
 * become resources of that block. The decoded bytes are stored unchanged, under the media type sniffed from
 * them; bytes of another type become a file. Each is durable before the entry that names it is written.
 * Idempotent.
 *
 * @throws the error of the store, except BLOB_TOO_LARGE
 * @example
 * ```ts
 * const { rewrite, report } = imageExternalizer({ blobs: memoryBlobStore() });
 * const slim = await sessions.fork(session.id, { rewrite });
 * console.log(`${report.images} images: ${report.bytesBefore} bytes were, ${report.bytesAfter} are`);
 * ```
 */
export function imageExternalizer(options: ExternalizeOptions): ImageExternalizer {
  const kept: ExternalizerReport["kept"][number][] = [];
  const report = { entries: 0, images: 0, bytesBefore: 0, bytesAfter: 0, kept };
  return {
    report,
    async rewrite<E extends { readonly type: string; readonly id: string }>(entry: E): Promise<E> {
      const bytes = jsonBytes(entry);
      report.entries++;
      report.bytesBefore += bytes;
      const moved = await externalizeEntry(entry, options);
      for (const { block, error } of moved.kept) kept.push({ entryId: entry.id, block, code: error.code });
      report.images += moved.images;
      report.bytesAfter += moved.entry === entry ? bytes : jsonBytes(moved.entry);
      return moved.entry;
    },
  };
}

/** A medium that stays in its message, and why. */
interface KeptImage {
  /** Index among the message's blocks. */
  readonly block: number;
  readonly error: SessileError<"INVALID_MESSAGE"> | SessileError<"BLOB_TOO_LARGE">;
}

/** An entry without the media that were moved to the store. */
export interface ExternalizedEntry<E> {
  /** The same object if nothing was moved. */
  readonly entry: E;
  /** How many were moved. */
  readonly images: number;
  readonly kept: readonly KeptImage[];
}

type Block = AssistantMessage["content"][number];

/** Moves the inline media of one entry or draft, as {@link imageExternalizer} does. */
export async function externalizeEntry<E extends { readonly type: string }>(
  entry: E,
  options: ExternalizeOptions,
): Promise<ExternalizedEntry<E>> {
  const holder = entryHolder(entry);
  if (holder === undefined) return { entry, images: 0, kept: [] };
  assertBlobs(options?.blobs);
  let images = 0;
  const kept: KeptImage[] = [];
  const content: Block[] = [];
  for (const [index, block] of messageBlocks(holder.message).entries()) {
    const store = async (data: unknown, mediaType: string): Promise<StoredResource | undefined> => {
      try {
        const bytes = canHaveImages(holder.message) ? decoded(data) : undefined;
        if (bytes === undefined) throw notMovable(index);
        const resource = await storeMedium(bytes, mediaType, options);
        images++;
        return resource;
      } catch (error) {
        if (!SessileError.is(error, "INVALID_MESSAGE") && !SessileError.is(error, "BLOB_TOO_LARGE")) {
          throw error;
        }
        kept.push({ block: index, error });
        return undefined;
      }
    };
    if (block?.type === "image") {
      const resource = await store(block.data, block.mimeType);
      content.push(
        resource === undefined ? block : { type: "text", text: describeResource(resource), resource },
      );
    } else content.push(block?.type === "opaque" ? await withoutMedia(block, store) : block);
  }
  if (images === 0) return { entry, images, kept };
  return { entry: holder.with({ ...holder.message, content } as Message) as E, images, kept };
}

/** The block with references to its media. */
async function withoutMedia(
  block: OpaqueBlock,
  store: (data: unknown, mediaType: string) => Promise<StoredResource | undefined>,
): Promise<OpaqueBlock> {
  const found: (StoredResource | undefined)[] = [];
  for (const { base64, declared = "" } of opaqueMedia(block.data)) found.push(await store(base64, declared));
  const stored = found.filter((resource) => resource !== undefined);
  if (stored.length === 0) return block;
  const data = withReferences(block.data, (at) => found[at]?.resourceId);
  return { ...block, data, resources: [...(block.resources ?? []), ...stored] };
}

/** Bytes that are not an image become a file, so that nothing is lost. */
async function storeMedium(
  bytes: Uint8Array,
  mediaType: string,
  { blobs, maxBytes = defaultMaxBytes, newId, signal, source = "import" }: ExternalizeOptions,
): Promise<StoredResource> {
  signal?.throwIfAborted();
  checkSize(bytes.length, maxBytes);
  const declared = declaredFrom({ mediaType });
  const piece = identifySource({ kind: "bytes", bytes, name: undefined, declared, uri: undefined }, "file");
  return storeResource(piece, resourceIdFrom(newId), { blobs, source, signal });
}

/** Takes any value: a foreign log may have anything for the data. */
function decoded(data: unknown): Uint8Array | undefined {
  return typeof data === "string" ? (decodeBase64(data) ?? decodeLooseBase64(data)) : undefined;
}

function notMovable(block: number): SessileError<"INVALID_MESSAGE"> {
  const path = `content[${block}].data`;
  const expected = "base64 in a message that can have images";
  return new SessileError("INVALID_MESSAGE", `${path}: expected ${expected}`, {
    details: { path, expected },
  });
}

function canHaveImages({ role }: Message): boolean {
  return role === "user" || role === "assistant" || role === "toolResult" || role === "custom";
}

/** The blocks of a message. A foreign log may have anything for content, and images in any message. */
function messageBlocks(message: Message): readonly Block[] {
  return "content" in message && Array.isArray(message.content) ? message.content : [];
}

/** The message of an entry, and the way to put a changed one back. */
interface MessageHolder {
  readonly message: Message;
  with(message: Message): unknown;
}

/** The message that an entry holds, or one made of its blocks; undefined if it has neither. */
function entryHolder(entry: { readonly type: string }): MessageHolder | undefined {
  const { type, message, content, replacement, part } = entry as Readonly<Record<string, unknown>>;
  if ((type === "message" || type === "message_update") && isRecord(message))
    return { message: message as unknown as Message, with: (message) => ({ ...entry, message }) };
  if (type === "custom_message" && Array.isArray(content))
    return holderOfBlocks(content, (content) => ({ ...entry, content }));
  if (type === "part_update" && isRecord(part))
    return holderOfBlocks([part], ([part]) => ({ ...entry, part }));
  if (type === "context_edit" && isRecord(replacement) && Array.isArray(replacement.content)) {
    const { content } = replacement;
    return holderOfBlocks(content, (content) => ({ ...entry, replacement: { ...replacement, content } }));
  }
  return undefined;
}

function holderOfBlocks(
  content: readonly unknown[],
  put: (content: readonly unknown[]) => unknown,
): MessageHolder {
  return {
    message: { role: "assistant", content, timestamp: 0 } as unknown as AssistantMessage,
    with: (message) => put((message as AssistantMessage).content),
  };
}

function jsonBytes(value: unknown): number {
  return encodeUtf8(JSON.stringify(value)).length;
}
