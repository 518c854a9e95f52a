/** Compares a file ledger with the files as they are now. */

import { integerOption } from "../../core/arguments.js";
import { untilAborted } from "../../core/concurrency.js";
import type { FileLedger, FileRecord } from "./details.js";

/** Concurrent probes of {@link staleFiles}. */
const defaultConcurrency = 8;

/** A file that changed since the conversation last saw it. */
export interface StaleFile {
  readonly record: FileRecord;
  /**
   * `changed`: the content differs. `missing`: the file does not exist although it was not deleted or moved
   * away. `back`: it exists although it was. `unknown`: the probe threw.
   */
  readonly reason: "changed" | "missing" | "back" | "unknown";
  /** The error of the probe, with `unknown`. */
  readonly cause?: unknown;
}

/** The options of {@link staleFiles}. */
export interface StaleFilesOptions {
  /** If it aborts, its reason is thrown at once. */
  readonly signal?: AbortSignal | undefined;
  /** Concurrent probes; at least 1. Default 8. */
  readonly concurrency?: number | undefined;
}

/**
 * Finds the files that changed since the conversation last saw them, so that a harness can ask the model to
 * read them again. `probe` receives a record's path and returns the SHA-256 of its content now, 64 hex
 * digits. It returns undefined if the path does not exist, and "" for a path without a hash, such as a
 * directory. Unconfirmed files are skipped. The result is in the order of the ledger.
 *
 * @example
 * ```ts
 * const files = [{ path: "a.ts", operations: ["read"], step: 1 }] as const;
 * const stale = await staleFiles({ files }, () => undefined);
 * stale[0]?.reason; // "missing"
 * ```
 * @throws RangeError if `concurrency` is not an integer from 1 on
 * @throws the signal's reason if it aborts
 */
export async function staleFiles(
  ledger: FileLedger,
  probe: (path: string) => Promise<string | undefined> | string | undefined,
  options: StaleFilesOptions = {},
): Promise<readonly StaleFile[]> {
  const concurrency = integerOption("concurrency", options.concurrency, defaultConcurrency, 1);
  const { signal } = options;
  const asked = ledger.files.filter(({ unconfirmed }) => unconfirmed !== true);
  const found: (StaleFile | undefined)[] = new Array(asked.length);
  let next = 0;
  const work = async () => {
    while (next < asked.length && signal?.aborted !== true) {
      const at = next++;
      found[at] = await check(asked[at] as FileRecord, probe);
    }
  };
  const all = Promise.all(Array.from({ length: Math.min(concurrency, asked.length) }, work));
  await (signal === undefined ? all : untilAborted(all, signal));
  return found.filter((each) => each !== undefined);
}

async function check(
  record: FileRecord,
  probe: (path: string) => Promise<string | undefined> | string | undefined,
): Promise<StaleFile | undefined> {
  let now: string | undefined;
  try {
    now = await probe(record.path);
  } catch (cause) {
    return { record, reason: "unknown", cause };
  }
  if (record.gone) return now === undefined ? undefined : { record, reason: "back" };
  if (now === undefined) return { record, reason: "missing" };
  const { contentSha256 } = record;
  if (contentSha256 === undefined || now === "" || now.toLowerCase() === contentSha256) return undefined;
  return { record, reason: "changed" };
}
