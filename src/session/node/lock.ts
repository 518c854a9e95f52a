import { SessileError } from "../../errors/index.js";
import { encodeUtf8 } from "../../internal/bytes.js";
import { isRecord } from "../../internal/shape.js";
import type { Disk } from "./disk.js";
import { isAlive, ownIdentity, type ProcessIdentity } from "./process-identity.js";

/** Times of a lock, in milliseconds. */
export interface LockTimes {
  /** How long to wait for a live holder before SESSION_LOCKED. */
  readonly waitMs: number;
  /** How long to hold after the last use, so that a run of appends takes the lock once. */
  readonly idleMs: number;
  /** How long after its last sign of life a holder on another host counts as dead. */
  readonly foreignMs: number;
}

/** What a lock file says of who holds it. */
export interface Holder extends ProcessIdentity {
  readonly nonce: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** A holder gives a sign of life this often. */
const heartbeatMs = 5000;
/** The lock is looked at again when it was last seen this long ago. */
const recheckMs = 1000;
/** A holder looks this often whether others wait, and then pauses for them. */
const fairMs = 100;
const pauseMs = 15;
/** A lock file that says nothing is being written by its maker, or was left by a crash in between; after this the latter. */
const unreadableMs = 2000;

/**
 * A lock file beside a log, held while batches are written and let go when idle. A holder that is dead is known by its
 * process id, start time and boot, and replaced at once; one that is alive but stopped is never robbed. Locks are advice:
 * a log is compared before and after each write all the same.
 */
export class FileLock {
  readonly path: string;
  readonly #waitPath: string;
  readonly #disk: Disk;
  readonly #times: LockTimes;
  #held: { readonly nonce: string } | undefined;
  #seenAt = 0;
  #askedAt = 0;
  #usedAt = 0;
  #uses = 0;
  #holds = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(disk: Disk, path: string, times: LockTimes) {
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

  /**
   * Runs `act` at once where the lock is held already and it is not yet time to see whether others wait; undefined where
   * it is not: then {@link with} it is.
   */
  ifHeld<T>(act: () => T): T | undefined {
    const now = Date.now();
    if (now - this.#askedAt >= fairMs || !this.#isHeld(now)) return undefined;
    this.#uses++;
    try {
      return act();
    } finally {
      this.#uses--;
      this.#letGoWhenIdle(now);
    }
  }

  /** How often the lock was taken: the number of the present hold while there is one. */
  get holds(): number {
    return this.#holds;
  }

  /** Lets go at once. */
  release(): void {
    const held = this.#held;
    this.#forget();
    if (held !== undefined && this.#isOurs(held)) this.#disk.unlink(this.path);
  }

  #isHeld(now = Date.now()): boolean {
    if (this.#held === undefined) return false;
    if (now - this.#seenAt < recheckMs && now >= this.#seenAt) return true;
    this.#seenAt = now;
    if (this.#isOurs(this.#held)) return true;
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
    this.#held = undefined;
  }

  /** By what it says: an inode's number alone goes to the next file once this one is removed. */
  #isOurs({ nonce }: { readonly nonce: string }): boolean {
    return this.#read()?.holder?.nonce === nonce;
  }

  /** Whether somebody has asked for the lock while it was held. Whoever still waits asks again. */
  #othersWait(): boolean {
    const now = Date.now();
    if (now - this.#askedAt < fairMs && now >= this.#askedAt) return false;
    this.#askedAt = now;
    return this.#disk.unlink(this.#waitPath);
  }

  #letGoWhenIdle(now = Date.now()): void {
    if (this.#uses > 0 || this.#held === undefined) return;
    this.#usedAt = now;
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
    const file = this.#disk.open(this.path, "create");
    if (file === undefined) return false;
    try {
      const nonce = crypto.randomUUID();
      const holder: Holder = { ...ownIdentity(), nonce, since: Date.now() };
      const bytes = encodeUtf8(JSON.stringify(holder));
      for (let written = 0; written < bytes.length; ) written += file.append(bytes.subarray(written));
      this.#held = { nonce };
    } catch (error) {
      this.#disk.unlink(this.path);
      throw error;
    } finally {
      file.close();
    }
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
      const found = this.#read();
      if (found !== undefined && this.#isDead(found)) this.#removeStale(found);
      if (this.#isHeld() || this.#take()) {
        this.#disk.unlink(this.#waitPath);
        return;
      }
      if (Date.now() >= deadline) {
        if (asked) this.#disk.unlink(this.#waitPath);
        throw this.#lockedError(found?.holder);
      }
      this.#disk.open(this.#waitPath, "create")?.close();
      asked = true;
      await new Promise((resolve) => setTimeout(resolve, 2 + Math.random() * 8));
    }
  }

  #read():
    | { readonly holder: Holder | undefined; readonly text: string; readonly mtimeMs: number }
    | undefined {
    const file = this.#disk.open(this.path, "read");
    if (file === undefined) return undefined;
    try {
      const { size, mtimeMs } = file.stat();
      const bytes = new Uint8Array(Math.min(size, 4096));
      const text = new TextDecoder().decode(bytes.subarray(0, file.readNow(bytes, 0)));
      return { holder: holderOf(text), text, mtimeMs };
    } finally {
      file.close();
    }
  }

  #isDead({ holder, mtimeMs }: { readonly holder: Holder | undefined; readonly mtimeMs: number }): boolean {
    const own = ownIdentity();
    if (holder === undefined) return this.#age(mtimeMs) > unreadableMs;
    if (holder.host !== own.host) return this.#age(mtimeMs) > this.#times.foreignMs;
    if (holder.bootId !== "" && own.bootId !== "" && holder.bootId !== own.bootId) return true;
    return !isAlive(holder);
  }

  /** Age of a file by the clock of its own file system, which may be another machine's. */
  #age(mtimeMs: number): number {
    const probe = `${this.path}.${crypto.randomUUID()}`;
    const file = this.#disk.open(probe, "create");
    if (file === undefined) return 0;
    try {
      return file.stat().mtimeMs - mtimeMs;
    } finally {
      file.close();
      this.#disk.unlink(probe);
    }
  }

  /** Moves a dead holder's file away. If it was replaced in the meantime, the one that was moved goes back. */
  #removeStale(stale: { readonly text: string }): void {
    const aside = `${this.path}.stale-${crypto.randomUUID()}`;
    try {
      this.#disk.rename(this.path, aside);
    } catch {
      return;
    }
    const moved = this.#disk.open(aside, "read");
    const bytes = new Uint8Array(4096);
    const text =
      moved === undefined ? "" : new TextDecoder().decode(bytes.subarray(0, moved.readNow(bytes, 0)));
    moved?.close();
    if (text !== stale.text) this.#putBack(aside);
    this.#disk.unlink(aside);
  }

  #putBack(aside: string): void {
    try {
      this.#disk.link(aside, this.path);
    } catch {
      // No links here: the next best, which a third taker in this moment would not notice.
      if (this.#disk.stat(this.path) === undefined) this.#disk.rename(aside, this.path);
    }
  }

  #lockedError(holder: Holder | undefined): SessileError {
    const { pid = 0, host = "unknown", since } = holder ?? {};
    const heldMs = since === undefined ? 0 : Math.max(0, Date.now() - since);
    const message = `process ${pid} on ${host} has held ${this.path} for ${heldMs} ms`;
    return new SessileError("SESSION_LOCKED", message, { details: { pid, host, path: this.path, heldMs } });
  }
}

/** The holder that a lock file names; undefined where it says something else. */
export function holderOf(text: string): Holder | undefined {
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
