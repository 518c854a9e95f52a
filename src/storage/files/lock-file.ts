/**
 * The lock file itself: created exclusively, removed only by its holder, or by a takeover if the holder is
 * dead.
 */

import { crc32Hex, encodeUtf8 } from "../../core/bytes.js";
import { uniqueHex8 } from "../../core/ids.js";
import {
  appendFully,
  type FileSystem,
  publishExclusive,
  readFullySync,
} from "../../core/node/file-system.js";
import { isAlive, ownIdentity, type ProcessIdentity } from "../../core/node/process-identity.js";
import { isRecord } from "../../core/shape.js";

/** The owner of a lock file. */
export interface LockHolder extends ProcessIdentity {
  readonly nonce: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** A lock file as read; without a holder if its content is not understood. */
export interface LockFile {
  readonly holder: LockHolder | undefined;
  readonly text: string;
  readonly mtimeMs: number;
}

/**
 * An empty lock file is being written by its owner, or its owner crashed. After this time it counts as
 * crashed. Well below the default wait, so that the writer after a crash gets the lock.
 */
const unreadableMs = 1000;

/** Lock files that this thread created and did not release. */
const heldNonces = new Set<string>();

/** Creates a lock file of this process atomically. Returns its nonce, or undefined if the file exists. */
export function createLockFile(fs: FileSystem, path: string): string | undefined {
  // Encoded before the file is created, so that it is empty only for the time of one write.
  const self = ownIdentity();
  const file = fs.open(path, "create");
  if (file === undefined) return undefined;
  const nonce = uniqueHex8() + uniqueHex8() + uniqueHex8() + uniqueHex8();
  try {
    const holder: LockHolder = { ...self, nonce, since: Date.now() };
    const bytes = encodeUtf8(JSON.stringify(holder));
    appendFully(file, bytes);
    // A process stopped before this write looks like a crashed one, and is replaced.
    if (readLockFile(fs, path)?.holder?.nonce !== nonce) return undefined;
  } catch (error) {
    try {
      fs.unlink(path);
    } catch {
      retryRemoval(fs, path, nonce);
    }
    throw error;
  } finally {
    file.close();
  }
  heldNonces.add(nonce);
  return nonce;
}

/** Forgets that this thread holds a lock file, which may be another holder's by now. */
export function forgetLockFile(nonce: string): void {
  heldNonces.delete(nonce);
}

/** The delay before the next attempt after a failed unlink of a lock file. */
export const retryMs = 100;

/**
 * Removes an unheld lock file as soon as the system allows. Otherwise it would name a live process and lock
 * out all writers until that ends. A file without a holder expires by its age.
 */
function retryRemoval(fs: FileSystem, path: string, nonce: string): void {
  const retry = () => {
    try {
      removeLockFile(fs, path, nonce);
    } catch {
      retryRemoval(fs, path, nonce);
    }
  };
  setTimeout(retry, retryMs).unref();
}

/** Removes a lock file, unless another one has its name. */
export function removeLockFile(fs: FileSystem, path: string, nonce: string): void {
  // Compared by content: the inode number can be reused once the file is removed.
  if (readLockFile(fs, path)?.holder?.nonce === nonce) fs.unlink(path);
  forgetLockFile(nonce);
}

/** Returns undefined if there is no file. */
export function readLockFile(fs: FileSystem, path: string): LockFile | undefined {
  const file = fs.open(path, "read");
  if (file === undefined) return undefined;
  try {
    const { size, mtimeMs } = file.stat();
    const bytes = new Uint8Array(Math.min(size, 4096));
    const text = new TextDecoder().decode(bytes.subarray(0, readFullySync(file, bytes, 0)));
    return { holder: textHolder(text), text, mtimeMs };
  } finally {
    file.close();
  }
}

/**
 * Removes the lock file of a dead holder, the first half of a takeover. Only the process with the claim may
 * do so: a lock file named after the content of the dead one. A late process finds other content and stops;
 * otherwise it would remove the lock of the first one (a race). The claim of a dead process is removed
 * likewise.
 *
 * @param leaseMs the time after its last heartbeat at which a holder on another host counts as dead
 * @returns the live holder, or undefined if the lock may be free
 */
export function removeStaleLock(fs: FileSystem, path: string, leaseMs: number): LockFile | undefined {
  for (;;) {
    const found = readLockFile(fs, path);
    if (found === undefined) return undefined;
    if (!isStale(fs, path, found, leaseMs)) return found;
    const claim = `${path}.stale-${crc32Hex(encodeUtf8(found.text))}`;
    const nonce = createLockFile(fs, claim);
    if (nonce === undefined) {
      const claimant = removeStaleLock(fs, claim, leaseMs);
      if (claimant !== undefined) return claimant;
      continue;
    }
    try {
      const still = readLockFile(fs, path);
      if (still?.text === found.text && isStale(fs, path, still, leaseMs))
        removeIfStill(fs, path, still.text);
    } finally {
      try {
        removeLockFile(fs, claim, nonce);
      } catch {
        retryRemoval(fs, claim, nonce);
      }
    }
    return undefined;
  }
}

function isStale(fs: FileSystem, path: string, { holder, mtimeMs }: LockFile, leaseMs: number): boolean {
  const age = () => heartbeatAge(fs, path, mtimeMs);
  if (holder === undefined) return age() > unreadableMs;
  return staleReason(holder, age, leaseMs) !== undefined;
}

/**
 * The reason why a holder counts as dead; undefined if it may be alive.
 *
 * @param age returns the age of its last heartbeat in milliseconds; called only if nothing else decides
 */
export function staleReason(holder: LockHolder, age: () => number, leaseMs: number): string | undefined {
  const self = ownIdentity();
  if (heldNonces.has(holder.nonce)) return undefined;
  const expired = () => (age() > leaseMs ? `sent no heartbeat for ${leaseMs} ms` : undefined);
  if (holder.host !== self.host) return expired();
  if (holder.bootId !== "" && self.bootId !== "" && holder.bootId !== self.bootId)
    return "its machine restarted";
  if (!isAlive(holder)) return "has ended";
  // A lock of another thread, which may have ended: only its heartbeat tells.
  return holder.pid === self.pid ? expired() : undefined;
}

/** The age of a lock file by the clock of its file system, which can be another machine's. */
function heartbeatAge(fs: FileSystem, path: string, mtimeMs: number): number {
  const probe = `${path}.${crypto.randomUUID()}`;
  const file = fs.open(probe, "create");
  if (file === undefined) return 0;
  try {
    return file.stat().mtimeMs - mtimeMs;
  } finally {
    file.close();
    fs.unlink(probe);
  }
}

/**
 * Removes a lock file by a rename, and restores it if its content is another one: a holder on another host
 * may return at this moment.
 */
function removeIfStill(fs: FileSystem, path: string, text: string): void {
  const aside = `${path}.stale-${crypto.randomUUID()}`;
  try {
    fs.rename(path, aside);
  } catch {
    return;
  }
  if (readLockFile(fs, aside)?.text !== text) publishExclusive(fs, aside, path);
  fs.unlink(aside);
}

/** The holder that a lock file names; undefined for other content. */
function textHolder(text: string): LockHolder | undefined {
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
