/** The options that all adapters share. */

import type { BlobStore } from "../../blobs/index.js";
import { describe, integerOption } from "../../core/arguments.js";
import { nameArgument } from "../../core/ids.js";
import type { SessionStore } from "../../session/index.js";

/** The stores of an adapter, and its bounds. */
export interface AdapterOptions {
  readonly sessions: SessionStore;
  /** The store for large values. @default none: all values stay in the log */
  readonly blobs?: BlobStore;
  /** The partition of the sessions. @default the name of the adapter */
  readonly partition?: string;
  /** Characters from which on a string goes to `blobs`. Minimum: 1. @default 4096 */
  readonly outOfLine?: number;
  /** Maximum number of open sessions. Minimum: 1. @default 64 */
  readonly maxOpen?: number;
}

/** The options with their defaults. */
export interface AdapterSettings {
  readonly sessions: SessionStore;
  readonly blobs: BlobStore | undefined;
  readonly partition: string;
  readonly outOfLine: number;
  readonly maxOpen: number;
}

/**
 * Checks the options of an adapter.
 * @throws TypeError, RangeError for invalid options
 */
export function adapterSettings(adapter: string, options: AdapterOptions): AdapterSettings {
  const { sessions, blobs, partition = adapter, outOfLine, maxOpen } = options ?? {};
  if (typeof sessions?.open !== "function")
    throw new TypeError(`sessions: expected a session store, got ${describe(sessions)}`);
  if (blobs !== undefined && typeof blobs?.put !== "function")
    throw new TypeError(`blobs: expected a blob store, got ${describe(blobs)}`);
  return {
    sessions,
    blobs,
    partition: nameArgument("partition", partition),
    outOfLine: integerOption("outOfLine", outOfLine, 4096, 1),
    maxOpen: integerOption("maxOpen", maxOpen, 64, 1),
  };
}
