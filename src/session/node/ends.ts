import type { DiskFile } from "./disk.js";

const headBytes = 16 * 1024;
const tailBytes = 64 * 1024;
/** A header, or a first message, that is longer than this is not shown in a list. */
const maxHeadBytes = 1024 * 1024;

/** Whole lines from the two ends of a file, enough for a list. */
export async function readEnds(
  file: DiskFile,
  size: number,
): Promise<{ readonly head: readonly Uint8Array[]; readonly tail: readonly Uint8Array[] }> {
  const tailStart = Math.max(0, size - tailBytes);
  const [last, first] = await Promise.all([
    readRange(file, tailStart, size),
    readRange(file, 0, Math.min(headBytes, size)),
  ]);
  const tail = infoLines(last, tailStart === 0);
  let bytes = first;
  for (let length = headBytes; ; ) {
    const head = splitLines(bytes, true, bytes.length >= size);
    if (head.some(isUserMessage) || length >= size || length >= maxHeadBytes) return { head, tail };
    length *= 8;
    bytes = await readRange(file, 0, Math.min(length, size));
  }
}

/** The lines that may be a session_info: of all others a list shows nothing. */
function infoLines(bytes: Uint8Array, fromStart: boolean): readonly Uint8Array[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const lines: Uint8Array[] = [];
  // A line that another line's text speaks of is looked at too, and is none.
  for (let at = buffer.indexOf(infoName); at >= 0; ) {
    const start = buffer.lastIndexOf(10, at) + 1;
    const end = buffer.indexOf(10, at);
    if (start > 0 || fromStart) lines.push(bytes.subarray(start, end < 0 ? bytes.length : end));
    at = end < 0 ? -1 : buffer.indexOf(infoName, end);
  }
  return lines;
}

const infoName = "session_info";

async function readRange(file: DiskFile, start: number, end: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(end - start);
  let done = 0;
  while (done < bytes.length) {
    const count = await file.read(bytes.subarray(done), start + done);
    if (count === 0) break;
    done += count;
  }
  return bytes.subarray(0, done);
}

/** Lines that are whole: the first one only where the range begins with it, the last where it ends the file or has its line feed. */
function splitLines(bytes: Uint8Array, fromStart: boolean, toEnd = true): Uint8Array[] {
  const lines: Uint8Array[] = [];
  let start = fromStart ? 0 : bytes.indexOf(10) + 1;
  if (!fromStart && start === 0) return [];
  for (;;) {
    const end = bytes.indexOf(10, start);
    if (end < 0) break;
    if (end > start) lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  if (toEnd && start < bytes.length) lines.push(bytes.subarray(start));
  return lines;
}

/** A cheap look: the list decodes what it shows. */
function isUserMessage(line: Uint8Array): boolean {
  return Buffer.from(line.buffer, line.byteOffset, line.length).includes('"role":"user"');
}
