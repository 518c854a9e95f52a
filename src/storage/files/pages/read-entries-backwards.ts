/** Reads the entries of a session file in pages, newest first. */

import { resolve } from "node:path";
import { describe, integerOption, stringArgument } from "../../../core/arguments.js";
import { SessileError } from "../../../core/errors/index.js";
import type { FileSystem } from "../../../core/node/file-system.js";
import { nodeFileSystem } from "../../../core/node/node-file-system.js";
import type { Diagnostic, LogPosition, SessionEntry, UnknownEntry } from "../../../session/index.js";
import { defaultLimits } from "../../../session/internal.js";
import { withRegularFile } from "../file-descriptors.js";
import { offsetOf, parsePosition, printPosition, readFingerprint } from "../log-position.js";
import {
  type FirstHeader,
  lineDiagnostics,
  type PageLine,
  pageLines,
  readFirstHeader,
} from "./page-lines.js";

/** Options of {@link readEntriesBackwards}. */
export interface EntriesBackwardsOptions {
  /** The `before` of the page after the wanted one. Default: the newest page. */
  readonly before?: string;
  /** The maximum number of entries. Minimum 1, default 100. */
  readonly limit?: number;
  /**
   * A page ends after this many bytes of lines, with fewer entries than `limit`, or without entries if all of
   * these lines are damaged. Minimum 1, default 4 MiB.
   */
  readonly maxBytes?: number;
  /** The maximum bytes of a line. Longer lines are not read. Minimum 1024, default 64 MiB. */
  readonly maxLineBytes?: number;
  /** Rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** A page of a session file's entries. */
export interface EntriesPage {
  /** In file order: the newest is the last. */
  readonly entries: readonly (SessionEntry | UnknownEntry)[];
  /** Problems of single lines of this page, in file order. Offsets are in bytes. */
  readonly diagnostics: readonly Omit<Diagnostic, "line">[];
  /**
   * The cursor of the page before this one; absent on the oldest page. Text that can be stored and sent:
   * device and inode of the file, an offset, and a checksum of the line before it.
   */
  readonly before?: string;
}

/**
 * Reads a session file from its end, a page at a time: the newest entries of a large session at once, older
 * ones on demand. It reads the page and the header, not the rest of the file.
 *
 * All pages together have the entries of `parseSession` in the same order, and also lines with a duplicate
 * id, which a page cannot detect. Orphans, cycles, the leaf and labels need the whole file and are not in a
 * page. Appends by others do not change the pages. For a version 1 file, whose ids are line numbers, each
 * page reads from the start.
 *
 * `session.location` and `SessionSummary.location` are the paths of a store's sessions.
 *
 * @throws SessileError LOG_CHANGED if the file was truncated below `before`, or replaced: start at the newest
 *   page
 * @throws SessileError SESSION_NOT_FOUND, EMPTY, NO_HEADER, NOT_A_FILE, STORAGE_FAILED
 * @throws TypeError, RangeError for invalid arguments
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

/** {@link readEntriesBackwards} on any file system. */
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
  const reading = { maxLineBytes, signal: options.signal };
  return withRegularFile(fs, absolute, "read", async (file, stat) => {
    const header = await readFirstHeader(file, stat, absolute, reading);
    const end = cursor === undefined ? stat.size : offsetOf(file, stat, cursor);
    // A header on the first line, the usual case, is in no page: the oldest page begins after it.
    const isAlone = header.at === 0 && !header.isJoined;
    const start = isAlone ? Math.min(header.length + 1, stat.size) : 0;
    const lines =
      end === undefined ? undefined : await pageLines(file, stat, { start, end }, header, bounds, reading);
    if (lines === undefined) {
      const message = `${absolute} was truncated or replaced since the last page: start at the newest page`;
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
    if (!isAlone) return page;
    return { ...page, diagnostics: [...diagnosticsOf(header.diagnostics, header.at), ...page.diagnostics] };
  });
}

function pageOf(lines: readonly PageLine[], header: FirstHeader, size: number): EntriesPage {
  const entries = lines.flatMap(({ parts = [] }) =>
    parts.flatMap(({ decoded }) =>
      decoded.kind === "entry" && decoded.entry !== undefined ? [decoded.entry] : [],
    ),
  );
  const diagnostics = lines.flatMap((line) =>
    diagnosticsOf(lineDiagnostics(line, header, line.at + line.length === size), line.at),
  );
  return { entries, diagnostics };
}

function diagnosticsOf(
  found: ReturnType<typeof lineDiagnostics>,
  offset: number,
): EntriesPage["diagnostics"] {
  return found.map(({ message, ...note }) => ({ ...note, offset, message: SessileError.printable(message) }));
}

function cursorArgument(value: unknown): LogPosition {
  if (typeof value === "string" && parsePosition(value) !== undefined) return value as LogPosition;
  throw new TypeError(`before: expected the "before" of a page, got ${describe(value)}`);
}
