import {
  describeResource,
  type ImageBlock,
  type Message,
  type Resource,
  type TextBlock,
  type UserMessage,
} from "../content/index.js";
import { SessileError } from "../errors/index.js";
import { decodeBase64, decodeLooseBase64 } from "../internal/base64.js";
import { encodeUtf8 } from "../internal/bytes.js";
import { isRecord } from "../internal/shape.js";
import type { IngestOptions } from "./ingest.js";
import { checkSize } from "./read-source.js";
import { declaredFrom } from "./sources.js";
import { assertBlobs, defaultMaxBytes, identified, resourceIdFrom, store } from "./store-resource.js";

/** Options of {@link externalizeImages}. */
export type ExternalizeOptions = Pick<IngestOptions, "blobs" | "maxBytes" | "newId" | "signal" | "source">;

/** What moving the images of a message out of it came to. */
export interface ExternalizedMessage<M extends Message = Message> {
  /** The message with a resource in the place of each image that was moved; the very same where none was. */
  readonly message: M;
  /** What was stored, in order. */
  readonly resources: readonly Resource[];
  /** UTF-8 bytes of the message as JSON. */
  readonly bytesBefore: number;
  /** UTF-8 bytes of the message as JSON. */
  readonly bytesAfter: number;
  /**
   * Images that stay where they are: their data is no base64, or it is too large for the store, or the message is of a
   * role that can have none.
   */
  readonly kept: readonly {
    /** Index among the message's blocks. */
    readonly block: number;
    readonly code: "INVALID_MESSAGE" | "BLOB_TOO_LARGE";
  }[];
}

/**
 * Moves the images that a message has inline as base64 into a blob store, as other writers' sessions have them. Each is
 * stored exactly as decoded, with what its bytes say of its type; bytes that are no image are kept as a file, so that
 * nothing is lost. All are durable when it resolves. Changes nothing else, and moving twice changes nothing more.
 *
 * @throws what the store throws, besides BLOB_TOO_LARGE
 * @example
 * ```ts
 * const blobs = memoryBlobStore();
 * const { message: slim, bytesBefore, bytesAfter } = await externalizeImages(message, { blobs });
 * ```
 */
export async function externalizeImages<M extends Message>(
  message: M,
  options: ExternalizeOptions,
): Promise<ExternalizedMessage<M>> {
  const bytesBefore = jsonBytes(message);
  const { message: slim, resources, kept } = await moveImages(message, options);
  return {
    message: slim,
    resources,
    bytesBefore,
    bytesAfter: slim === message ? bytesBefore : jsonBytes(slim),
    kept: kept.map(({ block, error }) => ({ block, code: error.code })),
  };
}

/** Why an image stays in its message. */
export interface KeptImage {
  /** Index among the message's blocks. */
  readonly block: number;
  readonly error: SessileError<"INVALID_MESSAGE"> | SessileError<"BLOB_TOO_LARGE">;
}

/** {@link externalizeImages} without the sizes. */
export async function moveImages<M extends Message>(
  message: M,
  options: ExternalizeOptions,
): Promise<{
  readonly message: M;
  readonly resources: readonly Resource[];
  readonly kept: readonly KeptImage[];
}> {
  assertBlobs(options?.blobs);
  const resources: Resource[] = [];
  const kept: KeptImage[] = [];
  const content: (TextBlock | ImageBlock)[] = [];
  for (const [block, piece] of shownBlocks(message).entries()) {
    if (piece?.type !== "image") {
      content.push(piece);
      continue;
    }
    try {
      // Other fields that were logged with it are no claims of an attachment.
      const bytes = hasImages(message) ? decoded(piece.data) : undefined;
      if (bytes === undefined) throw notMovable(block);
      const resource = await keep(bytes, piece.mimeType, options);
      resources.push(resource);
      content.push({ type: "text", text: describeResource(resource), resource });
    } catch (error) {
      if (!SessileError.is(error, "INVALID_MESSAGE") && !SessileError.is(error, "BLOB_TOO_LARGE"))
        throw error;
      kept.push({ block, error });
      content.push(piece);
    }
  }
  return { message: resources.length === 0 ? message : ({ ...message, content } as M), resources, kept };
}

