/**
 * Files of a turn as content blocks of the Claude Agent SDK: paths resolved within limits, the form of the
 * prompt, blocks, reads, and the refusals of paths with their codes.
 */

import { access, constants } from "node:fs/promises";
import nodePath from "node:path";
import { blockTexts } from "../../../content/internal.js";
import {
  checkLimits,
  chiralityLimits,
  type LimitItem,
  type LimitProfile,
  type LimitViolation,
} from "../../../content/limits/index.js";
import { anthropic as anthropicLimits } from "../../../content/limits/internal.js";
import {
  agreesWith,
  type ImageMedia,
  type ImageMediaType,
  mediaTypeOfName,
  sniff,
} from "../../../content/media/index.js";
import { needsPassword, type PdfMedia } from "../../../content/media/internal.js";
import { describe } from "../../../core/arguments.js";
import { encodeBase64 } from "../../../core/base64.js";
import { decodeUtf8, decodeUtf16 } from "../../../core/bytes.js";
import { type ErrorDetails, SessileError } from "../../../core/errors/index.js";
import { collapsed } from "../../../core/text.js";
import type { TargetLimits } from "../../../providers/index.js";
import { isBlank } from "../../../providers/internal.js";
import { type LocalFile, type ReadLocalFileOptions, readLocalFile } from "../../../storage/files/index.js";

/** Options of {@link resolveAttachmentsToContentBlocks}. */
export interface ResolveAttachmentsOptions extends Pick<ReadLocalFileOptions, "roots" | "signal"> {
  /**
   * The profile whose limits apply besides those of a turn; null for no profile. Default Anthropic's own API,
   * with a small context.
   */
  readonly limits?: TargetLimits | null;
}

/** The outcome of a turn's attachments. */
interface ResolvedAttachments {
  /** The warning if some failed, the text if it is not blank, then the accepted files in order. */
  readonly blocks: AttachmentContentBlock[];
  /** The refused files, in order. */
  readonly errors: AttachmentError[];
}

/**
 * Reads the files that a user attached to a turn as content blocks: images, PDFs, and text as documents.
 *
 * Files are checked one by one, in order. The first broken rule of {@link AttachmentErrorCode} is the file's
 * error. A file has at most 10 MiB, and a turn at most 18 MiB of files. A refused file does not count against
 * the budget, and later files are still checked. A path that occurs twice counts twice. The client's claims
 * about a file, other than its path, are ignored.
 *
 * If files failed, the first block is a warning to the model: their number, and the sanitized names and
 * reasons of up to three. It contains no path and no text that a file's name could inject.
 *
 * At most 18 MiB of files and their base64 are in memory at once. A file costs a few system calls, and a
 * check against all accepted files before it. Bound the number of paths if they come from outside.
 *
 * @param message the user's text; blank text gives no block
 * @param attachmentPaths absolute paths; give `roots` too if they come from an untrusted source
 * @throws TypeError if `message` is no string, or `attachmentPaths` no array of strings
 * @throws RangeError for a transport that the target's profile does not have; the signal's reason if it is
 *   aborted
 * @example
 * ```ts
 * const resolved = await resolveAttachmentsToContentBlocks("What is wrong here?", ["/home/me/screen.png"]);
 * for (const { path, code, reason } of resolved.errors) console.warn(`${path}: ${code}, ${reason}`);
 * const prompt = selectPromptMode("What is wrong here?", resolved);
 * ```
 */
export function resolveAttachmentsToContentBlocks(
  message: string,
  attachmentPaths: readonly string[],
  options: ResolveAttachmentsOptions = {},
): Promise<ResolvedAttachments> {
  return resolveWith(nodeAttachmentFiles, message, attachmentPaths, options);
}

