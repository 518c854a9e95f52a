import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type BlobRef, collectGarbage, userMessage } from "sessile";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { expect } from "vitest";
import { blobBytes } from "./blob-bytes.js";

/** A line of a session's file, as far as tests look into it. */
export interface StoredLine {
  readonly id: string;
  readonly parentId?: string | null;
  readonly type: string;
  readonly message?: { readonly content: unknown };
}

/** The lines of a file: each is JSON and ends with a line feed, but for those that were torn by a kill. */
export function linesOf(path: string): StoredLine[] {
  const text = readFileSync(path, "utf8");
  expect(text.endsWith("\n")).toBe(true);
  return text
    .slice(0, -1)
    .split("\n")
    .filter((line) => !line.endsWith("\t"))
    .map((line) => JSON.parse(line));
}

/** How often each is there. */
export function countOf(ids: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

/**
 * Fails unless a session opens for writing without options, with each acknowledged entry once and whole, and takes more. Gives the
 * codes of what is wrong with its lines: an end that was not acknowledged is not among them.
 */
export async function sessionIsKept(
  dir: string,
  id: string,
  acknowledged: readonly string[],
): Promise<readonly string[]> {
  const store = fileSessionStore({ dir: join(dir, "sessions") });
  const session = await store.open(id, { mode: "write" });
  const path = session.location ?? "";
  for (const entry of acknowledged) expect((await session.tree()).has(entry), `entry ${entry}`).toBe(true);
  const { id: more } = await session.appendMessage(userMessage("more"));
  await session.close();
  expect(readdirSync(dirname(path)).filter((name) => name.startsWith(`${basename(path)}.lock`))).toEqual([]);
  const reading = await store.open(id);
  const damage = await reading.diagnose();
  expect((await reading.context()).items.length).toBeGreaterThan(0);
  await reading.close();
  const damagedLines = new Set(damage.map(({ line }) => line));
  const whole = readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .filter((_, at) => !damagedLines.has(at + 1))
    .map((line): StoredLine => JSON.parse(line));
  const counts = countOf(whole.map((line) => line.id));
  for (const entry of [...acknowledged, more]) expect(counts.get(entry), `entry ${entry}`).toBe(1);
  return damage.map(({ code }) => code).filter((code) => code !== "TORN_LINE");
}

/** Fails unless each acknowledged blob is there, none is wrong, and the store takes more and cleans up what was begun. */
export async function blobsAreKept(dir: string, acknowledged: readonly string[]): Promise<void> {
  const blobs = fileBlobStore({ dir: join(dir, "blobs") });
  const refs = acknowledged as readonly BlobRef[];
  expect((await blobs.verify({ refs })).missing).toEqual([]);
  const bytes = blobBytes("more", 600);
  const { ref } = await blobs.put(bytes);
  expect(await blobs.get(ref)).toEqual(bytes);
  expect((await blobs.verify()).corrupt).toEqual([]);
  const marks = [{ root: "said", refs, complete: true }];
  await collectGarbage(blobs, { marks, now: () => Date.now() + 16 * 86_400_000 });
  expect(readdirSync(join(dir, "blobs", "tmp"))).toEqual([]);
  expect((await blobs.verify({ refs })).missing).toEqual([]);
}
