/** Regular files that a person names. A FIFO waits for a writer, and a device may have no end: they are refused. */

import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { concatBytes } from "../core/bytes.js";
import { SessileError } from "../core/errors/index.js";
import { nodeFileSystem } from "../core/node/node-file-system.js";

const { O_RDONLY, O_NONBLOCK = 0, O_NOCTTY = 0 } = constants;
const chunkBytes = 1024 * 1024;

/**
 * Opens a file for reading, links followed. Never waits.
 *
 * @throws SessileError NOT_A_FILE; errors of Node, such as ENOENT
 */
export async function openRegular(path: string): Promise<FileHandle> {
  // Before opening too: opening a device can have an effect.
  assertRegular(path);
  const file = await open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  try {
    if (!(await file.stat()).isFile()) assertRegular(path);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

function assertRegular(path: string): void {
  const kind = nodeFileSystem.stat(path)?.kind ?? "file";
  if (kind === "file") return;
  throw new SessileError("NOT_A_FILE", `${path} is a ${kind}, not a file`, { details: { path, kind } });
}

/** The bytes of a file in chunks, up to the size that it has now. Errors as of {@link openRegular}. */
export async function* chunksOfFile(
  path: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const file = await openRegular(path);
  try {
    const { size } = await file.stat();
    for (let at = 0; at < size; ) {
      signal.throwIfAborted();
      const chunk = new Uint8Array(Math.min(chunkBytes, size - at));
      const { bytesRead } = await file.read(chunk, 0, chunk.length, at);
      if (bytesRead === 0) return;
      yield chunk.subarray(0, bytesRead);
      at += bytesRead;
    }
  } finally {
    await file.close();
  }
}

/** The bytes of a file. Errors as of {@link openRegular}. */
export async function readRegular(path: string, signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of chunksOfFile(path, signal)) chunks.push(chunk);
  return concatBytes(chunks);
}
