import type { ExactFileStat, OpenFile } from "../../internal/node/file-system.js";

/** What came of reading a file to its end. */
export type ReadOutcome =
  | { readonly status: "read"; readonly bytes: Uint8Array }
  | { readonly status: "tooLarge"; readonly bytes: number }
  | { readonly status: "changed" };

/** Between two reads of this many bytes the caller may stop. */
const windowBytes = 4 << 20;
const leastRoom = 64 << 10;

/**
 * Reads an open file whole, at most `maxBytes` and one more, whatever its size is said to be, and looks afterwards
 * whether it is still what it was when it was opened.
 */
export async function readOpenFile(
  file: Pick<OpenFile, "read" | "statExact">,
  opened: ExactFileStat,
  maxBytes: number,
  signal: AbortSignal | undefined,
): Promise<ReadOutcome> {
  if (opened.size > BigInt(maxBytes)) return { status: "tooLarge", bytes: Number(opened.size) };
  // One byte more than there should be, so that a file that has more is noticed by the read that finds the end.
  let buffer = new Uint8Array(Number(opened.size) + 1);
  let total = 0;
  for (;;) {
    signal?.throwIfAborted();
    const count = await file.read(buffer.subarray(total, total + windowBytes), total);
    if (count === 0) break;
    total += count;
    if (total > maxBytes) return { status: "tooLarge", bytes: total };
    if (total < buffer.length) continue;
    const larger = new Uint8Array(Math.min(Math.max(2 * total, leastRoom), maxBytes + 1));
    larger.set(buffer);
    buffer = larger;
  }
  const now = await file.statExact();
  // Some file systems say 0 of a file that has bytes.
  const isWhole = now.size === BigInt(total) || now.size === 0n;
  if (!isWhole || now.size !== opened.size || now.mtimeNs !== opened.mtimeNs) return { status: "changed" };
  return { status: "read", bytes: buffer.subarray(0, total) };
}
