/**
 * The lock of a session: the lock file, its owner, and the lock that one process holds for all its handles.
 */

import { crc32Hex, encodeUtf8 } from "../../core/bytes.js";
import { sleep } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import { uniqueHex8 } from "../../core/ids.js";
import {
  appendFully,
  type FileSystem,
  publishExclusive,
  readFullySync,
} from "../../core/node/file-system.js";
import { isAlive, ownIdentity, type ProcessIdentity } from "../../core/node/process-identity.js";
import { isRecord } from "../../core/shape.js";

/** Times of a lock, in milliseconds. */
export interface LockTimes {
  /** The wait for a live holder before SESSION_LOCKED. */
  readonly waitMs: number;
  /** The time to hold the lock after its last use, so that a run of appends acquires it once. */
  readonly idleMs: number;
  /** The lease of a holder on another host: without a heartbeat for so long it counts as dead. */
  readonly remoteLeaseMs: number;
}

/** The default lease of a holder on another host. */
export const remoteLeaseMs = 30_000;
/** The interval of heartbeats. */
const heartbeatMs = 5000;
/** The maximum age of the last check of the lock file. */
const recheckMs = 1000;
/** The interval at which a holder checks for waiting writers, for which it then pauses. */
const fairnessMs = 100;
const pauseMs = 15;

/**
 * A lock file beside a log, held while batches are written and released when idle. A dead holder is
 * recognised by process id, start time and boot id, and replaced at once; a stopped one is never replaced.
 * Locks are advisory: each append still compares the log before and after the write.
 */
export class FileLock {
  readonly path: string;
  readonly #waitPath: string;
  readonly #fs: FileSystem;
  readonly #times: LockTimes;
  /** The nonce of the lock file while this lock holds it. */
  #nonce: string | undefined;
  #waitedFor: LockHolder | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #checkedWaitersAt = Number.NEGATIVE_INFINITY;
  /** The time of the last use that checked the lock file and the waiting writers. */
  #enteredAt = Number.NEGATIVE_INFINITY;
  #usedAt = 0;
  /** Calls of `with` that run now. */
  #uses = 0;
  /** The number of the acquisition that the current uses share. */
  acquisition = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #heartbeatTimer: NodeJS.Timeout | undefined;

  constructor(fs: FileSystem, path: string, times: LockTimes) {
    this.#fs = fs;
    this.path = path;
    this.#waitPath = `${path}.wait`;
    this.#times = times;
  }

  /**
   * Runs `act` under the lock, with the number of its acquisition: a run of calls may share one.
   *
   * @throws SessileError SESSION_LOCKED if a live holder does not release it in time
   */
  async with<T>(act: (acquisition: number) => Promise<T> | T, waitMs = this.#times.waitMs): Promise<T> {
    const entering = this.enter(waitMs);
    if (entering !== undefined) await entering;
    try {
      return await act(this.acquisition);
    } finally {
      this.leave();
    }
  }

