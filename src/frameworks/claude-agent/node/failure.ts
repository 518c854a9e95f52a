/** The refusals of attachment paths, with their codes. */

import { chiralityLimits } from "../../../content/limits/index.js";
import { type ErrorDetails, SessileError } from "../../../core/errors/index.js";
import { collapsed } from "../../../core/text.js";

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
export interface Refusal {
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

export const overBudget: Refusal = {
  code: "TURN_BUDGET_EXCEEDED",
  reason: `with the files before it, it is more than the ${mebibytes(maxTurnBytes)} of a turn`,
};

function mebibytes(bytes: number): string {
  return `${bytes / 2 ** 20} MiB`;
}

/** Maps a read error to the file's failure; undefined if the error is not about the file. */
export function errorRefusal(error: unknown): Refusal | undefined {
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

export const unsupported: Refusal = {
  code: "UNSUPPORTED_EXTENSION",
  reason: "its name does not end with png, jpg, jpeg, gif, webp, pdf, txt, md or csv",
};

/** The refusal of a PDF that no model can read. */
export const locked: Refusal = { code: "PDF_LOCKED", reason: "it opens with a password alone" };

export const notAbsolute: Refusal = pathRefusals.relative;
export const unreadable: Refusal = pathRefusals.unreadable;

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
