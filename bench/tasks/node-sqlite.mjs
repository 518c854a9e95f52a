// The same database for both sides, and their images.
import { DatabaseSync } from "node:sqlite";

/** @param {string} file @param {"full" | "normal"} [synchronous] whether a commit waits for the disk */
export function openDatabase(file, synchronous = "normal") {
  const database = new DatabaseSync(file);
  database.exec("pragma journal_mode = wal");
  database.exec(`pragma synchronous = ${synchronous}`);
  return database;
}

const head = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** A PNG whose bytes behind the end are noise. @param {number} seed @param {number} length */
export function imageOf(seed, length) {
  const bytes = new Uint8Array(length);
  let state = seed + 1;
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    bytes[at] = state >>> 24;
  }
  bytes.set(head);
  return bytes;
}
