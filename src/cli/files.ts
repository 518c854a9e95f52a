/** Files of a person: regular ones that a command reads, and new ones that it writes, whole or not at all. */

import { randomUUID } from "node:crypto";
import { closeSync, constants, existsSync, fstatSync, openSync, statSync } from "node:fs";
import { chmod, type FileHandle, link, mkdir, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { concatBytes, encodeUtf8 } from "../core/bytes.js";
import { SessileError } from "../core/errors/index.js";
import { nodeFileSystem } from "../core/node/node-file-system.js";
import { UsageError } from "./command.js";

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

/** The same at once, with the size of the file; undefined if it cannot be opened. The caller closes it. */
export function openRegularNow(path: string): { readonly fd: number; readonly size: number } | undefined {
  let fd: number | undefined;
  try {
    assertRegular(path);
    fd = openSync(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    const state = fstatSync(fd);
    if (state.isFile()) return { fd, size: state.size };
  } catch {}
  if (fd !== undefined) closeSync(fd);
  return undefined;
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

// Files that a command writes: whole or not at all.

/** The bytes of a new file. */
type FileContent = string | Uint8Array | AsyncIterable<Uint8Array | string>;

/**
 * Checks before long work that the directory of a file is there.
 * @throws UsageError
 */
export function assertDirectory(option: string, path: string): void {
  const dir = dirname(path);
  if (!isDirectory(dir)) throw new UsageError(`${option}: there is no directory ${dir}`);
}

/**
 * Checks before long work that a file can be written as a new one.
 * @throws UsageError
 */
export function assertNewFile(option: string, path: string): void {
  assertDirectory(option, path);
  if (existsSync(path)) throw new UsageError(`${option}: ${path} exists: choose another name`);
}

/** Links followed. */
export function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/**
 * Writes a file that must not exist. After an error or an abort nothing is left.
 * @throws UsageError if the file exists
 */
export function writeNewFile(path: string, content: FileContent, signal: AbortSignal): Promise<void> {
  return write(path, content, signal, async (temporary) => {
    try {
      // A rename would replace another program's file.
      await link(temporary, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      throw new UsageError(`${path} exists: choose another name`);
    }
  });
}

/** Replaces a file that may exist, and keeps its mode. After an error or an abort it is as it was. */
export function replaceFile(path: string, content: FileContent, signal: AbortSignal): Promise<void> {
  return write(path, content, signal, async (temporary) => {
    const known = await stat(path).catch(() => undefined);
    if (known !== undefined) await chmod(temporary, known.mode);
    await rename(temporary, path);
  });
}

/** Writes a temporary file beside the place, calls `fsync`, and gives it its name. */
async function write(
  path: string,
  content: FileContent,
  signal: AbortSignal,
  place: (temporary: string) => Promise<void>,
): Promise<void> {
  // Numbers of processes come again, as those of containers do, and a killed one leaves its file.
  const temporary = join(dirname(path), `.${randomUUID()}.tmp`);
  await makeDirectory(dirname(path));
  const file = await open(temporary, "wx", 0o600).catch((error: NodeJS.ErrnoException) => {
    // The user knows no temporary file.
    throw Object.assign(error, { message: error.message.replace(temporary, path) });
  });
  try {
    try {
      await writeFile(file, isStream(content) ? inBlocks(content) : content, { signal });
      signal.throwIfAborted();
      await file.sync();
    } finally {
      await file.close();
    }
    await place(temporary);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** As `mkdir` with `recursive`, which tries for ever in a directory such as `/proc`, where none can be made. */
async function makeDirectory(path: string): Promise<void> {
  const missing: string[] = [];
  for (let dir = path; !existsSync(dir) && dir !== dirname(dir); dir = dirname(dir)) missing.unshift(dir);
  for (const dir of missing) {
    await mkdir(dir).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
}

function isStream(content: FileContent): content is AsyncIterable<Uint8Array | string> {
  return typeof content === "object" && Symbol.asyncIterator in content;
}

const blockBytes = 64 * 1024;

/** The bytes of short chunks together: each block is a system call. */
async function* inBlocks(
  chunks: AsyncIterable<Uint8Array | string>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let pending: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    const bytes = typeof chunk === "string" ? encodeUtf8(chunk) : chunk;
    pending.push(bytes);
    size += bytes.length;
    if (size < blockBytes) continue;
    yield pending.length === 1 ? bytes : concatBytes(pending, size);
    pending = [];
    size = 0;
  }
  if (size > 0) yield concatBytes(pending, size);
}
