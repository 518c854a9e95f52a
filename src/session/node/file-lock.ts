import { SessileError } from "../../errors/index.js";
import type { FileSystem } from "../../internal/node/file-system.js";
import {
  forgetLockFile,
  type Holder,
  makeLockFile,
  readLockFile,
  removeDead,
  removeLockFile,
  retryMs,
} from "./lock-file.js";

/** Times of a lock, in milliseconds. */
export interface LockTimes {
  /** The wait for a live holder before SESSION_LOCKED. */
  readonly waitMs: number;
  /** The time to hold the lock after its last use, so that a run of appends acquires it once. */
  readonly idleMs: number;
  /** The time after its last heartbeat at which a holder on another host counts as dead. */
  readonly foreignMs: number;
}

/** The default time after its last heartbeat at which a holder on another host counts as dead. */
export const foreignMs = 30_000;
/** The interval of heartbeats. */
const heartbeatMs = 5000;
/** The maximum age of the last look at the lock file. */
const recheckMs = 1000;
/** The interval at which a holder checks for waiting writers, for which it then pauses. */
const fairMs = 100;
const pauseMs = 15;

/**
 * A lock file beside a log, held while batches are written and released when idle. A dead holder is
 * recognised by process id, start time and boot id, and replaced at once; a stopped one is never replaced.
 * Locks are advisory: each append still compares the log before and after the write.
 */
export class FileLock {
  readonly path: string;
  readonly #waitPath: string;
  readonly #disk: FileSystem;
  readonly #times: LockTimes;
  /** The nonce of this lock's file. */
  #held: string | undefined;
  #waitedFor: Holder | undefined;
  #seenAt = 0;
  #askedAt = 0;
  #usedAt = 0;
  #uses = 0;
  #holds = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(disk: FileSystem, path: string, times: LockTimes) {
    this.#disk = disk;
    this.path = path;
    this.#waitPath = `${path}.wait`;
    this.#times = times;
  }

  /** Runs `act` under the lock. Throws SESSION_LOCKED if a live holder does not release it in time. */
  async with<T>(act: () => Promise<T> | T, waitMs = this.#times.waitMs): Promise<T> {
    if (this.#isHeld() && this.#uses === 0 && this.#othersWait()) {
      this.release();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    // Synchronous if the lock is held or free: an append must not cost a turn of the event loop.
    this.#waitedFor = undefined;
    if (!this.#isHeld() && !this.#take()) await this.#wait(waitMs);
    this.#uses++;
    try {
      return await act();
    } finally {
      this.#uses--;
      this.#letGoWhenIdle();
    }
  }

  /** The live holder that the current use waited for; undefined if the lock was free or held already. */
  get waitedFor(): Holder | undefined {
    return this.#waitedFor;
  }

  /** The number of acquisitions; identifies the current one. */
  get holds(): number {
    return this.#holds;
  }

  /** Another program wrote although this lock is held: check the lock file before the next use. */
  doubt(): void {
    this.#seenAt = 0;
  }

  /** Releases the lock. If the lock file cannot be unlinked, keeps the lock and retries. Never throws. */
  release(): void {
    if (this.#held === undefined) return;
    try {
      removeLockFile(this.#disk, this.path, this.#held);
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
    if (this.#held === undefined) return false;
    const now = Date.now();
    if (now - this.#seenAt < recheckMs && now >= this.#seenAt) return true;
    this.#seenAt = now;
    if (readLockFile(this.#disk, this.path)?.holder?.nonce === this.#held) {
      // Appends that never yield let no timer run.
      this.#beat();
      return true;
    }
    // Another process took it for dead, or a person removed it.
    this.#forget();
    return false;
  }

  /** Ends the acquisition without touching the file, which may be another holder's. */
  #forget(): void {
    clearTimeout(this.#idleTimer);
    clearInterval(this.#heartbeat);
    this.#idleTimer = undefined;
    this.#heartbeat = undefined;
    if (this.#held !== undefined) forgetLockFile(this.#held);
    this.#held = undefined;
  }

  /** Whether another writer requested the lock while it was held. A waiting writer repeats its request. */
  #othersWait(): boolean {
    const now = Date.now();
    if (now - this.#askedAt < fairMs && now >= this.#askedAt) return false;
    this.#askedAt = now;
    // Usually there is no request, and an error for a missing file takes as long as fifty writes.
    return this.#disk.stat(this.#waitPath) !== undefined && this.#disk.unlink(this.#waitPath);
  }

  #letGoWhenIdle(): void {
    if (this.#uses > 0 || this.#held === undefined) return;
    this.#usedAt = Date.now();
    this.#idleTimer ??= setTimeout(() => this.#onIdle(), this.#times.idleMs);
  }

  #onIdle(): void {
    this.#idleTimer = undefined;
    if (this.#uses > 0 || this.#held === undefined) return;
    // It was used after the timer was set; the timer is not reset for each append of a run.
    const left = this.#usedAt + this.#times.idleMs - Date.now();
    if (left <= 0 || left > this.#times.idleMs) this.release();
    else this.#idleTimer = setTimeout(() => this.#onIdle(), left);
  }

  /** Creates the lock file; returns false if it exists. */
  #take(): boolean {
    this.#held = makeLockFile(this.#disk, this.path);
    if (this.#held === undefined) return false;
    this.#holds++;
    this.#seenAt = Date.now();
    this.#askedAt = this.#seenAt;
    this.#heartbeat = setInterval(() => this.#beat(), heartbeatMs);
    this.#heartbeat.unref();
    return true;
  }

  #beat(): void {
    try {
      this.#disk.touch(this.path);
    } catch {
      // The next use detects that the lock is gone.
    }
  }

  async #wait(waitMs: number): Promise<void> {
    const deadline = Date.now() + waitMs;
    let asked = false;
    for (;;) {
      const other = removeDead(this.#disk, this.path, this.#times.foreignMs);
      this.#waitedFor = other?.holder ?? this.#waitedFor;
      if (this.#isHeld() || this.#take()) {
        this.#stopAsking();
        return;
      }
      if (Date.now() >= deadline) {
        if (asked) this.#stopAsking();
        throw this.#lockedError((other ?? readLockFile(this.#disk, this.path))?.holder);
      }
      this.#disk.open(this.#waitPath, "create")?.close();
      asked = true;
      await new Promise((resolve) => setTimeout(resolve, 2 + Math.random() * 8));
    }
  }

  /** A leftover request costs a holder one pause. */
  #stopAsking(): void {
    try {
      this.#disk.unlink(this.#waitPath);
    } catch {
      // As above.
    }
  }

  #lockedError(holder: Holder | undefined): SessileError {
    const { pid = 0, host = "unknown", since } = holder ?? {};
    const heldMs = since === undefined ? 0 : Math.max(0, Date.now() - since);
    const who = holder === undefined ? "a process that has not said who it is" : `process ${pid} on ${host}`;
    const message = `${who} has held ${this.path} for ${heldMs} ms`;
    return new SessileError("SESSION_LOCKED", message, { details: { pid, host, path: this.path, heldMs } });
  }
}
