/** The lock on a session file: acquired for appends, renewed, taken over from dead processes. */

import { sleep } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import type { FileSystem } from "../../core/node/file-system.js";
import {
  createLockFile,
  forgetLockFile,
  type LockHolder,
  readLockFile,
  removeLockFile,
  removeStaleLock,
  retryMs,
} from "./lock-file.js";

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
