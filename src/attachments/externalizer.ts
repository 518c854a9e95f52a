import type { ImageBlock, Message, Resource, TextBlock, UserMessage } from "../content/index.js";
import { isRecord } from "../internal/shape.js";
import { type ExternalizeOptions, jsonBytes, type KeptImage, moveImages } from "./externalize.js";

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
