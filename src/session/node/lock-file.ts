import { encodeUtf8 } from "../../internal/bytes.js";
import { crc32Hex } from "../../internal/crc32.js";
import type { FileSystem } from "../../internal/node/file-system.js";
import { isAlive, ownIdentity, type ProcessIdentity } from "../../internal/node/process-identity.js";
import { publishExclusive } from "../../internal/node/publish-exclusive.js";
import { appendFully, readFullySync } from "../../internal/node/read-write-fully.js";
import { isRecord } from "../../internal/shape.js";

/** The owner of a lock file. */
export interface Holder extends ProcessIdentity {
  readonly nonce: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** A lock file as read; without a holder if its content is not understood. */
export interface LockFile {
  readonly holder: Holder | undefined;
  readonly text: string;
  readonly mtimeMs: number;
}

/**
 * An empty lock file is being written by its owner, or its owner crashed. After this time it counts as
 * crashed. Well below the default wait, so that the writer after a crash gets the lock.
 */
const unreadableMs = 1000;

/** Lock files that this thread created and did not release. */
const own = new Set<string>();

/** Creates a lock file of this process; returns its nonce, or undefined if the file exists. */
export function makeLockFile(disk: FileSystem, path: string): string | undefined {
  // Encoded before the file is created, so that it is empty only for the time of one write.
  const self = ownIdentity();
  const file = disk.open(path, "create");
  if (file === undefined) return undefined;
  const nonce = crypto.randomUUID();
  try {
    const holder: Holder = { ...self, nonce, since: Date.now() };
    const bytes = encodeUtf8(JSON.stringify(holder));
    appendFully(file, bytes);
    // A process stopped before this write looks like a crashed one, and is replaced.
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

/** Forgets a lock file, regardless of the current owner of its name. */
export function forgetLockFile(nonce: string): void {
  own.delete(nonce);
}

/** The delay before the next attempt after a failed unlink of a lock file. */
export const retryMs = 100;

/**
 * Removes an unheld lock file as soon as the system allows. Otherwise it would name a live process and lock
 * out all writers until that ends. A file without a holder expires by its age.
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

/** Removes a lock file, unless another one has its name. */
export function removeLockFile(disk: FileSystem, path: string, nonce: string): void {
  // Compared by content: the inode number can be reused once the file is removed.
  if (readLockFile(disk, path)?.holder?.nonce === nonce) disk.unlink(path);
  forgetLockFile(nonce);
}

/** Returns undefined if there is no file. */
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
 * Removes the lock file of a dead holder. Only one process may do so at a time: the one with the claim, a
 * lock file of its own, named after the content of the dead one. A late process finds other content and
 * stops; otherwise a race would remove the lock of the first one. A claim whose owner died is removed in the
 * same way.
 * @param foreignMs the time after its last heartbeat at which a holder on another host counts as dead
 * @returns the live holder, or undefined if the lock may be free
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
 * The reason why a holder is dead; undefined if it may be alive.
 * @param age returns the age of its last heartbeat in milliseconds; called only if nothing else decides
 */
export function whyDead(holder: Holder, age: () => number, foreignMs: number): string | undefined {
  const self = ownIdentity();
  if (own.has(holder.nonce)) return undefined;
  const silent = () => (age() > foreignMs ? "gives no sign of life" : undefined);
  if (holder.host !== self.host) return silent();
  if (holder.bootId !== "" && self.bootId !== "" && holder.bootId !== self.bootId)
    return "the machine was started anew";
  if (!isAlive(holder)) return "has ended";
  // A lock of another thread, which may have ended: only its heartbeat tells.
  return holder.pid === self.pid ? silent() : undefined;
}

/** The age of a file by the clock of its file system, which can be another machine's. */
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
 * Moves a file away, and back if it turns out to be another one: a holder on another host may return at this
 * moment.
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

/** The holder that a lock file names; undefined for other content. */
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
