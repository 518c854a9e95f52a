import { type BlobDisk, nodeBlobDisk } from "../../../src/blobs/node/disk.js";

/** A call to a disk, by the name of the method. */
export interface DiskCall {
  readonly number: number;
  readonly name: keyof BlobDisk;
  readonly args: readonly unknown[];
}

/**
 * The machine's file system, with something done before each call: it may throw in the call's place. Syncs wait for no
 * device, since no test cuts the power.
 */
export function hookedDisk(before: (call: DiskCall) => void): BlobDisk {
  let number = 0;
  return new Proxy(nodeBlobDisk(), {
    get(disk, name: keyof BlobDisk) {
      const method = disk[name] as (...args: unknown[]) => unknown;
      return (...args: unknown[]) => {
        const hook = () => before({ number: number++, name, args });
        const isAsync = ["write", "read", "sync", "syncBeside", "syncDirectory", "list"].includes(name);
        if (!isAsync) {
          hook();
          return method(...args);
        }
        // A failure of what takes a while comes as a rejection.
        return (async () => {
          hook();
          return name.startsWith("sync") ? undefined : method(...args);
        })();
      };
    },
  });
}

/** A system error. */
export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: made for a test`), { code });
}
