/** Reading directories and windows of files of another program, without following a link out of its home. */

import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { AgentPlace, AgentWindows } from "../types.js";

/** A file that may be a session. */
export interface Candidate {
  /** Absolute. */
  readonly file: string;
  /** Relative to the home, with forward slashes. */
  readonly path: string;
  /** Milliseconds since 1970. */
  readonly modified: number;
  readonly bytes: number;
}

/** Of the start and of the end of a file. */
export const windowBytes = 64 * 1024;

/**
 * The regular files of a place in a home. No symbolic link is followed: one may lead out of the home, or into a
 * loop. Folders and files that cannot be read, or vanish meanwhile, are left out.
 */
export async function placeFiles(home: string, place: AgentPlace): Promise<readonly Candidate[]> {
  const { folder, depth = 0, name, parts } = place;
  let folders: readonly string[] = [home];
  // The id of a session, which is text of another program, may be a part.
  const names = folder.split("/").filter((each) => each !== "");
  if (names.some((each) => each === "." || each === ".." || each.includes("\\"))) return [];
  for (const part of names) {
    folders =
      part === "*"
        ? (await Promise.all(folders.map(readFolders))).flat()
        : folders.map((each) => join(each, part));
  }
  const found = (await Promise.all(folders.map((each) => walk(home, each, { depth, name })))).flat();
  if (parts === undefined) return found;
  const more = await Promise.all(
    found.flatMap(({ path }) => parts(path)).map((each) => placeFiles(home, each)),
  );
  return [...found, ...more.flat()];
}

/** The home that a file of a place is in; undefined for a file elsewhere. */
export function homeOfFile(path: string, { folder, depth = 0, name }: AgentPlace): string | undefined {
  const names = path.split(/[/\\]/);
  const wanted = folder.split("/").filter((each) => each !== "");
  if (!name.test(names.at(-1) ?? "")) return undefined;
  for (let level = 0; level <= depth; level++) {
    const end = names.length - 1 - level;
    const start = end - wanted.length;
    if (start > 0 && wanted.every((each, at) => each === "*" || each === names[start + at]))
      return path.slice(0, names.slice(0, start).join("/").length) || "/";
  }
  return undefined;
}

async function walk(
  home: string,
  folder: string,
  { depth, name }: { readonly depth: number; readonly name: RegExp },
): Promise<readonly Candidate[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found = await Promise.all(
    entries.map(async (entry): Promise<readonly Candidate[]> => {
      const file = join(folder, entry.name);
      if (entry.isDirectory()) return depth > 0 ? await walk(home, file, { depth: depth - 1, name }) : [];
      if (!entry.isFile() || !name.test(entry.name)) return [];
      const candidate = await homeCandidate(home, file);
      return candidate === undefined ? [] : [candidate];
    }),
  );
  return found.flat();
}

/** A regular file with its size and time; undefined for anything else. */
export async function homeCandidate(home: string, file: string): Promise<Candidate | undefined> {
  const stat = await lstat(file).catch(() => undefined);
  if (stat?.isFile() !== true) return undefined;
  const path = relative(home, file).split(sep).join("/");
  return { file, path, modified: Math.trunc(stat.mtimeMs), bytes: stat.size };
}

/** The folders in a folder, without symbolic links. */
async function readFolders(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}

/** The first and last bytes of a file; undefined if it cannot be read. */
export async function readWindows({ file, bytes }: Candidate): Promise<AgentWindows | undefined> {
  const handle = await openFile(file).catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    const head = await readAt(handle, 0, Math.min(bytes, windowBytes));
    if (bytes <= windowBytes) return { head, tail: head };
    return { head, tail: await readAt(handle, bytes - windowBytes, windowBytes) };
  } catch {
    return undefined;
  } finally {
    await handle.close();
  }
}

/** The bytes of a file, as they are read; at most those that it had when it was found. */
export async function* readFileBytes({
  file,
  bytes,
}: Candidate): AsyncGenerator<Uint8Array, void, undefined> {
  const handle = await openFile(file);
  try {
    for (let at = 0; at < bytes; ) {
      const part = await readAt(handle, at, Math.min(1024 * 1024, bytes - at));
      if (part.length === 0) return;
      yield part;
      at += part.length;
    }
  } finally {
    await handle.close();
  }
}

/** A name that became a link meanwhile is not followed, and one that became a pipe does not block. */
async function openFile(file: string): Promise<FileHandle> {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  return await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const buffer = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}
