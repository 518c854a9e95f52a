import { basename, dirname } from "node:path";
import type { BlobRef } from "../../content/index.js";
import { randomHex8 } from "../../internal/ids.js";
import { hashTable, refFrom } from "../hash.js";
import { partsOf } from "../ref.js";
import { giveName, placeNew, type StoreDirectory } from "./directory.js";
import type { FileStat } from "./disk.js";
import { nodeSha256 } from "./hashes.js";
import { readPieces } from "./read-file.js";

const hashes = hashTable([nodeSha256]);

/** Moves what was seen at a path into quarantine; what took its place since goes back. */
export function putAside(
  directory: StoreDirectory,
  path: string,
  ref: BlobRef,
  seen: FileStat,
): string | undefined {
  const { disk } = directory;
  const from = directory.at(path);
  const isSeen = (stat: FileStat | undefined) => stat?.ino === seen.ino && stat.dev === seen.dev;
  if (!isSeen(disk.statAt(from))) return undefined;
  disk.makeDirectory(directory.at("quarantine"));
  const name = `${partsOf(ref).algorithm}-${basename(path)}-${randomHex8()}`;
  const to = directory.at("quarantine", name);
  disk.rename(from, to);
  if (isSeen(disk.statAt(to))) return to;
  placeNew(disk, to, from);
  return undefined;
}

/**
 * Moves a blob's file back to its path. A file that is there stays, and ours goes, if its bytes are right; anything else
 * there is put aside. The name is durable once this resolves. Throws ENOENT if ours has gone.
 */
export async function placeBack(
  directory: StoreDirectory,
  from: string,
  path: string,
  ref: BlobRef,
): Promise<void> {
  const { disk } = directory;
  const to = directory.at(path);
  const isOurs = disk.statAt(from) !== undefined;
  const there = disk.statAt(to);
  const isWrong =
    isOurs && there !== undefined && (there.kind !== "file" || (await refAt(directory, to, ref)) !== ref);
  if (isWrong) putAside(directory, path, ref, there);
  const isTwice = giveName(disk, from, to);
  // Names of two folders reach the disk in any order: the old one must not go before the new one lasts.
  await directory.sync(dirname(path));
  if (isTwice) disk.unlink(from);
}

/** The name, by the algorithm of another, of the bytes at a path. */
export async function refAt({ disk }: StoreDirectory, path: string, ref: BlobRef): Promise<BlobRef> {
  const hash = hashes[partsOf(ref).algorithm];
  const hasher = hash.create();
  for await (const piece of readPieces(disk, disk.open(path))) hasher.update(piece);
  return refFrom(hash, hasher);
}
