import type { FileStat, OpenFile } from "../../internal/node/file-system.js";
import type { LogBatch, LogPosition } from "../api/backend.js";
import { Block } from "./line-chunk.js";
import { markAt, markedBytes, markOf, offsetOf, parsePosition, printPosition } from "./log-position.js";

const defaultChunkBytes = 1 << 20;
/**
 * Up to so many bytes are read in one piece, synchronously: 6 MB in memory take 1 ms so, and 25 ms by chunks of a thread. Bounds the
 * time for which a slow disk holds up the event loop.
 */
const maxSyncBytes = 8 << 20;
/** The places of so many lines take more memory than the bytes of a chunk. */
const manyLines = 1 << 16;

/**
 * The lines of a file from a position on, a chunk at a time, up to the size that it has now. Starts over where the
 * position is none of this file: it was cut, rewritten or replaced.
 */
export async function* readLines(
  file: OpenFile,
  stat: FileStat,
  from: LogPosition | undefined,
  options: { readonly maxLineBytes: number; readonly signal?: AbortSignal; readonly chunkBytes?: number },
): AsyncGenerator<LogBatch> {
  const resumed = from === undefined ? 0 : offsetOf(file, stat, from);
  const start = resumed ?? 0;
  const isSmall = stat.size - start <= maxSyncBytes;
  const { chunkBytes = isSmall ? maxSyncBytes : defaultChunkBytes } = options;
  let restarted = resumed === undefined;
  let mark = from !== undefined && !restarted ? (parsePosition(from)?.mark ?? "start") : "start";
  /** Where the whole lines end. */
  let size = start;
  let block = new Block(Math.min(chunkBytes, Math.max(stat.size - start, 1)), start);
  let spare: Block | undefined;
  let pending = block.fill(file, stat.size, isSmall);
  for (;;) {
    options.signal?.throwIfAborted();
    const count = await pending;
    const found = block.lines(options.maxLineBytes);
    if (found.end > 0) {
      size = block.at + found.end;
      mark = await markOfEnd(file, block.filled.subarray(0, found.end), size);
    }
    const next = printPosition({ dev: stat.dev, ino: stat.ino, size, mark });
    const batch: LogBatch = {
      lines: { bytes: block.bytes, bounds: found.bounds },
      at: found.at,
      next,
      ...(restarted ? { restarted: true as const } : {}),
    };
    restarted = false;
    if (count === 0 || block.next >= stat.size) {
      yield { ...batch, ...block.rest(found.tooLong) };
      return;
    }
    spare = block.follow(spare, found.at.length > manyLines ? chunkBytes >> 4 : chunkBytes);
    [block, spare] = [spare, block];
    // The next chunk is read while the caller is at work on the lines of this one, which lie in the other block.
    pending = block.fill(file, stat.size, isSmall);
    if (typeof pending !== "number") pending.catch(() => undefined);
    yield found.tooLong.length === 0 ? batch : { ...batch, tooLong: found.tooLong };
  }
}

/** The mark of bytes that end with a line feed at `size`; read again where the line begins in an earlier chunk. */
function markOfEnd(file: OpenFile, bytes: Uint8Array, size: number): Promise<string> | string {
  const isWhole = bytes.length > markedBytes || bytes.length === size;
  return isWhole ? markOf(bytes.subarray(-2 * markedBytes)) : markAt(file, size);
}
