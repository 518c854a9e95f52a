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
  /** How long to wait for a live holder before SESSION_LOCKED. */
  readonly waitMs: number;
  /** How long to hold after the last use, so that a run of appends takes the lock once. */
  readonly idleMs: number;
  /** How long after its last sign of life a holder on another host counts as dead. */
  readonly foreignMs: number;
}

/** By default a holder on another host counts as dead so long after its last sign of life. */
export const foreignMs = 30_000;
/** A holder gives a sign of life this often. */
const heartbeatMs = 5000;
/** The lock is looked at again when it was last seen this long ago. */
const recheckMs = 1000;
/** A holder looks this often whether others wait, and then pauses for them. */
const fairMs = 100;
const pauseMs = 15;

/**
 * A lock file beside a log, held while batches are written and let go when idle. A holder that is dead is known by its
 * process id, start time and boot, and replaced at once; one that is alive but stopped is never robbed. Locks are advice:
 * a log is compared before and after each write all the same.
 */
export class FileLock {
  readonly path: string;
  readonly #waitPath: string;
  readonly #disk: FileSystem;
  readonly #times: LockTimes;
  /** The nonce of the file that this one made. */
  #held: string | undefined;
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

  /** Runs `act` under the lock. Throws SESSION_LOCKED when a live holder does not let go in time. */
  async with<T>(act: () => Promise<T> | T, waitMs = this.#times.waitMs): Promise<T> {
    if (this.#isHeld() && this.#uses === 0 && this.#othersWait()) {
      this.release();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    // Without waiting where the lock is held already, or free: an append must not cost a turn of the event loop.
    if (!this.#isHeld() && !this.#take()) await this.#wait(waitMs);
    this.#uses++;
    try {
      return await act();
    } finally {
      this.#uses--;
      this.#letGoWhenIdle();
    }
  }

  /** How often the lock was taken: the number of the present hold while there is one. */
  get holds(): number {
    return this.#holds;
  }

  /** Another wrote although this one holds the lock: whether it does is looked at before the next use. */
  doubt(): void {
    this.#seenAt = 0;
  }

  /** Lets go at once; where the system does not let it, as soon as it does, and holds on until then. Never throws. */
  release(): void {
    if (this.#held === undefined) return;
    try {
      removeLockFile(this.#disk, this.path, this.#held);
    } catch {
      // No descriptor is left to look at the file with, or its directory was closed to us. Whoever came for the lock
      // would find a live holder, for good if nobody tried again; and a timer has nobody to throw to.
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
      // Appends that never wait for anything let no timer run.
      this.#beat();
      return true;
    }
    // Somebody took it for dead, or a person removed it.
    this.#forget();
    return false;
  }

  /** There is no hold any more: nothing may touch the file, which may be another holder's. */
  #forget(): void {
    clearTimeout(this.#idleTimer);
    clearInterval(this.#heartbeat);
    this.#idleTimer = undefined;
    this.#heartbeat = undefined;
    if (this.#held !== undefined) forgetLockFile(this.#held);
    this.#held = undefined;
  }

  /** Whether somebody has asked for the lock while it was held. Whoever still waits asks again. */
  #othersWait(): boolean {
    const now = Date.now();
    if (now - this.#askedAt < fairMs && now >= this.#askedAt) return false;
    this.#askedAt = now;
    // Mostly nobody does, and an error for a file that is not there takes as long as fifty writes.
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
    // It was used since the timer was set, which is not set anew for each of a run of appends.
    const left = this.#usedAt + this.#times.idleMs - Date.now();
    if (left <= 0 || left > this.#times.idleMs) this.release();
    else this.#idleTimer = setTimeout(() => this.#onIdle(), left);
  }

  /** Makes the lock file; false where there is one. */
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
      // The next use sees that the lock is gone.
    }
  }

  async #wait(waitMs: number): Promise<void> {
    const deadline = Date.now() + waitMs;
    let asked = false;
    for (;;) {
      const other = removeDead(this.#disk, this.path, this.#times.foreignMs);
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

  /** What remains of it costs a holder one pause. */
  #stopAsking(): void {
    try {
      this.#disk.unlink(this.#waitPath);
    } catch {
      // See there.
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