/** {@link resolveAttachmentsToContentBlocks} on any file system. */
export async function resolveWith(
  files: AttachmentFiles,
  message: string,
  paths: readonly string[],
  { limits, roots, signal }: ResolveAttachmentsOptions,
): Promise<ResolvedAttachments> {
  checkArguments(message, paths);
  const text = textBlock(message);
  const check = targetCheck(text, limits);
  const reading = { roots, signal };
  const accepted: AttachmentContentBlock[] = [];
  const errors: AttachmentError[] = [];
  let room: number = chiralityLimits.maxTurnBytes;
  const take = async (path: string): Promise<FileContent | Refusal> => {
    const file = await readAttachment(files, path, room, reading);
    if ("code" in file) return file;
    const content = readAttachmentContent(file, plainName(path));
    if ("code" in content) return content;
    if (content.pdf?.encrypted && (await needsPassword(file.bytes))) return locked;
    return check(content) ?? content;
  };
  for (const path of paths) {
    signal?.throwIfAborted();
    const outcome = await take(path);
    if ("code" in outcome) {
      errors.push({ path, ...outcome });
    } else {
      accepted.push(outcome.block);
      room -= outcome.size;
    }
  }
  const warning = textBlock(warningText(errors, paths.length));
  return { blocks: [warning, text, ...accepted].filter((block) => block !== undefined), errors };
}

/**
 * Empty for blank text, which the API refuses (https://github.com/anthropics/claude-code/issues/23440, read
 * 2026-11-21).
 */
function textBlock(text: string): AttachmentTextBlock | undefined {
  return isBlank(text) ? undefined : { type: "text", text: text.toWellFormed() };
}

function checkArguments(message: string, paths: readonly string[]): void {
  if (typeof message !== "string")
    throw new TypeError(`message: expected a string, got ${describe(message)}`);
  if (!Array.isArray(paths))
    throw new TypeError(`attachmentPaths: expected an array, got ${describe(paths)}`);
  for (const [index, path] of paths.entries()) {
    if (typeof path === "string") continue;
    throw new TypeError(`attachmentPaths[${index}]: expected a string, got ${describe(path)}`);
  }
}

// Chooses the form of a prompt: text alone, or a message with attachments.

/**
 * The message of a turn with attachments. Assignable to `SDKUserMessage` of @anthropic-ai/claude-agent-sdk.
 */
export interface AgentUserMessage {
  type: "user";
  message: { role: "user"; content: AttachmentContentBlock[] };
  parent_tool_use_id: null;
  session_id: string;
}

/** The `prompt` of the Claude Agent SDK's `query`. */
export type AgentPrompt = string | AsyncIterable<AgentUserMessage>;

/** Options of {@link selectPromptMode}. */
export interface PromptModeOptions {
  /** The agent's session id. Default "", as the SDK itself sends it if the prompt is a string. */
  readonly sessionId?: string;
}

/**
 * The prompt of a turn, once its attachments are resolved. Without files it is the text alone, after the
 * warning if some failed. With files it is one message of all blocks, which can be iterated again for another
 * attempt. A turn without text and attachments gives its blank text: the caller decides whether to send it.
 *
 * @param message the text that the attachments were resolved with
 * @throws SessileError ATTACHMENT_FAILURE if all attachments failed and there is no text: answer 400. Its
 *   details contain no paths, so they are safe to send to the client.
 * @throws TypeError if `message` or `sessionId` is no string
 * @example
 * ```ts
 * const message = "";
 * const attachments = ["/home/me/screen.png"];
 * const resolved = await resolveAttachmentsToContentBlocks(message, attachments);
 * const prompt = selectPromptMode(message, resolved, { sessionId: "5f0c" });
 * // for await (const event of query({ prompt })) …
 * ```
 */
export function selectPromptMode(
  message: string,
  { blocks, errors }: ResolvedAttachments,
  { sessionId = "" }: PromptModeOptions = {},
): AgentPrompt {
  for (const [name, value] of Object.entries({ message, sessionId })) {
    if (typeof value !== "string") throw new TypeError(`${name}: expected a string, got ${describe(value)}`);
  }
  if (blocks.some(({ type }) => type !== "text")) return onlyMessage(blocks, sessionId);
  if (errors.length === 0) return message.toWellFormed();
  if (isBlank(message)) throw allFailed(errors);
  return blockTexts(blocks).join("\n\n");
}

