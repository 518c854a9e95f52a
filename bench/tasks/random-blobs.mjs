import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";

/**
 * Blobs that no two runs share, made when nothing that others wrote waits for the disk any more: a program that makes its
 * own bytes last would otherwise wait for theirs.
 *
 * @param {{ count: number, size: number }} input
 * @returns {readonly Uint8Array[]}
 */
export function randomBlobs({ count, size }) {
  const blobs = Array.from({ length: count }, () => randomBytes(size));
  execFileSync("sync");
  return blobs;
}
