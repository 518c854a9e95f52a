import type { LinePlace, LogBatch, LogPosition } from "../backend.js";
import { LineSplitter } from "../codec/lines.js";
import type { DiskFile, FileStat } from "./disk.js";
import { isSameFile, markedBytes, markOf, parsePosition, printPosition } from "./position.js";

const chunkBytes = 1 << 20;

/**
 * The lines of a file from a position on, a chunk at a time, up to the size that it has now. Starts over where the
 * position is none of this file: it was cut, rewritten or replaced.
 */
export async function* readLines(
  file: DiskFile,
  stat: FileStat,
  from: LogPosition | undefined,
  options: { readonly maxLineBytes: number; readonly signal?: AbortSignal },
): AsyncGenerator<LogBatch> {
  const start = from === undefined ? 0 : resumeAt(file, stat, from);
  const restarted = from !== undefined && start === undefined;
  let lines: Uint8Array[] = [];
  let at: number[] = [];
  let tooLong: LinePlace[] = [];
  const splitter = new LineSplitter(
    {
      line(bytes, offset) {
        lines.push(bytes);
        at.push(offset);
      },
      tooLong(offset, length) {
        tooLong.push({ at: offset, length });
      },
    },
    options.maxLineBytes,
    start ?? 0,
  );
  let size = start ?? 0;
  let mark = from !== undefined && start !== undefined ? (parsePosition(from)?.mark ?? "start") : "start";
  let first = true;
  const readChunk = async (into: Uint8Array, offset: number): Promise<Uint8Array> => {
    const wanted = into.subarray(0, Math.min(into.length, stat.size - offset));
    return wanted.length === 0 ? wanted : wanted.subarray(0, await file.read(wanted, offset));
  };
  const length = Math.min(chunkBytes, Math.max(stat.size - size, 1));
  let [buffer, other] = [new Uint8Array(length), new Uint8Array(stat.size - size > length ? length : 0)];
  let offset = size;
  let pending = readChunk(buffer, offset);
  for (;;) {
    options.signal?.throwIfAborted();
    const chunk = await pending;
    if (chunk.length === 0) break;
    const end = chunk.lastIndexOf(10) + 1;
    splitter.push(chunk);
    if (end > 0) {
      size = offset + end;
      mark = await markAt(file, chunk.subarray(0, end), size);
    }
    offset += chunk.length;
    if (offset >= stat.size) break;
    // The next chunk is read while the caller is at work on the lines of this one, which lie in the other buffer.
    [buffer, other] = [other, buffer];
    pending = readChunk(buffer, offset);
    pending.catch(() => undefined);
    yield batch();
  }
  const tail = splitter.rest();
  yield { ...batch(), ...(tail === undefined ? {} : { tail }) };

  function batch(): LogBatch {
    const position = printPosition({ dev: stat.dev, ino: stat.ino, size, mark });
    const out: LogBatch = {
      lines,
      at,
      next: position,
      ...(tooLong.length === 0 ? {} : { tooLong }),
      ...(first && restarted ? { restarted: true as const } : {}),
    };
    lines = [];
    at = [];
    tooLong = [];
    first = false;
    return out;
  }
}

/** The offset of a position of this file, or undefined. */
function resumeAt(file: DiskFile, stat: FileStat, from: LogPosition): number | undefined {
  const position = parsePosition(from);
  if (position === undefined || !isSameFile(position, stat) || position.size > stat.size) return undefined;
  const before = new Uint8Array(Math.min(position.size, 2 * markedBytes));
  const count = file.readNow(before, position.size - before.length);
  return markOf(before.subarray(0, count)) === position.mark ? position.size : undefined;
}

/** The mark of bytes that end with a line feed at `size`; read again where the line begins in an earlier chunk. */
async function markAt(file: DiskFile, bytes: Uint8Array, size: number): Promise<string> {
  if (bytes.length > markedBytes || bytes.length === size) return markOf(bytes.subarray(-2 * markedBytes));
  const before = new Uint8Array(Math.min(size, 2 * markedBytes));
  const count = await file.read(before, size - before.length);
  return markOf(before.subarray(0, count));
}
