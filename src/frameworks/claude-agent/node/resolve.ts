/** Resolves attachment paths to content blocks, within the limits of a turn. */

import { chiralityLimits } from "../../../content/limits/index.js";
import { needsPassword } from "../../../content/media/internal.js";
import { describe } from "../../../core/arguments.js";
import type { TargetLimits } from "../../../providers/index.js";
import { isBlank } from "../../../providers/internal.js";
import type { ReadLocalFileOptions } from "../../../storage/files/index.js";
import {
  type AttachmentContentBlock,
  type AttachmentTextBlock,
  type FileContent,
  readAttachmentContent,
} from "./content.js";
import { type AttachmentError, locked, plainName, type Refusal, warningText } from "./failure.js";
import { type AttachmentFiles, nodeAttachmentFiles, readAttachment } from "./read-attachment.js";
import { targetCheck } from "./target.js";

/** Options of {@link resolveAttachmentsToContentBlocks}. */
export interface ResolveAttachmentsOptions extends Pick<ReadLocalFileOptions, "roots" | "signal"> {
  /**
   * The profile whose limits apply besides those of a turn; null for no profile. Default Anthropic's own API,
   * with a small context.
   */
  readonly limits?: TargetLimits | null;
}

/** The outcome of a turn's attachments. */
export interface ResolvedAttachments {
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
