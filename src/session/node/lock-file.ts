import { encodeUtf8 } from "../../internal/bytes.js";
import { crc32Hex } from "../../internal/crc32.js";
import type { FileSystem } from "../../internal/node/file-system.js";
import { isAlive, ownIdentity, type ProcessIdentity } from "../../internal/node/process-identity.js";
import { publishExclusive } from "../../internal/node/publish-exclusive.js";
import { appendFully, readFullySync } from "../../internal/node/read-write-fully.js";
import { isRecord } from "../../internal/shape.js";

/** Who made a lock file. */
export interface Holder extends ProcessIdentity {
  readonly nonce: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** A lock file as it was read; without a holder where it says nothing that can be understood. */
export interface LockFile {
  readonly holder: Holder | undefined;
  readonly text: string;
  readonly mtimeMs: number;
}

/**
 * A lock file that says nothing is being written by its maker, or was left by a crash in between; after this the latter.
 * Well below the time that a writer waits unless told otherwise, so that the one after a crash gets it.
 */
const unreadableMs = 1000;

/** Those that this thread made and did not let go of. */
const own = new Set<string>();

/** Makes a lock file of this process; gives its nonce, or undefined where there is a file. */
export function makeLockFile(disk: FileSystem, path: string): string | undefined {
  // Before the file is made: that it says nothing yet is to last no longer than a write.
  const self = ownIdentity();
  const file = disk.open(path, "create");
  if (file === undefined) return undefined;
  const nonce = crypto.randomUUID();
  try {
    const holder: Holder = { ...self, nonce, since: Date.now() };
    const bytes = encodeUtf8(JSON.stringify(holder));
    appendFully(file, bytes);
    // A process that is stopped before it has written looks like one that was killed there, and is replaced.
    if (readLockFile(disk, path)?.holder?.nonce !== nonce) return undefined;
  } catch (error) {
    try {
      disk.unlink(path);
    } catch {
      retryRemoval(disk, path, nonce);
    }
    throw error;
  } finally {
    file.close();
  }
  own.add(nonce);
  return nonce;
}

/** The file is no longer held, whoever has its name now. */
export function forgetLockFile(nonce: string): void {
  own.delete(nonce);
}

/** How long after the system refused to remove a lock file to try again. */
export const retryMs = 100;

/**
 * Removes a lock file that nobody holds as soon as the system allows it. Left there it would name a live process and
 * lock everybody out until that ends. One that names nobody yet is left to its age.
 */
function retryRemoval(disk: FileSystem, path: string, nonce: string): void {
  const retry = () => {
    try {
      removeLockFile(disk, path, nonce);
    } catch {
      retryRemoval(disk, path, nonce);
    }
  };
  setTimeout(retry, retryMs).unref();
}

/** Removes a lock file, unless another has its name. */
export function removeLockFile(disk: FileSystem, path: string, nonce: string): void {
  // By what it says: an inode's number alone goes to the next file once this one is removed.
  if (readLockFile(disk, path)?.holder?.nonce === nonce) disk.unlink(path);
  forgetLockFile(nonce);
}

/** undefined where there is none. */
export function readLockFile(disk: FileSystem, path: string): LockFile | undefined {
  const file = disk.open(path, "read");
  if (file === undefined) return undefined;
  try {
    const { size, mtimeMs } = file.stat();
    const bytes = new Uint8Array(Math.min(size, 4096));
    const text = new TextDecoder().decode(bytes.subarray(0, readFullySync(file, bytes, 0)));
    return { holder: holderOf(text), text, mtimeMs };
  } finally {
    file.close();
  }
}

/**
 * Removes the lock file of a dead holder. Only one process at a time may: the one that has made the claim, a lock file of
 * its own that is named after what the dead one's says. Whoever comes late finds another text and leaves it alone; else
 * it would remove the lock of whoever came first. A claim whose maker died is removed in the same way.
 *
 * @param foreignMs how long after its last sign of life a holder on another host counts as dead
 * @returns who stands in the way, or undefined where the lock may be free
 */
export function removeDead(disk: FileSystem, path: string, foreignMs: number): LockFile | undefined {
  for (;;) {
    const found = readLockFile(disk, path);
    if (found === undefined) return undefined;
    if (!isDead(disk, path, found, foreignMs)) return found;
    const claim = `${path}.stale-${crc32Hex(encodeUtf8(found.text))}`;
    const nonce = makeLockFile(disk, claim);
    if (nonce === undefined) {
      const claimed = removeDead(disk, claim, foreignMs);
      if (claimed !== undefined) return claimed;
      continue;
    }
    try {
      const still = readLockFile(disk, path);
      if (still?.text === found.text && isDead(disk, path, still, foreignMs))
        moveAway(disk, path, still.text);
    } finally {
      try {
        removeLockFile(disk, claim, nonce);
      } catch {
        retryRemoval(disk, claim, nonce);
      }
    }
    return undefined;
  }
}

function isDead(disk: FileSystem, path: string, { holder, mtimeMs }: LockFile, foreignMs: number): boolean {
  const age = () => ageOf(disk, path, mtimeMs);
  if (holder === undefined) return age() > unreadableMs;
  return whyDead(holder, age, foreignMs) !== undefined;
}

/**
 * Why a holder will not let go any more; undefined while it may.
 *
 * @param age of its last sign of life, in milliseconds; asked where that is all there is to go by
 */
export function whyDead(holder: Holder, age: () => number, foreignMs: number): string | undefined {
  const self = ownIdentity();
  if (own.has(holder.nonce)) return undefined;
  const silent = () => (age() > foreignMs ? "gives no sign of life" : undefined);
  if (holder.host !== self.host) return silent();
  if (holder.bootId !== "" && self.bootId !== "" && holder.bootId !== self.bootId)
    return "the machine was started anew";
  if (!isAlive(holder)) return "has ended";
  // Of another thread, which may have ended: its process says nothing of that, its signs of life do.
  return holder.pid === self.pid ? silent() : undefined;
}

/** Age of a file by the clock of its own file system, which may be another machine's. */
function ageOf(disk: FileSystem, path: string, mtimeMs: number): number {
  const probe = `${path}.${crypto.randomUUID()}`;
  const file = disk.open(probe, "create");
  if (file === undefined) return 0;
  try {
    return file.stat().mtimeMs - mtimeMs;
  } finally {
    file.close();
    disk.unlink(probe);
  }
}

/**
 * Moves a file away, and back if it turns out to be another's: a holder on another host that was taken for dead may be
 * back in this moment.
 */
function moveAway(disk: FileSystem, path: string, text: string): void {
  const aside = `${path}.stale-${crypto.randomUUID()}`;
  try {
    disk.rename(path, aside);
  } catch {
    return;
  }
  if (readLockFile(disk, aside)?.text !== text) publishExclusive(disk, aside, path);
  disk.unlink(aside);
}

/** The holder that a lock file names; undefined where it says something else. */
function holderOf(text: string): Holder | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isRecord(value)) return undefined;
    const { pid, host, bootId, startTime, nonce, since } = value;
    if (typeof pid !== "number" || !Number.isInteger(pid) || pid <= 0 || typeof since !== "number")
      return undefined;
    if (typeof host !== "string" || typeof bootId !== "string" || typeof startTime !== "string")
      return undefined;
    return typeof nonce === "string" ? { pid, host, bootId, startTime, nonce, since } : undefined;
  } catch {
    return undefined;
  }
}
