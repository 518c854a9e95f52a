import type { ImageBlock, Message, TextBlock, UserMessage } from "../content/index.js";
import { encodeUtf8 } from "../internal/bytes.js";
import { isRecord } from "../internal/shape.js";
import { externalizeImages } from "./externalize.js";
import type { IngestOptions } from "./ingest.js";

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
export function imageExternalizer(
  options: Pick<IngestOptions, "blobs" | "maxBytes" | "newId" | "signal">,
): ImageExternalizer {
  const kept: ExternalizerReport["kept"][number][] = [];
  const report = { entries: 0, images: 0, bytesBefore: 0, bytesAfter: 0, kept };
  return {
    report,
    async rewrite<E extends { readonly type: string; readonly id: string }>(entry: E): Promise<E> {
      const bytes = jsonBytes(entry);
      const holder = holderOf(entry);
      report.entries++;
      report.bytesBefore += bytes;
      if (holder === undefined) {
        report.bytesAfter += bytes;
        return entry;
      }
      const moved = await externalizeImages(holder.message, options);
      for (const { block, code } of moved.kept) kept.push({ entryId: entry.id, block, code });
      report.images += moved.resources.length;
      const slim = moved.message === holder.message ? entry : (holder.with(moved.message) as E);
      report.bytesAfter += slim === entry ? bytes : jsonBytes(slim);
      return slim;
    },
  };
}

interface Holder {
  readonly message: Message;
  with(message: Message): unknown;
}

type Blocks = readonly (TextBlock | ImageBlock)[];

/** The message that an entry has, or one made of the blocks that it has; undefined where there are none. */
function holderOf(entry: { readonly type: string }): Holder | undefined {
  const { type, message, content, replacement } = entry as Readonly<Record<string, unknown>>;
  if (type === "message" && isRecord(message))
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

function jsonBytes(value: unknown): number {
  return encodeUtf8(JSON.stringify(value)).length;
}
