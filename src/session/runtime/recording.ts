/** The recorded form of appended drafts: truncated results, bounds on inline images. */

import type { BlobStore } from "../../blobs/index.js";
import type { ToolResultMessage } from "../../content/index.js";
import { opaqueMedia } from "../../content/internal.js";
import { describe } from "../../core/arguments.js";
import { decodeLooseBase64 } from "../../core/base64.js";
import { SessileError } from "../../core/errors/index.js";
import { isRecord } from "../../core/shape.js";
import type { EntryDraft } from "../../log/internal.js";

/** Options for recording appended entries. */
export interface RecordingOptions {
  /**
   * The store for inline base64 of appended drafts: images, and media that a model made. Each is stored before
   * its entry is written, and a resource replaces it. @default none
   */
  readonly blobs?: Pick<BlobStore, "put">;
  /**
   * `refuse`: base64 that cannot go to `blobs` fails the append with INLINE_BYTES if an entry has more than
   * 1024 bytes of it. `allow`: it is written to the log. @default "refuse"
   */
  readonly inline?: "refuse" | "allow";
  /**
   * Returns the recorded form of a tool result, such as `truncateToolResult` of `sessile/compaction`.
   * @default unchanged
   */
  readonly truncate?: (message: ToolResultMessage) => ToolResultMessage;
}

/** Maximum inline base64 of an entry without permission, in bytes. */
const maxInlineBytes = 1024;

/** @throws TypeError for an invalid option */
export function checkRecordingOptions(
  options: RecordingOptions,
  base: RecordingOptions = {},
): RecordingOptions {
  const { blobs = base.blobs, inline = base.inline, truncate = base.truncate } = options;
  if (inline !== undefined && inline !== "refuse" && inline !== "allow")
    throw new TypeError(`inline: expected "refuse" or "allow", got ${String(inline)}`);
  if (blobs !== undefined && typeof blobs?.put !== "function")
    throw new TypeError(`blobs: expected a blob store, got ${describe(blobs)}`);
  if (truncate !== undefined && typeof truncate !== "function")
    throw new TypeError(`truncate: expected a function, got ${describe(truncate)}`);
  return {
    ...(blobs === undefined ? {} : { blobs }),
    ...(inline === undefined ? {} : { inline }),
    ...(truncate === undefined ? {} : { truncate }),
  };
}

/** The drafts with their tool results in recorded form. */
export function truncated(
  drafts: readonly EntryDraft[],
  truncate: NonNullable<RecordingOptions["truncate"]>,
): readonly EntryDraft[] {
  return drafts.map((draft) => {
    if (draft?.type !== "message" || draft.message?.role !== "toolResult") return draft;
    return { ...draft, message: truncate(draft.message) };
  });
}

/** Whether an entry or a draft has an inline image, or media in a provider's block. */
export function hasInline(entry: { readonly type: string }): boolean {
  const { content } = entryContent(entry);
  if (content === undefined) return false;
  for (let at = 0; at < content.length; at++) {
    const block = content[at];
    if (!isRecord(block)) continue;
    if (block.type === "image" || (block.type === "opaque" && opaqueMedia(block.data).length > 0))
      return true;
  }
  return false;
}

/** Throws INLINE_BYTES if an entry has too much inline base64. `at`: the index of its draft, or its path. */
export function assertInline(
  entry: { readonly type: string },
  at: number | string,
  { inline }: RecordingOptions,
  maxBytes = maxInlineBytes,
): void {
  if (inline === "allow") return;
  const { content = [], path } = entryContent(entry);
  let bytes = 0;
  for (const [block, piece] of content.entries()) {
    bytes += inlineBytes(piece);
    if (bytes <= maxBytes) continue;
    const place = `${typeof at === "string" ? at : `drafts[${at}]`}.${path}[${block}]`;
    throw new SessileError("INLINE_BYTES", `${place}: ${bytes} bytes of base64, at most ${maxBytes}`, {
      details: { path: place, bytes, maxBytes },
    });
  }
}

const none: { readonly content?: readonly unknown[]; readonly path: string } = { path: "" };

/** The blocks of an entry, with their paths. */
function entryContent(entry: { readonly type: string }): typeof none {
  const { type, message, content, replacement, part } = entry as Partial<
    Record<"message" | "content" | "replacement" | "part", unknown>
  > & { readonly type: string };
  if (type === "message" || type === "message_update") {
    if (!isRecord(message)) return none;
    return Array.isArray(message.content) ? { content: message.content, path: "message.content" } : none;
  }
  if (type === "part_update") return { content: [part], path: "part" };
  if (type === "custom_message") return Array.isArray(content) ? { content, path: "content" } : none;
  if (type !== "context_edit" || !isRecord(replacement)) return none;
  const { content: replaced } = replacement;
  return Array.isArray(replaced) ? { content: replaced, path: "replacement.content" } : none;
}

/** Characters of the inline base64 of a block. Other text of a provider's block does not count. */
function inlineBytes(block: unknown): number {
  if (!isRecord(block)) return 0;
  if (block.type === "image") return typeof block.data === "string" ? block.data.length : 0;
  if (block.type !== "opaque") return 0;
  const found = opaqueMedia(block.data).filter(({ base64 }) => decodeLooseBase64(base64) !== undefined);
  return found.reduce((sum, { base64 }) => sum + base64.length, 0);
}
