import { type ErrorDetails, SessileError } from "../../../errors/index.js";
import { chiralityLimits } from "../../../limits/index.js";

/**
 * Why an attachment was not taken; codes change only with a major version. In the order in which a file is looked at:
 *
 * - `NOT_ABSOLUTE` the path is relative, or no path of this platform
 * - `UNSUPPORTED_EXTENSION` the name does not end as one of the nine
 * - `PATH_REFUSED` no file can have this path, it lies outside the roots, or in /proc, /sys or /dev
 * - `NOT_FOUND` there is nothing, or a link that leads nowhere
 * - `UNREADABLE` reading it is not permitted
 * - `SYMLINK` the file itself is a symbolic link
 * - `NOT_A_FILE` a directory, a FIFO, a socket or a device
 * - `FILE_TOO_LARGE` more bytes than a file may have
 * - `TURN_BUDGET_EXCEEDED` with the files that were taken before it, more bytes than a turn may have
 * - `CHANGED_DURING_READ` it was written to or swapped meanwhile
 * - `READ_FAILED` the system gave another error
 * - `EMPTY` it has no bytes, or no text but white space
 * - `NOT_TEXT` the name says text, and it is no UTF-8
 * - `CONTENT_MISMATCH` the contents are of another type than the name says
 * - `IMAGE_INVALID` it begins as the image that it is called, and its header is unsound
 * - `TARGET_LIMIT` with it, the request would break a limit of the target
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
  | "TARGET_LIMIT";

/** Why a file is not taken. The reason is of our own words and numbers: nothing of its path or contents is in it. */
export interface Refusal {
  readonly code: AttachmentErrorCode;
  readonly reason: string;
}

/** An attachment that was not taken. */
export interface AttachmentError extends Refusal {
  /** As it was given, for the caller's eyes only; the warning that the model reads has a plain name instead. */
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

/** What an error of reading means for the file; undefined where it is not about the file. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (SessileError.is(error, "FILE_REFUSED")) return pathRefusals[error.details.reason];
  if (SessileError.is(error, "NOT_A_FILE")) {
    return { code: "NOT_A_FILE", reason: `it is a ${error.details.kind}, not a file` };
  }
  // Less was allowed than a file may have where the turn has no room for more.
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

export const notAbsolute: Refusal = pathRefusals.relative;
export const unreadable: Refusal = pathRefusals.unreadable;

/** Enough for a user to know which file it was. */
const maxCharacters = 60;
/** UTF-16 units that are looked at; no file system has longer names. */
const maxUnits = 1024;

/**
 * The last part of a path as a model may read it: letters, digits and a few marks, on one line, at most 60 characters.
 * What could be taken for markup, a quotation's end, an `@` mention, another path or nothing at all (control, bidirectional
 * and invisible characters) is a `_` or left out, since whoever named the file may have meant it for the model.
 */
export function plainName(path: string): string {
  const end = path.slice(-maxUnits);
  const name = end.split(/[/\\]/).findLast((part) => part !== "") ?? "";
  const plain = name
    .toWellFormed()
    .replace(/\s+/gu, " ")
    .replace(/[\p{Cc}\p{Default_Ignorable_Code_Point}]+/gu, "")
    .replace(/[^\p{L}\p{M}\p{N} ._()+,-]/gu, "_")
    .trim();
  if (plain === "") return "unnamed";
  const characters = Array.from(plain);
  return characters.length <= maxCharacters ? plain : `${characters.slice(0, maxCharacters - 1).join("")}…`;
}

const maxBullets = 3;

/** What the model reads of attachments that failed, in a few lines whatever they are called; "" where none did. */
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
