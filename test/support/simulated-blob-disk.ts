import { posix } from "node:path";
import type { BlobDisk, FileStat } from "../../src/blobs/node/disk.js";
import type { SimulatedDisk, SimulatedFile } from "./simulated-disk.js";

/** A simulated disk as blobs need it: the same files and names, by descriptors. */
export function simulatedBlobDisk(disk: SimulatedDisk): BlobDisk {
  const open = new Map<number, { readonly file: SimulatedFile; at: number }>();
  let nextFd = 3;
  const opened = (file: SimulatedFile | undefined, errno: string, path: string): number => {
    if (file === undefined) throw Object.assign(new Error(`${errno}: open '${path}'`), { code: errno });
    open.set(nextFd, { file, at: 0 });
    return nextFd++;
  };
  const of = (fd: number) => {
    const found = open.get(fd);
    if (found === undefined) throw Object.assign(new Error("EBADF"), { code: "EBADF" });
    return found;
  };
  const read = (fd: number, into: Uint8Array): number => {
    const at = of(fd);
    const count = at.file.readNow(into, at.at);
    at.at += count;
    return count;
  };
  return {
    open: (path) => opened(disk.open(path, "read"), "ENOENT", path),
    create: (path) => opened(disk.open(path, "create"), "EEXIST", path),
    stat: (fd): FileStat => of(fd).file.stat(),
    statAt: (path) => disk.stat(path),
    writeNow: (fd, bytes) => of(fd).file.append(bytes),
    write: async (fd, bytes) => of(fd).file.append(bytes),
    readNow: read,
    read: async (fd, into) => read(fd, into),
    setTime: (fd, ms) => of(fd).file.setTime(ms),
    sync: (fd) => of(fd).file.sync(),
    syncBeside: (fd) => of(fd).file.sync(),
    syncDirectory: (path) => disk.syncDirectory(path),
    close: (fd) => {
      of(fd).file.close();
      open.delete(fd);
    },
    rename: (from, to) => disk.rename(from, to),
    link(from, to) {
      if (!disk.link(from, to)) throw Object.assign(new Error(`EEXIST: link '${to}'`), { code: "EEXIST" });
    },
    unlink: (path) => disk.unlink(path),
    makeDirectory: (path) => disk.makeDirectory(posix.normalize(path)),
    list: async (directory) => (await disk.list(directory)).map(({ name }) => name),
  };
}