  /**
   * Begins a use under the lock, which {@link leave} ends. Returns undefined if the lock is held or free: an append
   * must not cost a turn of the event loop.
   *
   * @throws SessileError as {@link with}
   */
  enter(waitMs = this.#times.waitMs): Promise<void> | undefined {
    const now = Date.now();
    // A run of appends checks once a millisecond.
    if (now === this.#enteredAt && this.#nonce !== undefined) {
      this.#waitedFor = undefined;
      this.#uses++;
      return undefined;
    }
    this.#enteredAt = now;
    const isHeld = this.#isHeld();
    if (isHeld && this.#uses === 0 && performance.now() - this.#checkedWaitersAt >= fairnessMs) {
      this.#checkedWaitersAt = performance.now();
      // Another writer may have requested the lock while it was held; a waiting writer repeats its request. Usually
      // there is none, and an error for a missing file takes as long as fifty writes.
      if (this.#fs.stat(this.#waitPath) !== undefined && this.#fs.unlink(this.#waitPath)) {
        this.release();
        return this.#enterLater(waitMs, pauseMs);
      }
    }
    this.#waitedFor = undefined;
    if (!isHeld && !this.#tryAcquire()) return this.#enterLater(waitMs, 0);
    this.#uses++;
    return undefined;
  }

  /** Ends a use. */
  leave(): void {
    this.#uses--;
    this.#usedAt = Date.now();
    if (this.#idleTimer !== undefined || this.#uses > 0 || this.#nonce === undefined) return;
    this.#idleTimer = setTimeout(() => this.#onIdle(), this.#times.idleMs);
  }

  async #enterLater(waitMs: number, afterMs: number): Promise<void> {
    if (afterMs > 0) await sleep(afterMs);
    this.#waitedFor = undefined;
    const isFree = afterMs > 0 && (this.#isHeld() || this.#tryAcquire());
    if (!isFree) await this.#acquireWithin(waitMs);
    this.#uses++;
  }

  /** The live holder that the current use waited for; undefined if the lock was free or held already. */
  get waitedFor(): LockHolder | undefined {
    return this.#waitedFor;
  }

  /** Checks the lock file before the next use: another program wrote although this lock is held. */
  recheck(): void {
    this.#checkedAt = Number.NEGATIVE_INFINITY;
    this.#enteredAt = Number.NEGATIVE_INFINITY;
  }

  /** Releases the lock. If the lock file cannot be unlinked, keeps the lock and retries. Never throws. */
  release(): void {
    if (this.#nonce === undefined) return;
    try {
      removeLockFile(this.#fs, this.path, this.#nonce);
    } catch {
      // Without a descriptor, or without access to the directory, the check fails. Other writers would see a
      // live holder forever without a retry, and a timer has no caller to throw to.
      clearTimeout(this.#idleTimer);
      this.#idleTimer = setTimeout(() => this.#onIdle(), retryMs);
      this.#idleTimer.unref();
      return;
    }
    this.#forget();
  }

  #isHeld(): boolean {
    if (this.#nonce === undefined) return false;
    // The wall clock, which a suspended machine advances: a lock may be lost meanwhile.
    const now = Date.now();
    if (now - this.#checkedAt < recheckMs && now >= this.#checkedAt) return true;
    this.#checkedAt = now;
    if (readLockFile(this.#fs, this.path)?.holder?.nonce === this.#nonce) {
      // Timers do not run during a run of appends that never yields.
      this.#heartbeat();
      return true;
    }
    // Another process took the lock over, or a user removed the file.
    this.#forget();
    return false;
  }

  /** Ends the acquisition without touching the file, which may be another holder's. */
  #forget(): void {
    clearTimeout(this.#idleTimer);
    clearInterval(this.#heartbeatTimer);
    this.#idleTimer = undefined;
    this.#heartbeatTimer = undefined;
    if (this.#nonce !== undefined) forgetLockFile(this.#nonce);
    this.#nonce = undefined;
  }

  #onIdle(): void {
    this.#idleTimer = undefined;
    if (this.#uses > 0 || this.#nonce === undefined) return;
    // The lock was used after the timer was set: a run of appends does not reset the timer each time.
    const age = Date.now() - this.#usedAt;
    const left = this.#times.idleMs - age;
    // The clock may have been put back.
    if (left <= 0 || age < 0) this.release();
    else this.#idleTimer = setTimeout(() => this.#onIdle(), left);
  }

  /** Creates the lock file; returns false if it exists. */
  #tryAcquire(): boolean {
    this.#nonce = createLockFile(this.#fs, this.path);
    if (this.#nonce === undefined) return false;
    this.acquisition++;
    this.#checkedAt = Date.now();
    this.#checkedWaitersAt = performance.now();
    this.#heartbeatTimer = setInterval(() => this.#heartbeat(), heartbeatMs);
    this.#heartbeatTimer.unref();
    return true;
  }

  #heartbeat(): void {
    try {
      this.#fs.touch(this.path);
    } catch {
      // The next use detects that the lock is gone.
    }
  }

  async #acquireWithin(waitMs: number): Promise<void> {
    const deadline = performance.now() + waitMs;
    let hasRequested = false;
    for (;;) {
      const live = removeStaleLock(this.#fs, this.path, this.#times.remoteLeaseMs);
      this.#waitedFor = live?.holder ?? this.#waitedFor;
      if (this.#isHeld() || this.#tryAcquire()) {
        this.#withdrawRequest();
        return;
      }
      if (performance.now() >= deadline) {
        if (hasRequested) this.#withdrawRequest();
        throw this.#lockedError((live ?? readLockFile(this.#fs, this.path))?.holder);
      }
      this.#fs.open(this.#waitPath, "create")?.close();
      hasRequested = true;
      // Random, so that writers that wait do not retry in step.
      await sleep(2 + Math.random() * 8);
    }
  }

  #withdrawRequest(): void {
    try {
      this.#fs.unlink(this.#waitPath);
    } catch {
      // A leftover request costs a holder one pause.
    }
  }

  #lockedError(holder: LockHolder | undefined): SessileError {
    const { pid = 0, host = "unknown", since } = holder ?? {};
    const heldMs = since === undefined ? 0 : Math.max(0, Date.now() - since);
    const who = holder === undefined ? "an unidentified process" : `process ${pid} on ${host}`;
    const message = `${who} has held ${this.path} for ${heldMs} ms: retry, or let it close the session`;
    return new SessileError("SESSION_LOCKED", message, { details: { pid, host, path: this.path, heldMs } });
  }
}

// The lock file itself: created exclusively, removed only by its holder, or by a takeover if the holder is
// dead.

/** The owner of a lock file. */
interface LockHolder extends ProcessIdentity {
  readonly nonce: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** A lock file as read; without a holder if its content is not understood. */
interface LockFile {
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
function createLockFile(fs: FileSystem, path: string): string | undefined {
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
function forgetLockFile(nonce: string): void {
  heldNonces.delete(nonce);
}

/** The delay before the next attempt after a failed unlink of a lock file. */
const retryMs = 100;

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
function removeLockFile(fs: FileSystem, path: string, nonce: string): void {
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
function removeStaleLock(fs: FileSystem, path: string, leaseMs: number): LockFile | undefined {
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
