/**
 * A log beside a session's, for what is not history: a `SessionLog` of the same backend, under an id with a tilde,
 * with JSON lines. It exists while it has something to say. The line `closed` ends it: no append follows it, so
 * that deleting it removes nothing of another writer.
 */

import { encodeUtf8 } from "../../core/bytes.js";
import { sleep } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import { type SideKind, sideLogId } from "../../core/ids.js";
import { parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import type { LogPosition, SessionBackend, SessionLog } from "../api/backend.js";
import { logBatchLines } from "./log-lines.js";

/** The session that a log is beside. */
export interface SideOf {
  readonly backend: SessionBackend;
  readonly partition: string;
  readonly mode: "read" | "write";
  readonly header: { readonly id: string; readonly timestamp: string; readonly cwd: string };
  /** The location of the session's log. */
  readonly location: string | undefined;
}

/** Lines of a side log since the last read. */
export interface SideLines {
  /** Whether the log is another one than at the last read, or the first one: what was known is void. */
  readonly isNew: boolean;
  readonly values: readonly unknown[];
}

/** The location of a log beside that of a session. */
function sideLocation(location: string | undefined, kind: SideKind): string | undefined {
  return location === undefined ? undefined : `${location}.${kind}`;
}

/** Deletes the logs beside a session, which is deleted itself. */
export async function deleteSideLogs(
  backend: SessionBackend,
  id: string,
  options: { readonly partition: string; readonly location?: string | undefined },
  kinds: readonly SideKind[],
): Promise<void> {
  const { partition, location } = options;
  for (const kind of kinds)
    await backend.delete(sideLogId(id, kind), { partition, location: sideLocation(location, kind) });
}

const closedLine = { closed: true };

/** A handle on a side log. Calls must not overlap. */
export class SideLog {
  readonly #of: SideOf;
  readonly #kind: SideKind;
  readonly #id: string;
  #log: SessionLog | undefined;
  #position: LogPosition | undefined;
  /** Whether the next lines are the first ones that are read of this log. */
  #isNew = true;

  constructor(of: SideOf, kind: SideKind) {
    this.#of = of;
    this.#kind = kind;
    this.#id = sideLogId(of.header.id, kind);
  }

  /** The location for people. */
  get path(): string {
    return sideLocation(this.#of.location, this.#kind) ?? this.#id;
  }

  /** Whether the last read found a log, or an append made it. */
  get isOpen(): boolean {
    return this.#log !== undefined;
  }

  /** Reads on. Returns undefined if there is no log, or one that was closed. */
  async read(): Promise<SideLines | undefined> {
    // A log may be deleted, and another one made, between any two steps.
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#read();
      } catch (error) {
        await this.close();
        if (!SessileError.is(error, "SESSION_NOT_FOUND") || attempt === maxAttempts) throw error;
      }
    }
  }

  async #read(): Promise<SideLines | undefined> {
    const { backend, partition, mode, location, header } = this.#of;
    if (this.#log === undefined) {
      const place = { partition, mode, location: sideLocation(location, this.#kind) };
      this.#log = await backend.open(this.#id, place);
      if (this.#log === undefined) return undefined;
    }
    const log = this.#log;
    let values: unknown[] = [];
    let isNew = this.#isNew;
    for await (const batch of log.read(this.#position)) {
      if (batch.restarted) {
        values = [];
        isNew = true;
      }
      // A torn line, which a crash left, has no value.
      for (const line of logBatchLines(batch)) values.push(parseJson(new TextDecoder().decode(line)));
      this.#position = batch.next;
    }
    if (isNew) {
      // The log of a session that had the id before, or of which nothing but a torn line was written.
      const first = values.find((value) => value !== undefined);
      if (!isHeaderOf(first, header)) return this.#leave();
    }
    if (values.some((value) => isRecord(value) && value.closed === true)) return this.#leave();
    this.#isNew = false;
    return { isNew, values };
  }

  /** Resolves when the log may have more lines, after `pollMs` at the latest, or when the signal aborts. */
  async changed(signal: AbortSignal, pollMs: number): Promise<void> {
    const position = this.#position;
    if (this.#log?.changed !== undefined) await this.#log.changed(signal, { position, pollMs });
    else await sleep(pollMs, signal).catch(() => undefined);
  }

  /** Appends values if no other handle has appended since the last read, or made the log; makes it if there is none. */
  async append(values: readonly unknown[]): Promise<boolean> {
    try {
      if (this.#log === undefined) await this.#create(values);
      else await this.#write(this.#log, values, this.#position as LogPosition);
      return true;
    } catch (error) {
      if (!isRefused(error)) await this.close();
      if (!(error instanceof SessileError) || !isRefused(error)) throw error;
      if (error.code !== "CONCURRENT_WRITER") await this.close();
      return false;
    }
  }

  /** Ends the log with these values, and deletes it, if no other handle has appended since the last read. */
  async remove(values: readonly unknown[] = []): Promise<boolean> {
    if (this.#log === undefined) return true;
    if (!(await this.append([...values, closedLine]))) return false;
    await this.#delete();
    return true;
  }

  async close(): Promise<void> {
    const log = this.#log;
    this.#log = undefined;
    this.#position = undefined;
    this.#isNew = true;
    await log?.close();
  }

  async #create(values: readonly unknown[]): Promise<void> {
    const { backend, partition, header, location } = this.#of;
    const { id, cwd, timestamp } = header;
    const place = { id: this.#id, partition, cwd, timestamp, location: sideLocation(location, this.#kind) };
    const { log, position } = await backend.create(place);
    if (log.delete === undefined) {
      await log.close();
      throw new TypeError("turn: this backend cannot delete a log, see SessionLog.delete");
    }
    this.#log = log;
    const first = { type: `sessile.${this.#kind}`, version: 1, session: id, created: timestamp };
    await this.#write(log, [first, ...values], position);
    this.#isNew = false;
  }

  async #write(log: SessionLog, values: readonly unknown[], expected: LogPosition): Promise<void> {
    const lines = values.map((value) => encodeUtf8(`${JSON.stringify(value)}\n`));
    this.#position = (await log.append(lines, expected)).position;
  }

  /** Deletes a log that is ended, or no use. */
  async #leave(): Promise<undefined> {
    if (this.#of.mode === "write") await this.#delete();
    else await this.close();
    return undefined;
  }

  async #delete(): Promise<void> {
    const log = this.#log;
    const position = this.#position;
    try {
      await log?.delete?.(position);
    } catch (error) {
      // Whoever made a log in its place, or deleted it first.
      if (!(error instanceof SessileError) || !isRefused(error)) throw error;
    } finally {
      await this.close();
    }
  }
}

/** How often a log is opened again that was deleted meanwhile. */
const maxAttempts = 16;

function isRefused(error: unknown): boolean {
  return (
    SessileError.is(error, "CONCURRENT_WRITER") ||
    SessileError.is(error, "SESSION_EXISTS") ||
    SessileError.is(error, "SESSION_NOT_FOUND")
  );
}

function isHeaderOf(value: unknown, { id, timestamp }: SideOf["header"]): boolean {
  return isRecord(value) && value.session === id && value.created === timestamp;
}
