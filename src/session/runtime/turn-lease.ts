/**
 * The lease of a turn: lines of the side log `claim`. Taking it is a comparison and an append there. A lease that is
 * taken over is first named in the session's own log, so that the append of its holder, which compares that log,
 * finds it lost: however long that process was stopped.
 */

import { integerOption } from "../../core/arguments.js";
import { maxTimerMs, unreferenced } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import { uuidv7 } from "../../core/ids.js";
import { isRecord } from "../../core/shape.js";
import { ownEntry } from "../../log/internal.js";
import type { ProcessRecord } from "../api/backend.js";
import type { ClaimOptions, TurnClaim, TurnOwner } from "../api/turn.js";
import type { SessionState } from "./session-state.js";
import { SideLog, type SideOf } from "./side-log.js";

/** The entry that ends a claim whose holder is gone. The holder, if it comes back, cannot append after it. */
export const turnTaken = ownEntry<{ readonly claimId: string }>("sessile.turn_taken", (data) => {
  if (!isRecord(data) || typeof data.claimId !== "string")
    throw new TypeError("turn taken: expected a claimId");
  return { claimId: data.claimId };
});

/** A claim as its log has it. */
export interface StoredClaim extends TurnOwner {
  readonly ttlMs: number;
  /** How the backend knows its process. */
  readonly by: ProcessRecord;
  /** Milliseconds since 1970, by the holder's clock. */
  readonly renewedAt: number;
}

/** What a lease needs of its session. */
export interface TurnHost {
  readonly state: SessionState;
  readonly of: SideOf;
  /** Reads other writers' entries, and moves the leaf to the newest if it follows this handle's. */
  catchUp(): Promise<void>;
  /** Ends a claim in the session's log, if that is still the last one and not live. Returns whether it was. */
  fence(claimId: string, isStillGone: () => Promise<boolean>): Promise<boolean>;
}

/** Reads who has the turn. */
export class ClaimReader {
  readonly log: SideLog;
  readonly #of: SideOf;
  readonly #now: () => number;
  #claim: StoredClaim | undefined;
  /** From before the last read: a process that is stopped after it must not take the claim for an old one. */
  #readAt = 0;

  constructor(of: SideOf, now: () => number) {
    this.log = new SideLog(of, "claim");
    this.#of = of;
    this.#now = now;
  }

  /** The last claim that was not released. */
  async read(): Promise<StoredClaim | undefined> {
    this.#readAt = this.#now();
    const lines = await this.log.read();
    if (lines === undefined || lines.isNew) this.#claim = undefined;
    for (const value of lines?.values ?? []) this.#claim = nextClaim(this.#claim, value);
    return this.#claim;
  }

  /** Whether the holder of a claim may still be at work. */
  isLive(claim: StoredClaim): boolean {
    const isGone = this.#of.backend.processes?.isGone(claim.by);
    // A clock that was put back must not keep a lease for ever.
    return isGone === undefined ? Math.abs(this.#readAt - claim.renewedAt) <= claim.ttlMs : !isGone;
  }
}

function nextClaim(claim: StoredClaim | undefined, value: unknown): StoredClaim | undefined {
  if (!isRecord(value)) return claim;
  const { at } = value;
  if (typeof value.claim === "string" && typeof at === "number") {
    const by: ProcessRecord = isRecord(value.by) ? value.by : {};
    const { host, pid } = by;
    return {
      claimId: value.claim,
      ...(typeof host === "string" ? { host } : {}),
      ...(typeof pid === "number" ? { pid } : {}),
      since: new Date(at).toISOString(),
      ttlMs: typeof value.ttlMs === "number" ? value.ttlMs : defaultTtlMs,
      by,
      renewedAt: at,
    };
  }
  if (claim === undefined) return undefined;
  if (value.released === claim.claimId) return undefined;
  return value.renewed === claim.claimId && typeof at === "number" ? { ...claim, renewedAt: at } : claim;
}

/** What others are told of a claim. */
export function claimOwner({ claimId, host, pid, since }: StoredClaim): TurnOwner {
  return {
    claimId,
    ...(host === undefined ? {} : { host }),
    ...(pid === undefined ? {} : { pid }),
    since,
  };
}

const defaultTtlMs = 30_000;
/** A lease is renewed this number of times before it would end. */
const renewals = 3;
/** Claims that came first and were released again, before this one gives up. */
const maxAttempts = 64;

/**
 * Takes the lease of a session's turn.
 * @throws SessileError TURN_BUSY
 */
export async function claimTurn(host: TurnHost, options: ClaimOptions, lost: () => void): Promise<Lease> {
  const ttlMs = integerOption("ttlMs", options.ttlMs, defaultTtlMs, 100, maxTimerMs);
  const { state, of } = host;
  const reader = new ClaimReader(of, state.settings.now);
  const fenced = new Set<string>();
  try {
    for (let attempt = 0; ; attempt++) {
      const holder = await reader.read();
      if (attempt === maxAttempts) throw contendedError(state);
      if (holder !== undefined && !fenced.has(holder.claimId)) {
        if (reader.isLive(holder)) throw busyError(state, holder);
        const isStillGone = async () => {
          const now = await reader.read();
          return now?.claimId === holder.claimId && !reader.isLive(now);
        };
        if (!(await host.fence(holder.claimId, isStillGone))) continue;
        fenced.add(holder.claimId);
      }
      const now = state.settings.now();
      const id = uuidv7(now);
      const by = of.backend.processes?.own() ?? {};
      if (!(await reader.log.append([{ claim: id, at: now, ttlMs, by }]))) continue;
      const lease = new Lease(state, reader, { id, ttlMs, lost });
      // What the last holder appended before it released the turn, or lost it.
      await host.catchUp().catch(async (error: unknown) => {
        await lease.release();
        throw error;
      });
      return lease;
    }
  } catch (error) {
    await reader.log.close();
    throw error;
  }
}

function contendedError(state: SessionState): SessileError<"STORAGE_FAILED"> {
  const path = state.log.location ?? state.header.id;
  const message = `claim the turn of ${path}: its record changed at each attempt`;
  return new SessileError("STORAGE_FAILED", message, {
    details: { operation: "claim the turn of", path, errno: "EBUSY" },
  });
}

function busyError(state: SessionState, holder: StoredClaim): SessileError<"TURN_BUSY"> {
  const { id } = state.header;
  const { host, pid, since } = holder;
  const who =
    pid === undefined ? "another handle" : `process ${pid}${host === undefined ? "" : ` on ${host}`}`;
  const message = `session ${id} has a turn at work, by ${who}, since ${since}`;
  return new SessileError("TURN_BUSY", message, { details: { id, ...claimOwner(holder) } });
}

// As a method, `[Symbol.asyncDispose]` would be in a declaration that ES2022 libraries do not compile.
export interface Lease extends TurnClaim {}

/** A lease that this handle has. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor defines the member
export class Lease implements TurnClaim {
  readonly id: string;
  readonly #state: SessionState;
  readonly #reader: ClaimReader;
  readonly #abort = new AbortController();
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #unheard: () => void;
  readonly #ended: () => void;
  /** The call on the claim's log that runs: calls must not overlap. */
  #working: Promise<void> = Promise.resolve();
  #isReleased = false;

