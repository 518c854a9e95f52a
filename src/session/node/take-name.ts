import type { Disk } from "./disk.js";

/** Gives a whole file the name that it is for, which it takes from nobody. Whether the name was free. */
export function takeName(disk: Disk, temporary: string, path: string): boolean {
  try {
    // A second name and not a new one, since renaming would replace what has it.
    return disk.link(temporary, path);
  } catch {
    // No links here: then nothing keeps two programs from taking the name in the same moment.
    if (disk.stat(path) !== undefined) return false;
    disk.rename(temporary, path);
    return true;
  }
}

/** Makes the bytes of a file last. */
export async function syncFile(disk: Disk, path: string): Promise<void> {
  const file = disk.open(path, "append");
  try {
    await file?.sync();
  } finally {
    file?.close();
  }
}
