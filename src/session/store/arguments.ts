/** Arguments of a store: partitions, sessions and directories. */

import { describe, stringArgument } from "../../core/arguments.js";
import { SessileError } from "../../core/errors/index.js";
import { nameArgument } from "../../core/ids.js";
import { extensionVersion, formatVersion, type SessionHeader } from "../../log/internal.js";
import type { SessionRef } from "../api/store.js";
import type { RecordingOptions } from "../runtime/recording.js";

/** The arguments of a creation, checked. */
export interface CreateOptions extends RecordingOptions {
  readonly cwd: string;
  /** ISO 8601. @default now */
  readonly timestamp?: string;
  readonly id?: string | undefined;
  readonly partition?: string | undefined;
  readonly parentSession?: string | undefined;
}

/** Options of `open`. */
export type OpenOptions = {
  readonly mode?: "read" | "write";
  readonly partition?: string;
} & RecordingOptions;

/** A value whose members may be assigned. */
export type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A partition; the unnamed one for undefined and an empty string. */
export function readPartition(partition: string | undefined, name = "partition"): string {
  return partition === undefined || partition === "" ? "" : nameArgument(name, partition);
}

/** The id and the location of a session. */
export function refArgument(session: SessionRef): {
  readonly id: string;
  readonly location: string | undefined;
} {
  if (typeof session !== "object" || session === null)
    return { id: stringArgument("id", session), location: undefined };
  const { id, location } = session;
  if (location !== undefined) stringArgument("location", location);
  return { id: stringArgument("id", id), location };
}

/**
 * A lone surrogate would become another character in the header and in the directory's name.
 *
 * @throws SessileError INVALID_ENTRY for a NUL, which no path has
 */
export function cwdArgument(cwd: unknown): string {
  const text = stringArgument("cwd", cwd);
  if (text.includes("\0")) {
    const expected = "a path without NUL";
    const message = `cwd: expected ${expected}, got ${SessileError.printable(text)}`;
    throw new SessileError("INVALID_ENTRY", message, { details: { path: "cwd", expected } });
  }
  if (text.isWellFormed()) return text;
  throw new TypeError(`cwd: expected text without lone surrogates, got ${describe(text)}`);
}

/** The header of a new session. */
export function newHeader(
  id: string,
  { timestamp, cwd, parentSession }: CreateOptions & { readonly timestamp: string },
): SessionHeader {
  const parent = parentSession === undefined ? {} : { parentSession };
  return {
    type: "session",
    version: formatVersion,
    id,
    timestamp,
    cwd,
    ...parent,
    sessile: extensionVersion,
  };
}

/** The error of a session that does not exist. */
export function notFoundError(id: string, location: string | undefined): SessileError {
  const where = location === undefined ? "" : ` at ${location}`;
  const hint = /[/\\]/.test(id) ? ": openSessionFile opens a path" : "";
  return new SessileError("SESSION_NOT_FOUND", `there is no session ${id}${where}${hint}`, {
    details: { id },
  });
}

/** The key of open sessions. */
export function partitionKey(partition: string, id: string): string {
  return `${partition}/${id}`;
}