function onlyMessage(
  blocks: readonly AttachmentContentBlock[],
  session_id: string,
): AsyncIterable<AgentUserMessage> {
  return {
    async *[Symbol.asyncIterator]() {
      const message = { role: "user" as const, content: [...blocks] };
      yield { type: "user", message, parent_tool_use_id: null, session_id };
    },
  };
}

function allFailed(errors: ResolvedAttachments["errors"]): SessileError<"ATTACHMENT_FAILURE"> {
  const failed = errors.map(({ path, code, reason }) => ({ name: plainName(path), code, reason }));
  return new SessileError("ATTACHMENT_FAILURE", "there is no text, and all attachments failed", {
    details: { status: 400, category: "ALL_ATTACHMENTS_FAILED_NO_TEXT", errors: failed },
  });
}

// Content blocks of files for the Claude Agent SDK.

/** A content block of a file, and the properties that the target's limits check. */
export interface FileContent {
  readonly block: AttachmentImageBlock | AttachmentDocumentBlock;
  readonly image?: ImageMedia;
  readonly pdf?: PdfMedia;
  /** Bytes of the file. */
  readonly size: number;
}

/** The type that the bytes have, compared with the name's extension. The name alone decides nothing. */
export function readAttachmentContent(
  { bytes, claimed }: ReadAttachment,
  title: string,
): FileContent | Refusal {
  const size = bytes.length;
  if (size === 0) return empty;
  const media = sniff(bytes);
  if (media === undefined) {
    return claimed.startsWith("text/") ? notText : mismatch(claimed, "something else");
  }
  if (!agreesWith(media, claimed)) return mismatch(claimed, media.mediaType);
  switch (media.kind) {
    case "image": {
      // The type agrees with an extension that is accepted, so it is one of these.
      const media_type = media.mediaType as ImageMediaType;
      const source = { type: "base64", media_type, data: encodeBase64(bytes) } as const;
      return { block: { type: "image", source }, image: media, size };
    }
    case "pdf": {
      const source = { type: "base64", media_type: media.mediaType, data: encodeBase64(bytes) } as const;
      return { block: { type: "document", source, title }, pdf: media, size };
    }
    case "text": {
      const data = decodeUtf16(bytes) ?? decodeUtf8(bytes);
      if (data === undefined) return notText;
      // The API refuses blank text blocks, and an empty document carries no information.
      if (isBlank(data)) return empty;
      const source = { type: "text", media_type: media.mediaType, data } as const;
      return { block: { type: "document", source, title }, size };
    }
    case "invalid":
      return { code: "IMAGE_INVALID", reason: `it is no sound ${media.mediaType} (${media.reason})` };
  }
}

const empty: Refusal = { code: "EMPTY", reason: "it is empty" };
const notText: Refusal = { code: "NOT_TEXT", reason: "it is not text in UTF-8 or UTF-16" };

function mismatch(claimed: string, actual: string): Refusal {
  return { code: "CONTENT_MISMATCH", reason: `its name says ${claimed}, and it is ${actual}` };
}

/** A text block: the user's text, or the warning before it. */
interface AttachmentTextBlock {
  type: "text";
  text: string;
}

/** An image by its bytes. */
interface AttachmentImageBlock {
  type: "image";
  source: { type: "base64"; media_type: ImageMediaType; data: string };
}

/** A PDF by its bytes, or a file of text as it is; the title is the name of the file, made plain. */
interface AttachmentDocumentBlock {
  type: "document";
  source:
    | { type: "base64"; media_type: "application/pdf"; data: string }
    | { type: "text"; media_type: "text/plain"; data: string };
  title: string;
}

/**
 * The content blocks of a turn with attachments, as the Messages API and the Claude Agent SDK accept them.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/citations for the sources of documents (a stored
 *   copy, read 2026-11-21)
 */
export type AttachmentContentBlock = AttachmentTextBlock | AttachmentImageBlock | AttachmentDocumentBlock;

/** The number of bytes of a block in a JSON body, computed without a second copy of a large one. */
export function blockBodyBytes(block: AttachmentContentBlock): number {
  if (block.type === "text") return size({ ...block, text: "" }) + jsonBytes(block.text);
  const { source } = block;
  const frame = size({ ...block, source: { ...source, data: "" } });
  return frame + (source.type === "base64" ? source.data.length : jsonBytes(source.data));
}

