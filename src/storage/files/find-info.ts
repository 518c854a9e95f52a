/** Finds the newest session_info of a file that stands before the tail that a list reads. */

import type { FileStat, OpenFile } from "../../core/node/file-system.js";
import { readFully, readFullySync } from "../../core/node/read-write-fully.js";
import { defaultLimits, lastInfo } from "../../session/internal.js";

const stepBytes = 256 * 1024;
/** The first read of a line: most of those with a session_info are shorter. */
const firstBytes = 4096;
/** The number of files whose places are cached, of about 300 bytes each. */
const maxPlaces = 20_000;

/** A search in a file: the bytes before `end`, which is the start of a line. */
export interface InfoSearch {
  readonly file: OpenFile;
  readonly path: string;
  readonly stat: FileStat;
  readonly end: number;
  /** The version in the header. */
  readonly version: number;
  readonly signal?: AbortSignal | undefined;
  /** Of {@link infoSearchBytes}. A list reuses one. */
  readonly buffer: Buffer;
}

/** The newest session_info before an offset. Never its text: an erasure need not look here. */
interface Place {
  readonly dev: number;
  readonly ino: number;
  readonly size: number;
  readonly mtimeMs: number;
  /** Other than the time of the bytes, a program cannot set it back. */
  readonly ctimeMs: number;
  /** All before it was searched. */
  readonly end: number;
  readonly at?: number;
  readonly length?: number;
}

/**
 * The newest session_info of files, searched backwards from an offset. Reads each byte once, in memory of one
 * step and one line. A file that has grown is searched from where the last search began.
 */
export class InfoPlaces {
  /** By path, the least recently used first. */
  readonly #places = new Map<string, Place>();

  /** The line, as it is stored; undefined if there is none. */
  async find(search: InfoSearch): Promise<Uint8Array | undefined> {
    const { path, stat, end, file, version } = search;
    const known = this.#knownPlace(search);
    const found =
      (await findBetween(search, known?.end ?? 0, end)) ??
      (known?.at === undefined ? undefined : { at: known.at, length: known.length as number });
    const { dev, ino, size, mtimeMs, ctimeMs } = stat;
    this.#places.set(path, { dev, ino, size, mtimeMs, ctimeMs, end, ...found });
    const [oldest = ""] = this.#places.keys();
    if (this.#places.size > maxPlaces) this.#places.delete(oldest);
    if (found === undefined) return undefined;
    const line = await bytesAt(file, found.at, found.length);
    if (lastInfo([line], version) !== undefined) return line;
    // Another program changed the file in place and kept its size.
    this.#places.delete(path);
    return known === undefined ? undefined : this.find(search);
  }

  /** The place of an earlier search, unless the file may have changed before it. */
  #knownPlace({ path, stat, end }: InfoSearch): Place | undefined {
    const known = this.#places.get(path);
    this.#places.delete(path);
    if (known === undefined || known.dev !== stat.dev || known.ino !== stat.ino) return undefined;
    const isSame =
      known.size === stat.size && known.mtimeMs === stat.mtimeMs && known.ctimeMs === stat.ctimeMs;
    return isSame || (known.size < stat.size && known.end <= end) ? known : undefined;
  }
}

/** Where a line is: its offset and its bytes without the line feed. */
type FoundLine = { readonly at: number; readonly length: number };

/** The last session_info of a range that begins and ends at a line. */
async function findBetween(
  { file, version, signal, buffer }: InfoSearch,
  start: number,
  end: number,
): Promise<FoundLine | undefined> {
  /** The start of the line that was looked at last: a line is looked at once. */
  let seen = end;
  for (let stop = end; stop > start; ) {
    signal?.throwIfAborted();
    const at = Math.max(start, stop - stepBytes);
    // A name may begin in this step and end in the one behind it.
    const length = Math.min(stop + name.length, end) - at;
    const into = buffer.subarray(0, length);
    // As the ends of a file: a thread of the pool would take ten times as long for a short one.
    const count = stop === end ? readFullySync(file, into, at) : await readFully(file, into, at);
    const bytes = buffer.subarray(0, count);
    stop = at;
    for (const found of namesIn(bytes).reverse()) {
      if (at + found >= seen) continue;
      const before = bytes.lastIndexOf(feed, found);
      seen = before >= 0 ? at + before + 1 : await startOfLine(file, start, at);
      const after = bytes.indexOf(feed, found);
      const line = await readLine(file, seen, after >= 0 ? at + after : end);
      if (line !== undefined && lastInfo([line], version) !== undefined)
        return { at: seen, length: line.length };
    }
    stop = Math.min(stop, seen);
  }
  return undefined;
}

/** The start of the line that the byte before `end` belongs to. */
async function startOfLine(file: OpenFile, start: number, end: number): Promise<number> {
  for (let stop = end; stop > start; ) {
    const at = Math.max(start, stop - stepBytes);
    const before = (await bytesAt(file, at, stop - at)).lastIndexOf(feed);
    if (before >= 0) return at + before + 1;
    stop = at;
  }
  return start;
}

/** A line that may be a session_info; undefined for one of another type, and one that no reader accepts. */
async function readLine(file: OpenFile, at: number, end: number): Promise<Uint8Array | undefined> {
  const first = await bytesAt(file, at, Math.min(end - at, firstBytes));
  if (isOtherType(first)) return undefined;
  for (let length = first.length; ; length = Math.min(length * 8, end - at)) {
    const bytes = length === first.length ? first : await bytesAt(file, at, length);
    const stop = bytes.indexOf(feed);
    if (stop >= 0 || length >= end - at) return bytes.subarray(0, stop < 0 ? bytes.length : stop);
    if (length > defaultLimits.maxLineBytes) return undefined;
  }
}

async function bytesAt(file: OpenFile, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  return bytes.subarray(0, await readFully(file, bytes, at));
}

const canonical = Buffer.from('{"type":"');
const infoType = Buffer.from('{"type":"session_info"');

/** Whether a line begins in the canonical way, with another type. */
function isOtherType(line: Buffer): boolean {
  const begins = (prefix: Buffer) => line.subarray(0, prefix.length).equals(prefix);
  return begins(canonical) && !begins(infoType);
}

const name = Buffer.from('"session_info"');
/** The size of the buffer of an {@link InfoSearch}. */
export const infoSearchBytes: number = stepBytes + name.length;
/** The search is for the underscore first, which is rare in text: ten times as fast. */
const rare = Buffer.from("_info");
const rareAt = name.indexOf(rare);
const [feed, backslash] = [0x0a, 0x5c];

/** The offsets of the name as a string of its own; in a text its quotes are escaped. */
function namesIn(bytes: Buffer): number[] {
  const found: number[] = [];
  for (let at = bytes.indexOf(rare); at >= 0; at = bytes.indexOf(rare, at + 1)) {
    const start = at - rareAt;
    if (start < 0 || bytes[start - 1] === backslash) continue;
    if (name.equals(bytes.subarray(start, start + name.length))) found.push(start);
  }
  return found;
}
