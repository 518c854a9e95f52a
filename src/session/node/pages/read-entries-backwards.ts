import { resolve } from "node:path";
import { SessileError } from "../../../errors/index.js";
import { describe, integerOption, stringArgument } from "../../../internal/arguments.js";
import type { FileSystem } from "../../../internal/node/file-system.js";
import { nodeFileSystem } from "../../../internal/node/node-file-system.js";
import type { LogPosition } from "../../api/backend.js";
import type { Diagnostic } from "../../api/diagnostics.js";
import type { SessionEntry, UnknownEntry } from "../../api/entries.js";
import { defaultLimits } from "../../format/line-splitter.js";
import { withRegularFile } from "../file-descriptors.js";
import { offsetOf, parsePosition, printPosition, readFingerprint } from "../log-position.js";
import { type FirstHeader, lineNotes, type PageLine, pageLines, readFirstHeader } from "./page-lines.js";

/** Options of {@link readEntriesBackwards}. */
export interface EntriesBackwardsOptions {
  /** The `before` of the page that follows the wanted one. Default: none, which gives the newest page. */
  readonly before?: string;
  /** At most this many entries. Minimum 1, default 100. */
  readonly limit?: number;
  /**
   * Where a page's lines come to so many bytes it ends, with fewer entries than `limit`; with none where all of these
   * lines are damaged. Minimum 1, default 4 MiB.
   */
  readonly maxBytes?: number;
  /** Bytes of one line; longer ones are not read. Minimum 1024, default 64 MiB. */
  readonly maxLineBytes?: number;
  /** Ends the reading with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** A run of a session file's entries, as {@link readEntriesBackwards} gives it. */
export interface EntriesPage {
  /** In the order of the file, so that the newest is the last. */
  readonly entries: readonly (SessionEntry | UnknownEntry)[];
  /** What is wrong with single lines of this page, in their order; offsets are in bytes. */
  readonly diagnostics: readonly Omit<Diagnostic, "line">[];
  /**
   * Gives the page before this one. Absent where there is none. Plain text that can be kept, and sent through a network:
   * it names the file by device and inode, an offset, and a checksum of what stands before that.
   */
  readonly before?: string;
}

/**
 * Reads a session file from its end, a page at a time, so that the newest entries of a large session can be shown at
 * once and older ones when somebody scrolls. No more than the page is read, and the header.
 *
 * The pages, put one before the other, have the entries that `parseSession` gives, in the same order; and besides, since
 * no page knows those before it, each line whose id an earlier one has. What follows from the whole file alone (orphans,
 * circles, the leaf, labels) is not in a page. Pages stay right while others append: what is new is after all of them.
 * A version 1 file, whose ids are the numbers of its lines, is read from its start for each page.
 *
 * `session.location` and `SessionSummary.location` are the paths of a store's sessions.
 *
 * @throws SessileError LOG_CHANGED where the file was truncated below `before`, or another one has its place: begin anew
 * @throws SessileError SESSION_NOT_FOUND, EMPTY, NO_HEADER, NOT_A_FILE, STORAGE_FAILED
 * @throws TypeError, RangeError for arguments that are none
 * @example
 * ```ts
 * const newest = await readEntriesBackwards("session.jsonl", { limit: 50 });
 * const { before } = newest;
 * if (before !== undefined) {
 *   const older = await readEntriesBackwards("session.jsonl", { limit: 50, before });
 *   console.log([...older.entries, ...newest.entries].length);
 * }
 * ```
 */
export function readEntriesBackwards(
  path: string,
  options: EntriesBackwardsOptions = {},
): Promise<EntriesPage> {
  return readEntriesBackwardsOn(nodeFileSystem, path, options);
}

/** {@link readEntriesBackwards} on any disk. */
export async function readEntriesBackwardsOn(
  fs: FileSystem,
  path: string,
  options: EntriesBackwardsOptions = {},
): Promise<EntriesPage> {
  const absolute = resolve(stringArgument("path", path));
  const cursor = options.before === undefined ? undefined : cursorArgument(options.before);
  const bounds = {
    limit: integerOption("limit", options.limit, 100, 1),
    maxBytes: integerOption("maxBytes", options.maxBytes, 4 * 1024 * 1024, 1),
  };
  const maxLineBytes = integerOption("maxLineBytes", options.maxLineBytes, defaultLimits.maxLineBytes, 1024);
  const reading = { maxLineBytes, ...(options.signal === undefined ? {} : { signal: options.signal }) };
  return withRegularFile(fs, absolute, "read", async (file, stat) => {
    const header = await readFirstHeader(file, stat, absolute, reading);
    const end = cursor === undefined ? stat.size : offsetOf(file, stat, cursor);
    // A header that stands first, as nearly all do, is in no page: the last one begins behind it.
    const start = header.at === 0 ? Math.min(header.length + 1, stat.size) : 0;
    const lines =
      end === undefined ? undefined : await pageLines(file, stat, { start, end }, header, bounds, reading);
    if (lines === undefined) {
      const message = `${absolute} is not the file, or not as long, as it was when the page before was read`;
      throw new SessileError("LOG_CHANGED", message, { details: { id: absolute } });
    }
    const from = lines[0]?.at ?? start;
    const page = pageOf(lines, header, stat.size);
    if (from > start) {
      const { dev, ino } = stat;
      return {
        ...page,
        before: printPosition({ dev, ino, size: from, fingerprint: await readFingerprint(file, from) }),
      };
    }
    if (header.at > 0) return page;
    return { ...page, diagnostics: [...told({ notes: header.notes }, header.at), ...page.diagnostics] };
  });
}

function pageOf(lines: readonly PageLine[], header: FirstHeader, size: number): EntriesPage {
  const entries = lines.flatMap(({ decoded }) =>
    decoded?.kind === "entry" && decoded.entry !== undefined ? [decoded.entry] : [],
  );
  const diagnostics = lines.flatMap((line) =>
    told(lineNotes(line, header, line.at + line.length === size), line.at),
  );
  return { entries, diagnostics };
}

function told({ notes, entryId }: ReturnType<typeof lineNotes>, offset: number): EntriesPage["diagnostics"] {
  const entry = entryId === undefined ? {} : { entryId };
  return notes.map(({ code, message }) => ({
    code,
    offset,
    message: SessileError.printable(message),
    ...entry,
  }));
}

function cursorArgument(value: unknown): LogPosition {
  if (typeof value === "string" && parsePosition(value) !== undefined) return value as LogPosition;
  throw new TypeError(`before: expected the "before" of a page, got ${describe(value)}`);
}