function size(value: object): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** UTF-16 units that are looked at in one go. */
const window = 1 << 16;

/** The bytes of text in JSON: one of nothing but control characters takes six times its own. */
function jsonBytes(text: string): number {
  let total = 0;
  let from = 0;
  while (from < text.length) {
    let to = Math.min(from + window, text.length);
    // Half of a pair would be escaped.
    if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to++;
    total += Buffer.byteLength(JSON.stringify(text.slice(from, to))) - 2;
    from = to;
  }
  return total;
}

// Reads an attachment from a file.

/** The file system as the resolver needs it. */
export interface AttachmentFiles {
  read(path: string, options: ReadLocalFileOptions): Promise<Pick<LocalFile, "bytes">>;
  /** Rejects if this process has no permission to read the path's target; opens nothing. */
  access(path: string): Promise<void>;
}

/** The file system of this machine. */
export const nodeAttachmentFiles: AttachmentFiles = {
  read: readLocalFile,
  access: (path) => access(path, constants.R_OK),
};

/** A file that was read, and the media type that its name claims. */
interface ReadAttachment {
  readonly bytes: Uint8Array;
  readonly claimed: string;
}

/** Reads an attachment of at most `room` bytes, or returns why it is refused. */
async function readAttachment(
  files: AttachmentFiles,
  path: string,
  room: number,
  options: Pick<ReadLocalFileOptions, "roots" | "signal">,
): Promise<ReadAttachment | Refusal> {
  if (!nodePath.isAbsolute(path)) return notAbsolute;
  const claimed = claimedType(path);
  if (claimed === undefined) return unsupported;
  // At least 1, so that an empty file is reported as empty if no room is left.
  const maxBytes = Math.max(1, Math.min(room, chiralityLimits.maxFileBytes));
  try {
    const { bytes } = await files.read(path, { ...options, maxBytes });
    return bytes.length > room ? overBudget : { bytes, claimed };
  } catch (error) {
    const refusal = errorRefusal(error);
    if (refusal === undefined) throw error;
    // The read checks the kind of file before it opens it, so permission is checked first here.
    const isOther = refusal.code === "SYMLINK" || refusal.code === "NOT_A_FILE";
    return isOther && (await isDenied(files, path)) ? unreadable : refusal;
  }
}

const extensionPattern = /\.(?:png|jpe?g|gif|webp|pdf|txt|md|csv)$/i;

/** The type of the nine extensions only; the table of media types has more. */
function claimedType(path: string): string | undefined {
  return extensionPattern.test(path) ? mediaTypeOfName(path) : undefined;
}

async function isDenied(files: AttachmentFiles, path: string): Promise<boolean> {
  try {
    await files.access(path);
    return false;
  } catch (error) {
    return /^(?:EACCES|EPERM)$/.test(String((error as NodeJS.ErrnoException | null)?.code));
  }
}

// Checks content blocks against the limits of the agent's model.

/** Bytes reserved for the rest of the agent's request, such as its instructions and tools. */
const reservedBytes = 2 ** 18;

/** Checks one more file against the target, and counts it if it is accepted. */
type TargetCheck = (content: FileContent) => Refusal | undefined;

/**
 * Checks a turn's files, together with its text, against the limits of its target. Refuses a file that the
 * target would refuse, or that would make the target refuse the turn.
 *
 * @throws the errors of `checkLimits` for the target
 */
export function targetCheck(
  text: AttachmentTextBlock | undefined,
  target: TargetLimits | null | undefined,
): TargetCheck {
  if (target === null) return () => undefined;
  const { profile, ...situation } = target ?? { profile: anthropicLimits };
  let items: readonly LimitItem[] = text === undefined ? [] : [itemOfText(text)];
  let bodyBytes = reservedBytes + (text === undefined ? 0 : blockBodyBytes(text));
  checkLimits(items, profile, { ...situation, bodyBytes });
  return (content) => {
    const withIt = [...items, contentItem(content)];
    const bodyWithIt = bodyBytes + blockBodyBytes(content.block);
    const [violation] = checkLimits(withIt, profile, { ...situation, bodyBytes: bodyWithIt });
    if (violation !== undefined) return refused(profile, violation);
    items = withIt;
    bodyBytes = bodyWithIt;
    return undefined;
  };
}