/** Bytes that are no image are kept as a file, so that nothing is lost. */
async function keep(
  bytes: Uint8Array,
  mediaType: string,
  { blobs, maxBytes = defaultMaxBytes, newId, signal, source = "import" }: ExternalizeOptions,
): Promise<Resource> {
  signal?.throwIfAborted();
  checkSize(bytes.length, maxBytes);
  const declared = declaredFrom({ mediaType });
  const piece = identified({ kind: "bytes", bytes, name: undefined, declared, uri: undefined }, "file");
  return store(piece, resourceIdFrom(newId), { blobs, source, ...(signal === undefined ? {} : { signal }) });
}

/** A foreign log may have anything for the data. */
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

/** Whether messages of this role can have images. */
function hasImages({ role }: Message): boolean {
  return role === "user" || role === "toolResult" || role === "custom";
}

/** A foreign log may have anything for content, and images in any message. */
function shownBlocks(message: Message): readonly (TextBlock | ImageBlock)[] {
  return "content" in message && Array.isArray(message.content) ? message.content : [];
}

export function jsonBytes(value: unknown): number {
  return encodeUtf8(JSON.stringify(value)).length;
}

/** What an {@link ImageExternalizer} has done so far. */
export interface ExternalizerReport {
  /** Entries that it was given. */
  readonly entries: number;
  /** Images that were moved into the store, of these entries. */
  readonly images: number;
  /** UTF-8 bytes of all entries as JSON, as they came. */
  readonly bytesBefore: number;
  /** UTF-8 bytes of all entries as JSON, as they left. */
  readonly bytesAfter: number;
  /** Images that stay inline: their data is no base64, or it is too large for the store. */
  readonly kept: readonly {
    readonly entryId: string;
    /** Index among the blocks. */
    readonly block: number;
    readonly code: "INVALID_MESSAGE" | "BLOB_TOO_LARGE";
  }[];
}

/** Moves inline images out of the entries of a session that is being copied. */
export interface ImageExternalizer {
  /** What stands in an entry's place: the very same where it has no image inline. */
  readonly rewrite: <E extends { readonly type: string; readonly id: string }>(entry: E) => Promise<E>;
  readonly report: ExternalizerReport;
}

/**
 * Moves the images that a session's entries have inline as base64 into a blob store while the session is copied: those of
 * messages, of custom messages, and of edits of either. Each is durable before the entry that names it is written. See
 * {@link externalizeImages} for one message.
 *
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
      report.images += moved.resources.length;
      report.bytesAfter += moved.entry === entry ? bytes : jsonBytes(moved.entry);
      return moved.entry;
    },
  };
}

/** What moving the images of an entry out of it came to. */
export interface ExternalizedEntry<E> {
  /** The entry with a resource in the place of each image that was moved; the very same where none was. */
  readonly entry: E;
  /** What was stored, in order. */
  readonly resources: readonly Resource[];
  /** Images that stay inline, and why. */
  readonly kept: readonly KeptImage[];
}

/**
 * {@link externalizeImages} for an entry or a draft: a message, a custom message, or an edit of either. A session that
 * has `blobs` does this to what is appended.
 */
export async function externalizeEntry<E extends { readonly type: string }>(
  entry: E,
  options: ExternalizeOptions,
): Promise<ExternalizedEntry<E>> {
  const holder = holderOf(entry);
  if (holder === undefined) return { entry, resources: [], kept: [] };
  const { message, resources, kept } = await moveImages(holder.message, options);
  return { entry: message === holder.message ? entry : (holder.with(message) as E), resources, kept };
}

interface Holder {
  readonly message: Message;
  with(message: Message): unknown;
}

type Blocks = readonly (TextBlock | ImageBlock)[];

/** The message that an entry has, or one made of the blocks that it has; undefined where there are none. */
function holderOf(entry: { readonly type: string }): Holder | undefined {
  const { type, message, content, replacement } = entry as Readonly<Record<string, unknown>>;
  if ((type === "message" || type === "message_update") && isRecord(message))
    return { message: message as unknown as Message, with: (message) => ({ ...entry, message }) };
  if (type === "custom_message" && Array.isArray(content))
    return holderOfBlocks(content, (content) => ({ ...entry, content }));
  if (type === "context_edit" && isRecord(replacement) && Array.isArray(replacement.content)) {
    const { content } = replacement;
    return holderOfBlocks(content, (content) => ({ ...entry, replacement: { ...replacement, content } }));
  }
  return undefined;
}

function holderOfBlocks(content: readonly unknown[], put: (content: unknown) => unknown): Holder {
  return {
    message: { role: "user", content: content as Blocks, timestamp: 0 },
    with: (message) => put((message as UserMessage).content),
  };
}
