import { isRecord } from "../../internal/shape.js";
import type { CarriedStep } from "./book.js";
import { sha256Of } from "./calls.js";
import type { Paths } from "./paths.js";
import { type FileDeed, type FileLedger, type FileRecord, fileDeeds } from "./records.js";

/** A ledger in the `details` of a compaction or branch summary: the two lists that pi writes and reads there, and the records beside them. */
export interface FileLedgerDetails {
  /** Paths of files that were only read, sorted. */
  readonly readFiles: readonly string[];
  /** Paths of files that were created, modified, deleted or moved, sorted. */
  readonly modifiedFiles: readonly string[];
  /** Every file. */
  readonly files: readonly FileRecord[];
}

/**
 * What to store of a ledger, so that {@link fileLedger} finds it in the summary. pi 0.73.1 reads its own two lists in it,
 * and where it writes a summary later they are all that is left.
 */
export function ledgerDetails(ledger: FileLedger): FileLedgerDetails {
  const { files } = ledger;
  return {
    readFiles: files.filter(isOnlyRead).map(({ path }) => path),
    modifiedFiles: files.filter((file) => !isOnlyRead(file)).map(({ path }) => path),
    files,
  };
}

/** Whether nothing but reading was done to a file. */
export function isOnlyRead({ operations }: FileRecord): boolean {
  return operations.every((deed) => deed === "read");
}

/** What `details` of any shape tell of files: our records, and of pi's lists what the records do not have. Never throws. */
export function carriedStep(details: unknown, paths: Paths): CarriedStep {
  if (!isRecord(details)) return { records: [], listed: [] };
  const records = list(details.files).flatMap((value) => {
    const record = recordOf(value, paths);
    const place = record && paths.place(record.path);
    return record && place ? [{ place, record }] : [];
  });
  const known = new Set<string>();
  const changed = new Set<string>();
  for (const { place, record } of records) {
    known.add(place.full);
    if (!isOnlyRead(record)) changed.add(place.full);
  }
  const named = (value: unknown, deed: FileDeed, except: Set<string>) =>
    list(value).flatMap((path) => {
      const place = typeof path === "string" ? paths.place(path) : undefined;
      return place === undefined || except.has(place.full) ? [] : [{ place, deed }];
    });
  return {
    records,
    listed: [
      ...named(details.readFiles, "read", known),
      ...named(details.modifiedFiles, "modified", changed),
    ],
  };
}

function recordOf(value: unknown, paths: Paths): FileRecord | undefined {
  if (!isRecord(value)) return undefined;
  const key = (path: unknown) => (typeof path === "string" ? paths.place(path)?.key : undefined);
  const operations = list(value.operations).filter((each) =>
    fileDeeds.includes(each as FileDeed),
  ) as FileDeed[];
  const path = key(value.path);
  if (path === undefined || operations.length === 0) return undefined;
  const gone = value.gone === true;
  const unconfirmed = value.unconfirmed === true;
  const contentSha256 = gone || unconfirmed ? undefined : sha256Of(value.contentSha256);
  const movedTo = gone ? key(value.movedTo) : undefined;
  const movedFrom = gone ? undefined : key(value.movedFrom);
  const step = Number.isSafeInteger(value.step) ? Math.max(0, value.step as number) : 0;
  return {
    path,
    operations,
    ...(contentSha256 !== undefined && { contentSha256 }),
    ...(gone && { gone }),
    ...(movedTo !== undefined && { movedTo }),
    ...(movedFrom !== undefined && { movedFrom }),
    ...(unconfirmed && { unconfirmed }),
    step,
  };
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
