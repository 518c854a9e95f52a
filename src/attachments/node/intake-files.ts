import * as fs from "node:fs";

/** What a path names. */
export type FileKind = "file" | "directory" | "link" | "FIFO" | "socket" | "device";

/** What tells a file from another, and from itself after a change. */
export interface FileFacts {
  readonly kind: FileKind;
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
}

/** A file that is open for reading. */
export interface OpenFile {
  facts(): Promise<FileFacts>;
  /** Fills as much as there is; 0 at the end. */
  read(into: Uint8Array): Promise<number>;
  /** Where the system says that the open file lies; undefined where it does not say. */
  place(): Promise<string | undefined>;
  close(): Promise<void>;
}

/** The file system as intake needs it: small, so that a test can change a file between two looks. */
export interface IntakeFiles {
  realpath(path: string): Promise<string>;
  /** Of the path itself, link or not. */
  facts(path: string): Promise<FileFacts>;
  /** For reading; refuses a link, and never waits for a writer. */
  open(path: string): Promise<OpenFile>;
}

/** The file system of this machine. */
export const nodeIntakeFiles: IntakeFiles = {
  realpath: (path) => fs.promises.realpath(path),
  facts: async (path) => factsOf(await fs.promises.lstat(path, { bigint: true })),
  async open(path) {
    const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_NOCTTY = 0 } = fs.constants;
    // Opening a FIFO that nobody writes to blocks a thread of the pool for good, and four of them the process.
    const handle = await fs.promises.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    return {
      facts: async () => factsOf(await handle.stat({ bigint: true })),
      read: async (into) => (await handle.read(into, 0, into.length, null)).bytesRead,
      place: async () =>
        process.platform === "linux"
          ? fs.promises.readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined)
          : undefined,
      close: () => handle.close(),
    };
  },
};

function factsOf(stats: fs.BigIntStats): FileFacts {
  return { kind: kindOf(stats), dev: stats.dev, ino: stats.ino, size: stats.size, mtimeNs: stats.mtimeNs };
}

function kindOf(stats: fs.BigIntStats): FileKind {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "directory";
  if (stats.isSymbolicLink()) return "link";
  if (stats.isFIFO()) return "FIFO";
  return stats.isSocket() ? "socket" : "device";
}
