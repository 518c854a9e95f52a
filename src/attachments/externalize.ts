import {
  describeResource,
  type ImageBlock,
  type Message,
  type Resource,
  type TextBlock,
} from "../content/index.js";
import { SessileError } from "../errors/index.js";
import { encodeUtf8 } from "../internal/bytes.js";
import { type IngestOptions, ingest } from "./ingest.js";

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
  options: Pick<IngestOptions, "blobs" | "maxBytes" | "newId" | "signal">,
): Promise<ExternalizedMessage<M>> {
  const bytesBefore = jsonBytes(message);
  const untouched = { message, resources: [], bytesBefore, bytesAfter: bytesBefore, kept: [] };
  const resources: Resource[] = [];
  const kept: ExternalizedMessage["kept"][number][] = [];
  const content: (TextBlock | ImageBlock)[] = [];
  for (const [block, piece] of shownBlocks(message).entries()) {
    if (piece?.type !== "image") {
      content.push(piece);
      continue;
    }
    if (!hasImages(message)) {
      kept.push({ block, code: "INVALID_MESSAGE" });
      continue;
    }
    try {
      // Other fields that were logged with it are no claims of an attachment.
      const { type, data, mimeType } = piece;
      const resource = await ingest(
        { type, data, mimeType },
        { ...options, source: "import", mismatch: "file" },
      );
      resources.push(resource);
      content.push({ type: "text", text: describeResource(resource), resource });
    } catch (error) {
      const code = keepable.find((code) => SessileError.is(error, code));
      if (code === undefined) throw error;
      kept.push({ block, code });
      content.push(piece);
    }
  }
  if (resources.length === 0) return { ...untouched, kept };
  const slim = { ...message, content } as M;
  return { message: slim, resources, bytesBefore, bytesAfter: jsonBytes(slim), kept };
}

const keepable = ["INVALID_MESSAGE", "BLOB_TOO_LARGE"] as const;

/** Whether messages of this role can have images. */
function hasImages({ role }: Message): boolean {
  return role === "user" || role === "toolResult" || role === "custom";
}

/** A foreign log may have anything for content, and images in any message. */
function shownBlocks(message: Message): readonly (TextBlock | ImageBlock)[] {
  return "content" in message && Array.isArray(message.content) ? message.content : [];
}

function jsonBytes(message: Message): number {
  return encodeUtf8(JSON.stringify(message)).length;
}
