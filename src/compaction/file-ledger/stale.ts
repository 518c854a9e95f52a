import { integerOption } from "../../internal/arguments.js";
import { untilAborted } from "../abort.js";
import type { FileLedger, FileRecord } from "./details.js";

/** Probes of {@link staleFiles} that run at a time. */
const defaultConcurrency = 8;

/** A file that is no longer as the conversation last saw it. */
export interface StaleFile {
  readonly record: FileRecord;
  /**
   * `changed`: its content is another one. `missing`: it is not there, though it was not deleted or moved away. `back`: it
   * is there, though it was. `unknown`: the probe threw.
   */
  readonly reason: "changed" | "missing" | "back" | "unknown";
  /** What the probe threw, with `unknown`. */
  readonly cause?: unknown;
}

/** How files are asked for. */
export interface StaleFilesOptions {
  /** Its reason is thrown at once when it aborts. */
  readonly signal?: AbortSignal;
  /** How many probes run at a time; at least 1, by default 8. */
  readonly concurrency?: number;
}

/**
 * Which files changed since the conversation last saw them, so that after a compaction a model is told to read them again.
 * `probe` is given a record's path and gives the SHA-256 of the content there now, 64 hex digits; undefined where nothing
 * is there; an empty string for what is there and has no hash, such as a directory. Unconfirmed files are not asked for,
 * since nothing is known of them. The result is in the order of the ledger.
 *
 * @example
 * ```ts
 * const stale = await staleFiles({ files: [{ path: "a.ts", operations: ["read"], step: 1 }] }, () => undefined);
 * stale[0]?.reason; // "missing"
 * ```
 * @throws RangeError for a `concurrency` that is no integer of at least 1.
 * @throws the signal's reason when it aborts.
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
