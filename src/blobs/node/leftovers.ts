import { errnoOf } from "../../internal/storage-error.js";
import type { BlobLeftovers } from "../backend.js";
import type { StoreDirectory } from "./directory.js";

const dayMs = 86_400_000;

/**
 * Removes files that a put began and did not end, last written before a time. One of a process that is running, or whose
 * number another has by now, is given a day more. Other files in the folder are somebody else's.
 */
export async function removeLeftovers(
  directory: StoreDirectory,
  before: number,
  { dryRun }: { readonly dryRun: boolean },
): Promise<BlobLeftovers> {
  const { disk } = directory;
  const leftovers = { count: 0, bytes: 0 };
  for (const name of await disk.list(directory.at("tmp"))) {
    const [, pid] = /^([1-9]\d*)-[0-9a-f]{16}$/.exec(name) ?? [];
    if (pid === undefined) continue;
    const path = directory.at("tmp", name);
    const stat = disk.statAt(path);
    if (stat?.kind !== "file") continue;
    if (stat.mtimeMs >= (isRunning(Number(pid)) ? before - dayMs : before)) continue;
    if (!dryRun && !disk.unlink(path)) continue;
    leftovers.count++;
    leftovers.bytes += stat.size;
  }
  return leftovers;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) === "EPERM";
  }
}
