import { dirname } from "node:path";
import { assertTaken } from "../../internal/lost-bytes.js";
import { isRecord } from "../../internal/shape.js";
import { parseLine } from "../codec/json.js";
import { defaultLimits } from "../codec/limits.js";
import type { Disk, DiskFile } from "./disk.js";

/** Where the end of a log was put that no write acknowledged. */
export interface SavedTail {
  readonly location: string;
  readonly bytes: number;
  /** The offset in the log at which they began. */
  readonly at: number;
}

const stepBytes = 64 * 1024;

/**
 * Mends the end of a log for writing. A last line that is whole gets the line feed that it lacks; anything else is saved
 * beside the log and cut off. To be done under the lock.
 *
 * @param sync makes the log's bytes last
 */
export async function mendTail(
  disk: Disk,
  file: DiskFile,
  path: string,
  maxLineBytes: number,
  stamp: string,
  sync: () => Promise<void>,
): Promise<SavedTail | undefined> {
  const { size } = file.stat();
  const start = await lastLineStart(file, size);
  if (start === size) return undefined;
  const length = size - start;
  if (length <= maxLineBytes) {
    const tail = new Uint8Array(length);
    let done = 0;
    while (done < length) {
      const count = await file.read(tail.subarray(done), start + done);
      if (count === 0) break;
      done += count;
    }
    const parsed = parseLine(tail, defaultLimits.maxDepth);
    // Whatever version it is of: an object is a whole line.
    if (parsed.ok && isRecord(parsed.value)) {
      file.append(Uint8Array.of(10));
      await sync();
      return undefined;
    }
  }
  const location = `${path}.torn-${stamp}-${crypto.randomUUID().slice(0, 8)}`;
  await saveRange(disk, file, start, size, location);
  // A program without locks was in the middle of a line. It is whole by now, or will be looked at again.
  if (file.stat().size !== size) {
    disk.unlink(location);
    return undefined;
  }
  try {
    file.truncate(start);
  } catch (error) {
    // Nothing was cut off, and it would be saved again at every try.
    disk.unlink(location);
    throw error;
  }
  await sync();
  return { location, bytes: length, at: start };
}

/** The offset behind the last line feed. */
async function lastLineStart(file: DiskFile, size: number): Promise<number> {
  for (let end = size; end > 0; ) {
    const bytes = new Uint8Array(Math.min(stepBytes, end));
    const count = await file.read(bytes, end - bytes.length);
    const at = bytes.subarray(0, count).lastIndexOf(10);
    if (at >= 0) return end - bytes.length + at + 1;
    end -= bytes.length;
  }
  return 0;
}

/** Copies a part of a file into a new one, and makes that last. */
export async function saveRange(
  disk: Disk,
  file: DiskFile,
  start: number,
  end: number,
  location: string,
): Promise<void> {
  const saved = disk.open(location, "create");
  if (saved === undefined) throw new Error(`${location} is there already`);
  try {
    let at = start;
    while (at < end) {
      const bytes = new Uint8Array(Math.min(stepBytes, end - at));
      const count = await file.read(bytes, at);
      if (count === 0) break;
      for (let done = 0; done < count; ) done += saved.append(bytes.subarray(done, count));
      at += count;
    }
    assertTaken(saved.stat().size, at - start);
    await saved.sync();
  } catch (error) {
    disk.unlink(location);
    throw error;
  } finally {
    saved.close();
  }
  await disk.syncDirectory(dirname(location));
}
