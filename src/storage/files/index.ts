/** Sessions, blobs and attachments in files. What an open session does not need is loaded when it is called. */

import { nodeFileSystem } from "../../core/node/node-file-system.js";
import type { DiagnoseOptions, SessionDiagnosis } from "./repair/diagnose.js";
import type { SalvageOptions, SalvageReport } from "./repair/salvage.js";

export type { Durability } from "../../session/internal.js";
export * from "./attachments/index.js";
export * from "./blobs/index.js";
export {
  type EntriesBackwardsOptions,
  type EntriesPage,
  readEntriesBackwards,
} from "./read-ends.js";
export type { BlobState, DiagnoseOptions, SessionFinding } from "./repair/diagnose.js";
export type { SalvageOptions, SalvageReport } from "./repair/salvage.js";
export {
  type AttachFileOptions,
  type FileSessionStoreOptions,
  fileSessionStore,
  type OpenFolderOptions,
  openFolder,
  openSessionFile,
} from "./session-store.js";

/**
 * Reads a whole session file and lists every problem of it, of its lock, of its sidecar files and of the
 * blobs that it names. Read-only; takes no lock and needs no header. Memory is bounded by the tree and the
 * longest line, time is linear in the file.
 *
 * @throws SessileError SESSION_NOT_FOUND, NOT_A_FILE, STORAGE_FAILED, and errors that `blobs` throws
 * @throws TypeError, RangeError for invalid arguments
 * @example
 * ```ts
 * const { verdict, summary, findings } = await diagnoseSession("session.jsonl");
 * console.log(verdict, summary);
 * for (const { severity, line, message } of findings) console.log(severity, line, message);
 * ```
 */
export async function diagnoseSession(
  path: string,
  options: DiagnoseOptions = {},
): Promise<SessionDiagnosis> {
  const { diagnoseSessionOn } = await import("./repair/diagnose.js");
  return diagnoseSessionOn(nodeFileSystem, path, options);
}

/**
 * Writes every readable line of a session file into a new file, and reports the losses. The old file is only
 * read.
 *
 * Each line of an entry is kept byte for byte and in order, also with types and fields that this version does
 * not know, and also if it was concatenated with another line. Unreadable lines, a torn tail, extra headers
 * and duplicate ids are omitted. The new file opens for writing; its only findings are `MODIFIED`,
 * `INVALID_FIELDS` and `UNSAFE_KEY` of single lines. It is published atomically and durably. Salvage is
 * idempotent: of its own output it makes the same bytes.
 *
 * A placeholder, an entry of type `custom` and customType `sessile.lost`, replaces an entry without a
 * readable body, and a missing parent. A line gets another parent, and loses its checksum, only if its
 * parents form a cycle or its parent is not an id. A file of an older version is migrated.
 *
 * @throws SessileError SESSION_NOT_FOUND, NOT_A_FILE, EMPTY; NO_HEADER without a header and entries;
 *   SESSION_READ_ONLY for a newer version; SESSION_EXISTS if `to` exists; LOG_CHANGED if the file was
 *   truncated or rewritten meanwhile; STORAGE_FAILED
 * @throws TypeError, RangeError for invalid arguments
 * @example
 * ```ts
 * const { lost, losses } = await salvageSession("session.jsonl", { to: "session-salvaged.jsonl" });
 * console.log(`${lost.lines} lines are lost`, losses);
 * ```
 */
export async function salvageSession(path: string, options: SalvageOptions): Promise<SalvageReport> {
  const { salvageSessionOn } = await import("./repair/salvage.js");
  return salvageSessionOn(nodeFileSystem, path, options);
}