function itemOfText({ text }: AttachmentTextBlock): LimitItem {
  return { mediaType: "text/plain", kind: "text", size: Buffer.byteLength(text), characters: text.length };
}

function contentItem({ block, image, pdf, size }: FileContent): LimitItem {
  if (pdf !== undefined) return { ...pdf, size };
  if (image === undefined) return { mediaType: block.source.media_type, size };
  return { ...image, size };
}

function refused({ name }: LimitProfile, { rule, unit, limit, actual }: LimitViolation): Refusal {
  const most = Array.isArray(limit) ? limit.join(", ") : String(limit);
  const reason = `with it, the request breaks a limit of ${name}: ${rule} ${most} (${unit}), got ${actual}`;
  return { code: "TARGET_LIMIT", reason };
}

// The refusals of attachment paths, with their codes.

/**
 * Why an attachment was refused. A code changes only with a major version. Checks run in this order:
 *
 * - `NOT_ABSOLUTE` the path is relative, or no path of this platform
 * - `UNSUPPORTED_EXTENSION` the name has none of the nine extensions
 * - `PATH_REFUSED` no file can have this path, or it lies outside the roots or in /proc, /sys or /dev
 * - `NOT_FOUND` the path does not exist, or is a dangling link
 * - `UNREADABLE` the process has no permission to read it
 * - `SYMLINK` the file itself is a symbolic link
 * - `NOT_A_FILE` a directory, a FIFO, a socket or a device
 * - `FILE_TOO_LARGE` the file has more than 10 MiB
 * - `TURN_BUDGET_EXCEEDED` the turn would have more than 18 MiB of files
 * - `CHANGED_DURING_READ` the file was written to or replaced during the read
 * - `READ_FAILED` the system reported another error
 * - `EMPTY` it has zero bytes, or only white space
 * - `NOT_TEXT` the extension is one of text, and the bytes are no UTF-8, nor UTF-16 with its mark
 * - `CONTENT_MISMATCH` the bytes are of another type than the extension
 * - `IMAGE_INVALID` the bytes begin as the extension's image format, but the image is cut or damaged
 * - `PDF_LOCKED` the PDF opens with a password alone
 * - `TARGET_LIMIT` with this file, the request would exceed a limit of the target
 */
export type AttachmentErrorCode =
  | "NOT_ABSOLUTE"
  | "UNSUPPORTED_EXTENSION"
  | "PATH_REFUSED"
  | "NOT_FOUND"
  | "UNREADABLE"
  | "SYMLINK"
  | "NOT_A_FILE"
  | "FILE_TOO_LARGE"
  | "TURN_BUDGET_EXCEEDED"
  | "CHANGED_DURING_READ"
  | "READ_FAILED"
  | "EMPTY"
  | "NOT_TEXT"
  | "CONTENT_MISMATCH"
  | "IMAGE_INVALID"
  | "PDF_LOCKED"
  | "TARGET_LIMIT";

/**
 * Why a file is refused. The reason contains only fixed words and numbers, no part of the path or the
 * contents.
 */
interface Refusal {
  readonly code: AttachmentErrorCode;
  readonly reason: string;
}

/** A refused attachment. */
export interface AttachmentError extends Refusal {
  /** The path as given, for the caller only. The warning to the model has a sanitized name instead. */
  readonly path: string;
}

const { maxFileBytes, maxTurnBytes } = chiralityLimits;

const tooLarge: Refusal = {
  code: "FILE_TOO_LARGE",
  reason: `it is larger than ${mebibytes(maxFileBytes)}`,
};

const overBudget: Refusal = {
  code: "TURN_BUDGET_EXCEEDED",
  reason: `with the files before it, it is more than the ${mebibytes(maxTurnBytes)} of a turn`,
};

function mebibytes(bytes: number): string {
  return `${bytes / 2 ** 20} MiB`;
}

