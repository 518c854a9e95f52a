/**
 * Messages of a chat as messages of a session, and their files, whose bytes are blobs. A page gets addresses in
 * place of the bytes, and a message that comes back with such an address is the stored message.
 */

import { ingest } from "../../attachments/index.js";
import { type BlobStore, digest } from "../../blobs/index.js";
import type { BlobRef, Resource, StoredResource } from "../../content/index.js";
import { decodeBase64 } from "../../core/base64.js";
import { isRecord } from "../../core/shape.js";
import type { EntryDraft } from "../../session/index.js";
import { Media, type MessageForm } from "../shared/message-values.js";
import { canonicalText, shortDigest } from "../shared/parcels.js";
import { unnotedDrafts } from "./from-ui-messages.js";
import { shownMessages } from "./to-ui-messages.js";
import { dataUrlHead, type FilePart, isFilePart, messageParts, type UiMessage } from "./ui-message.js";

/** A file of a chat that is in the blob store. */
export interface ChatFile {
  readonly chatId: string;
  /** The name of the bytes. In an address it also identifies the file of a request. */
  readonly ref: BlobRef;
  /** As the part states it; not checked against the bytes. */
  readonly mediaType: string;
  readonly filename?: string;
}

/** A file of a stored message. */
export interface StoredFile {
  readonly file: ChatFile;
  readonly media: Media;
}

/** What stands for the bytes of a file while a message is converted. No URL begins so. */
const token = "media:";

/** Messages of `useChat` as messages of a session. */
export const uiMessageForm: MessageForm = {
  async drafts(value, attach, id) {
    const known: unknown[] = [];
    const named = withUrls(value, (url) => (url instanceof Media ? `${token}${known.push(url) - 1}` : url));
    const attached = async (part: FilePart, role: UiMessage["role"]): Promise<Resource | undefined> => {
      const { url, filename } = part;
      const head = dataUrlHead(url);
      const isStored = url.startsWith(token);
      if (!isStored && head === undefined) return linkTo(part);
      const source = isStored ? known[Number(url.slice(token.length))] : url;
      const mediaType = isStored ? part.mediaType : typeOfHead(head as string);
      return attach(source, { mediaType, name: filename, source: role === "assistant" ? "model" : "upload" });
    };
    const drafts = await unnotedDrafts(named, attached, id);
    return drafts?.map(withoutUsage);
  },

  async render(entries, about) {
    const resources = new Map<string, StoredResource>();
    const fileUrl = (resource: StoredResource) => {
      resources.set(resource.resourceId, resource);
      return token + resource.resourceId;
    };
    const isOwn = about !== undefined;
    const shown = await shownMessages(entries, { fileUrl, running: isOwn, showsSystem: isOwn });
    return shown.map(({ id, ...rest }) => {
      const message = { id: isOwn && typeof about.id === "string" ? about.id : isOwn ? "" : id, ...rest };
      return withUrls(message, (url) => {
        const resource = typeof url === "string" ? resources.get(url.slice(token.length)) : undefined;
        if (resource === undefined) return url;
        const { declared, mediaType } = resource;
        return new Media(resource, `data:${declared?.mediaType ?? mediaType};base64,`);
      });
    });
  },

  isMedia: (holder, key) => key === "url" && (holder.type === "file" || holder.type === "reasoning-file"),
};

/** A reply has no API, reason of its end and counts of tokens, which would take as much space as a short one. */
function withoutUsage(draft: EntryDraft): EntryDraft {
  if (draft.type !== "message" || draft.message.role !== "assistant") return draft;
  const { usage: _, api: __, stopReason: ___, ...message } = draft.message;
  return { ...draft, message };
}

/** The media type of the head of a data URL, without parameters. */
function typeOfHead(head: string): string {
  return head.slice("data:".length).split(";")[0] as string;
}

function linkTo({ url, filename }: FilePart): Resource | undefined {
  try {
    return ingest({ link: url, ...(typeof filename === "string" ? { name: filename } : {}) });
  } catch {
    // An address that is no link, such as a path of the application: the message has its part as it is.
    return undefined;
  }
}

/** A message with other URLs of files, also of those in steering messages; another value as it is. */
function withUrls(message: unknown, change: (url: unknown) => unknown): unknown {
  if (!isRecord(message) || !Array.isArray(message.parts)) return message;
  const parts = message.parts.map((part: unknown) => {
    if (!isRecord(part)) return part;
    if (part.type === "steering-message") return withUrls(part, change);
    if (part.type !== "file" && part.type !== "reasoning-file") return part;
    const url = change(part.url);
    return url === part.url ? part : { ...part, url };
  });
  return { ...message, parts };
}

/** The files of a message as it is stored. */
export function storedFiles(message: unknown, chatId: string): readonly StoredFile[] {
  const found: StoredFile[] = [];
  for (const part of messageParts(message)) {
    if (!isRecord(part) || !(part.url instanceof Media)) continue;
    found.push({ file: chatFile(part, part.url, chatId), media: part.url });
  }
  return found;
}

function chatFile(part: Readonly<Record<string, unknown>>, media: Media, chatId: string): ChatFile {
  const { mediaType, filename } = part;
  const named = typeof filename === "string" ? { filename } : {};
  const type = typeof mediaType === "string" ? mediaType : "application/octet-stream";
  return { chatId, ref: media.blob, mediaType: type, ...named };
}

/** A stored message with addresses in place of the bytes of its files. */
export async function withAddresses(
  message: unknown,
  chatId: string,
  fileUrl: (file: ChatFile) => string | Promise<string>,
): Promise<unknown> {
  const urls = new Map<Media, string>();
  for (const { file, media } of storedFiles(message, chatId)) urls.set(media, await fileUrl(file));
  return withUrls(message, (url) => (url instanceof Media ? (urls.get(url) ?? url) : url));
}

/** A message with the stored files in place of their addresses. */
export function withStoredFiles(message: unknown, known: ReadonlyMap<string, StoredFile>): unknown {
  return withUrls(message, (url) => (typeof url === "string" ? (known.get(url)?.media ?? url) : url));
}

/** Whether a message has a file part whose address may be one of the chat's. */
export function hasAddress(message: unknown): boolean {
  return messageParts(message).some((part) => isFilePart(part) && !part.url.startsWith("data:"));
}

/**
 * A digest of a message: of its JSON with sorted keys, without `undefined`, with digests in place of the bytes of
 * data URLs.
 */
export function messageDigest(message: unknown): string {
  const bare = withUrls(message, (url) => {
    if (url instanceof Media) return [url.head, url.sha256];
    const head = typeof url === "string" ? dataUrlHead(url) : undefined;
    const bytes = head === undefined ? undefined : decodeBase64((url as string).slice(head.length));
    return bytes === undefined ? url : [head, digest(bytes).slice("sha256:".length)];
  });
  return shortDigest(canonicalText(bare));
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
