/**
 * Inline media of a draft, moved to the blob store before the entry is written. Loaded with the first medium,
 * because digests and the sniffer are half of the code of `sessile`. test/package/chunks.test.ts
 */
import { externalizeEntry } from "../../attachments/internal.js";
import { digest } from "../../blobs/index.js";
import { encodeUtf8 } from "../../core/bytes.js";
import type { EntryDraft } from "../../log/internal.js";
import { assertInline, hasInline, type RecordingOptions } from "./recording.js";

/**
 * Returns the draft of an entry with its media in the blob store. The ids of resources follow from the
 * entry's id, so that a second append of the draft is idempotent.
 *
 * @throws SessileError BLOB_TOO_LARGE, INLINE_BYTES for invalid base64, and errors of the store
 */
export async function withoutInline(
  draft: EntryDraft,
  { id, at }: { readonly id: string; readonly at: number | string },
  recording: RecordingOptions,
  signal: AbortSignal | undefined,
): Promise<EntryDraft> {
  const { blobs } = recording;
  if (blobs === undefined || !hasInline(draft)) return draft;
  let count = 0;
  const { entry, kept } = await externalizeEntry(draft, {
    blobs,
    source: draftSource(draft),
    newId: () => resourceId(id, count++),
    signal,
  });
  const tooLarge = kept.find(({ error }) => error.code === "BLOB_TOO_LARGE");
  if (tooLarge !== undefined && recording.inline !== "allow") throw tooLarge.error;
  assertInline(entry, at, recording);
  return entry;
}

/** Who made the media of a draft. */
function draftSource(draft: EntryDraft): "tool" | "model" | "upload" {
  const blocks = draft.type === "part_update" ? [draft.part] : editedBlocks(draft);
  if (blocks.some(({ type }) => type === "opaque")) return "model";
  const role = draft.type === "message" || draft.type === "message_update" ? draft.message.role : undefined;
  return role === "toolResult" ? "tool" : role === "assistant" ? "model" : "upload";
}

function editedBlocks(draft: EntryDraft): readonly { readonly type: string }[] {
  const content = draft.type === "context_edit" ? draft.replacement?.content : undefined;
  return Array.isArray(content) ? (content as readonly { readonly type: string }[]) : [];
}

function resourceId(entryId: string, count: number): string {
  const [, hex = ""] = digest(encodeUtf8(`${entryId}:${count}`)).split(":");
  return `res_${hex.slice(0, 16)}`;
}
