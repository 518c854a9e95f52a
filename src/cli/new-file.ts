/** New files of a command: whole or absent, never over another file. */

import { link, mkdir, open, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { UsageError } from "./command.js";

/** The bytes of a new file. */
export type FileContent = string | Uint8Array | AsyncIterable<Uint8Array | string>;

/**
 * Writes a file that must not exist: a temporary file beside it, `fsync`, and a link, which fails if the name is
 * in use. After an error or an abort nothing is left.
 * @throws UsageError if the file exists
 */
export async function writeNewFile(path: string, content: FileContent, signal: AbortSignal): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  await mkdir(dirname(path), { recursive: true });
  const file = await open(temporary, "wx", 0o600);
  try {
    try {
      await writeFile(file, content, { signal });
      signal.throwIfAborted();
      await file.sync();
    } finally {
      await file.close();
    }
    // A rename would replace another program's file.
    await link(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new UsageError(`${path} exists: choose another name`);
  } finally {
    await rm(temporary, { force: true });
  }
}
