/** Reads an attachment from a file. */

import { access, constants } from "node:fs/promises";
import nodePath from "node:path";
import { chiralityLimits } from "../../../content/limits/index.js";
import { mediaTypeOfName } from "../../../content/media/index.js";
import { type LocalFile, type ReadLocalFileOptions, readLocalFile } from "../../../storage/files/index.js";
import { errorRefusal, notAbsolute, overBudget, type Refusal, unreadable, unsupported } from "./failure.js";

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
export interface ReadAttachment {
  readonly bytes: Uint8Array;
  readonly claimed: string;
}

/** Reads an attachment of at most `room` bytes, or returns why it is refused. */
export async function readAttachment(
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