/** Maps a read error to the file's failure; undefined if the error is not about the file. */
function errorRefusal(error: unknown): Refusal | undefined {
  if (SessileError.is(error, "FILE_REFUSED")) return pathRefusals[error.details.reason];
  if (SessileError.is(error, "NOT_A_FILE")) {
    return { code: "NOT_A_FILE", reason: `it is a ${error.details.kind}, not a file` };
  }
  // The limit of this read is below that of a file if the turn has little room left.
  if (SessileError.is(error, "FILE_TOO_LARGE")) {
    return error.details.bytes > maxFileBytes ? tooLarge : overBudget;
  }
  if (SessileError.is(error, "CHANGED_DURING_READ")) {
    return { code: "CHANGED_DURING_READ", reason: "it changed while it was read" };
  }
  if (SessileError.is(error, "STORAGE_FAILED")) {
    return { code: "READ_FAILED", reason: `reading it failed (${error.details.errno})` };
  }
  return undefined;
}

const pathRefusals: Readonly<Record<ErrorDetails["FILE_REFUSED"]["reason"], Refusal>> = {
  malformed: { code: "PATH_REFUSED", reason: "no file has such a path" },
  relative: { code: "NOT_ABSOLUTE", reason: "its path is not absolute" },
  url: { code: "NOT_ABSOLUTE", reason: "its path is not absolute" },
  windowsName: { code: "PATH_REFUSED", reason: "no file has such a path" },
  system: { code: "PATH_REFUSED", reason: "it belongs to the system" },
  link: { code: "SYMLINK", reason: "it is a symbolic link" },
  outsideRoots: { code: "PATH_REFUSED", reason: "it lies outside the directories that are allowed" },
  missing: { code: "NOT_FOUND", reason: "there is no such file" },
  unreadable: { code: "UNREADABLE", reason: "reading it is not permitted" },
};

const unsupported: Refusal = {
  code: "UNSUPPORTED_EXTENSION",
  reason: "its name does not end with png, jpg, jpeg, gif, webp, pdf, txt, md or csv",
};

/** The refusal of a PDF that no model can read. */
const locked: Refusal = { code: "PDF_LOCKED", reason: "it opens with a password alone" };

const notAbsolute: Refusal = pathRefusals.relative;
const unreadable: Refusal = pathRefusals.unreadable;

/** Enough for a user to know which file it was. */
const maxCharacters = 60;
/** UTF-16 units that are looked at; no file system has longer names. */
const maxUnits = 1024;

/**
 * The last part of a path, sanitized for a model: letters, digits and some punctuation, one line, at most 60
 * characters. Characters of markup, quotes, `@` mentions and paths become `_`. Control, bidirectional and
 * invisible characters are removed. A file's name is untrusted: it may contain a prompt injection.
 */
export function plainName(path: string): string {
  const end = path.slice(-maxUnits);
  const name = end.split(/[/\\]/).findLast((part) => part !== "") ?? "";
  const plain = collapsed(name.toWellFormed(), /\s{1,1000}/gu)
    .replace(/[\p{Cc}\p{Default_Ignorable_Code_Point}]/gu, "")
    .replace(/[^\p{L}\p{M}\p{N} ._()+,-]/gu, "_")
    .trim();
  if (plain === "") return "unnamed";
  const characters = Array.from(plain);
  return characters.length <= maxCharacters ? plain : `${characters.slice(0, maxCharacters - 1).join("")}…`;
}

const maxBullets = 3;

/**
 * The warning about failed attachments that the model reads, bounded in length; "" if no attachment failed.
 */
export function warningText(errors: readonly AttachmentError[], attachments: number): string {
  if (errors.length === 0) return "";
  const bullets = errors.slice(0, maxBullets).map(({ path, reason }) => `- "${plainName(path)}": ${reason}`);
  const more = errors.length - bullets.length;
  return [
    `Warning: ${errors.length} of ${attachments} attachments could not be used and are not shown here:`,
    ...bullets,
    ...(more === 0 ? [] : [`and ${more} additional`]),
  ].join("\n");
}
