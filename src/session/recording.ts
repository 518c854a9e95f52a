import type { BlobStore } from "../blobs/index.js";
import type { ToolResultMessage } from "../content/index.js";
import { SessileError } from "../errors/index.js";
import { isRecord } from "../internal/shape.js";
import type { EntryDraft } from "./entries.js";

/** How a session records what is appended to it. */
export interface RecordingOptions {
  /**
   * Where images go that an appended draft has inline as base64: each is stored before the entry is written, and the
   * entry has a resource in its place. Default none.
   */
  readonly blobs?: Pick<BlobStore, "put">;
  /**
   * `refuse`, the default: base64 that cannot go to `blobs` fails the append with INLINE_BYTES where an entry has more
   * than 1024 bytes of it. `allow`: it is written to the log.
   */
  readonly inline?: "refuse" | "allow";
  /** Gives what is recorded for a tool's result, such as `truncateToolResult` of `sessile/compaction`. Default all. */
  readonly truncate?: (message: ToolResultMessage) => ToolResultMessage;
}

/** Bytes of base64 in one entry that are written without being allowed. */
const maxInlineBytes = 1024;

/** @throws TypeError for an option that is none */
export function recordingFrom(options: RecordingOptions, base: RecordingOptions = {}): RecordingOptions {
  const { blobs = base.blobs, inline = base.inline, truncate = base.truncate } = options;
  if (inline !== undefined && inline !== "refuse" && inline !== "allow")
    throw new TypeError(`inline: expected "refuse" or "allow", got ${String(inline)}`);
  if (blobs !== undefined && typeof blobs?.put !== "function")
    throw new TypeError("blobs: expected a blob store");
  if (truncate !== undefined && typeof truncate !== "function")
    throw new TypeError("truncate: expected a function of a tool's result");
  return {
    ...(blobs === undefined ? {} : { blobs }),
    ...(inline === undefined ? {} : { inline }),
    ...(truncate === undefined ? {} : { truncate }),
  };
}

/** The drafts with the results of tools as they are to be recorded; the very same where nothing is truncated. */
export function truncated(
  drafts: readonly EntryDraft[],
  { truncate }: RecordingOptions,
): readonly EntryDraft[] {
  if (truncate === undefined) return drafts;
  return drafts.map((draft) => {
    if (draft?.type !== "message" || draft.message?.role !== "toolResult") return draft;
    return { ...draft, message: truncate(draft.message) };
  });
}

/** Whether an entry or a draft has an image inline. */
export function hasInline(entry: { readonly type: string }): boolean {
  const { content } = contentOf(entry);
  if (content === undefined) return false;
  for (let at = 0; at < content.length; at++) if (isImage(content[at])) return true;
  return false;
}

/** Throws INLINE_BYTES where an entry has more base64 inline than may be written; `at` is its draft's index. */
export function assertInline(
  entry: { readonly type: string },
  at: number,
  { inline }: RecordingOptions,
  maxBytes = maxInlineBytes,
): void {
  if (inline === "allow") return;
  const { content = [], path } = contentOf(entry);
  let bytes = 0;
  for (const [block, piece] of content.entries()) {
    if (!isImage(piece)) continue;
    bytes += typeof piece.data === "string" ? piece.data.length : 0;
    if (bytes <= maxBytes) continue;
    const place = `drafts[${at}].${path}[${block}]`;
    throw new SessileError("INLINE_BYTES", `${place}: ${bytes} bytes of base64, at most ${maxBytes}`, {
      details: { path: place, bytes, maxBytes },
    });
  }
}

const none: { readonly content?: readonly unknown[]; readonly path: string } = { path: "" };

/** The blocks that an entry shows, and where they stand in it. */
function contentOf(entry: { readonly type: string }): typeof none {
  const { type, message, content, replacement, part } = entry as Partial<
    Record<"message" | "content" | "replacement" | "part", unknown>
  > & { readonly type: string };
  if (type === "message" || type === "message_update") {
    if (!isRecord(message) || message.role === "assistant") return none;
    return Array.isArray(message.content) ? { content: message.content, path: "message.content" } : none;
  }
  if (type === "part_update") return { content: [part], path: "part" };
  if (type === "custom_message") return Array.isArray(content) ? { content, path: "content" } : none;
  if (type !== "context_edit" || !isRecord(replacement)) return none;
  const { content: replaced } = replacement;
  return Array.isArray(replaced) ? { content: replaced, path: "replacement.content" } : none;
}

function isImage(block: unknown): block is { readonly data?: unknown } {
  return isRecord(block) && block.type === "image";
}