  constructor(
    state: SessionState,
    reader: ClaimReader,
    { id, ttlMs, lost }: { readonly id: string; readonly ttlMs: number; readonly lost: () => void },
  ) {
    this.id = id;
    this.#state = state;
    this.#reader = reader;
    this.#ended = lost;
    Object.defineProperty(this, Symbol.asyncDispose, { value: () => this.release() });
    this.#timer = setInterval(() => void this.#renewLater(), Math.floor(ttlMs / renewals));
    // A lease does not keep a process alive. Browsers have numbers for timers.
    unreferenced(this.#timer);
    this.#unheard = state.events.on("entry", ({ entry, origin }) => {
      if (origin === "remote" && turnTaken.read(entry)?.claimId === id) this.#lose();
    });
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether the turn is this handle's, as far as it knows. */
  get isHeld(): boolean {
    return !this.#isReleased && !this.signal.aborted;
  }

  async release(): Promise<void> {
    if (this.#isReleased) return this.#working;
    this.#isReleased = true;
    this.#stop();
    this.#ended();
    this.#state.allowAppends();
    this.#working = this.#working.then(() => this.#remove());
    await this.#working;
  }

  /** Stops the work of a turn whose session was closed. */
  close(): void {
    this.#abort.abort(this.#state.closedError());
  }

  async #remove(): Promise<void> {
    const { log } = this.#reader;
    try {
      // A lost lease has read on: its next line would end the claim of the one that took it over.
      if (this.signal.aborted) return;
      // A renewal that failed has closed the log.
      if (!log.isOpen && (await this.#reader.read())?.claimId !== this.id) return;
      // Another claim may have come, whose log this is now.
      while (!(await log.remove([{ released: this.id }])))
        if ((await this.#reader.read())?.claimId !== this.id) break;
    } catch (error) {
      // The lease ends by itself: with the process, or after its time.
      this.#state.events.emit("error", { error, operation: "release" });
    } finally {
      await log.close();
    }
  }

  #renewLater(): Promise<void> {
    this.#working = this.#working.then(() => this.#renew());
    return this.#working;
  }

  async #renew(): Promise<void> {
    if (!this.isHeld) return;
    const { log } = this.#reader;
    try {
      const at = this.#state.settings.now();
      // After a write whose outcome is unknown the log is closed.
      while (!log.isOpen || !(await log.append([{ renewed: this.id, at }])))
        if ((await this.#reader.read())?.claimId !== this.id) return this.#lose();
    } catch (error) {
      this.#state.events.emit("error", { error, operation: "renew" });
    }
  }

  #lose(): void {
    if (!this.isHeld) return;
    const { id } = this.#state.header;
    const message = `another process took over the turn of session ${id}`;
    const error = new SessileError("TURN_LOST", message, { details: { id, claimId: this.id } });
    this.#state.refuseAppends(error);
    this.#stop();
    this.#abort.abort(error);
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#unheard();
  }
}
