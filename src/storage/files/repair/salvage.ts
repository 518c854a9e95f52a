/** Salvages a damaged session file into a new one. */

import { dirname, resolve } from "node:path";
import { integerOption, oneOfOption, stringArgument } from "../../../core/arguments.js";
import { concatBytes, encodeUtf8 } from "../../../core/bytes.js";
import { SessileError } from "../../../core/errors/index.js";
import { isName, nameArgument, uuidv7 } from "../../../core/ids.js";
import {
  type FileStat,
  type FileSystem,
  type OpenFile,
  publishExclusive,
  storageError,
  writeNewFile,
} from "../../../core/node/file-system.js";
import {
  appendChecksum,
  cleanLine,
  defaultLimits,
  encodeValidLine,
  extensionVersion,
  formatVersion,
  headerVersion,
  idToOrdinal,
  isNewer,
  migrateLine,
} from "../../../log/internal.js";
import type { SessionHeader } from "../../../session/index.js";
import { headerLine, noRow, parseKind, withLineFeed, withParent } from "../../../session/internal.js";
import { withRegularFile } from "../file-descriptors.js";
import { readRanges } from "../read-lines.js";
import { idOfPath } from "../session-files.js";
import { Findings, problemFinding, type SessionFinding } from "./diagnose.js";
import { SessionScan } from "./scan.js";

/** The parent of a missing parent: `chain` the entry before its first child, `root` no entry. */
export type OrphanPlacing = "chain" | "root";

/** An entry that kept or got a place in the tree, though its own line or its parent's is lost. */
export interface SalvagedPlace {
  /**
   * `unreadable`: a placeholder for an entry of which only the place is readable. `missing`: a placeholder
   * for a parent without a line. `circle`, `nameless`: the line got another parent, because its own closed a
   * cycle or was not an id.
   */
  readonly reason: "unreadable" | "missing" | "circle" | "nameless";
  readonly entryId: string;
  /** Its parent in the new file. */
  readonly parentId: string | null;
  /** The offset of the line in the old file; for `missing`, of its first child. */
  readonly offset: number;
}

/** Options of {@link salvageSession}. */
export interface SalvageOptions {
  /** The path of the new file, which must not exist. Its directory must exist. */
  readonly to: string;
  /**
   * The place of entries whose parent is missing. `chain`, the default: a placeholder for the parent follows
   * the entry written before, as in the contexts of the damaged file. `root`: the placeholder is a root, so
   * that no context has entries that may be of another branch.
   */
  readonly orphans?: OrphanPlacing;
  /**
   * The id of a new header, if none is readable. Default: the id in the name of `to` or `path`, else a new
   * one.
   */
  readonly id?: string;
  /** The project's directory of a new header, if none is readable. Default `/unknown`. */
  readonly cwd?: string;
  /** The maximum number of losses, and of places, listed. All are counted. Minimum 0, default 2000. */
  readonly maxFindings?: number;
  /** The maximum bytes of a line. Longer lines are lost. Minimum 1024, default 64 MiB. */
  readonly maxLineBytes?: number;
  /** Rejects with the signal's reason, and leaves no file. */
  readonly signal?: AbortSignal;
}

/** The result of {@link salvageSession}, as plain JSON. */
export interface SalvageReport {
  readonly path: string;
  readonly to: string;
  /** The id in the new file's header. */
  readonly id: string;
  /**
   * `kept` byte for byte, `migrated` from an older version with all lines, or `made` because none was
   * readable.
   */
  readonly header: "kept" | "migrated" | "made";
  /** Lines in the new file, including the header, and their bytes in the old file without line feeds. */
  readonly kept: { readonly lines: number; readonly bytes: number };
  /** Lines that are not in it, and their bytes. Exact duplicates do not count. */
  readonly lost: { readonly lines: number; readonly bytes: number };
  /** The first and the last of the lost lines, with cause, offset and length. */
  readonly losses: readonly SessionFinding[];
  /**
   * The number of entries with a place though their line, or their parent's, is lost; the first are in
   * `places`.
   */
  readonly placed: number;
  readonly places: readonly SalvagedPlace[];
}

/** {@link salvageSession} on any file system. */
export async function salvageSessionOn(
  fs: FileSystem,
  path: string,
  options: SalvageOptions,
): Promise<SalvageReport> {
  const from = resolve(stringArgument("path", path));
  const to = resolve(stringArgument("to", options?.to));
  const orphans = oneOfOption("orphans", options.orphans, ["chain", "root"]);
  const maxLineBytes = integerOption("maxLineBytes", options.maxLineBytes, defaultLimits.maxLineBytes, 1024);
  const maxFindings = integerOption("maxFindings", options.maxFindings, 2000, 0);
  if (options.id !== undefined) nameArgument("id", options.id);
  if (options.cwd !== undefined) stringArgument("cwd", options.cwd);
  const reading = { maxLineBytes, signal: options.signal };
  return withRegularFile(fs, from, "read", async (file, stat) => {
    if (stat.size === 0) throw new SessileError("EMPTY", `${from} is empty`, { details: { path: from } });
    if (fs.stat(to) !== undefined) throw existsError(to);
    const losses = new Findings(maxFindings);
    const lost = { lines: 0, bytes: 0 };
    const scan = await SessionScan.of(file, stat, reading, {
      problem: (problem) => {
        if (!problem.lost) return;
        losses.add(problemFinding(problem));
        if (problem.repeated) return;
        lost.lines++;
        lost.bytes += problem.bytes ?? 0;
      },
    });
    const header = scanHeader(scan, from, to, stat, options);
    const places: SalvagedPlace[] = [];
    let placed = 0;
    const place = (found: SalvagedPlace) => {
      if (++placed <= maxFindings) places.push(found);
    };
    const kept = { lines: 0, bytes: 0 };
    try {
      const lines = salvagedLines(scan, file, stat, header, { orphans, signal: options.signal, place, kept });
      await publishNew(fs, to, lines);
    } catch (error) {
      throw storageError("write", to, error);
    }
    const old = headerVersion(header) < formatVersion ? "migrated" : "kept";
    return {
      path: from,
      to,
      id: header.id,
      header: scan.header === undefined ? "made" : old,
      kept,
      lost,
      losses: losses.list,
      placed,
      places,
    };
  });
}

/** The header of the session, or a new one. */
function scanHeader(
  scan: SessionScan,
  from: string,
  to: string,
  stat: FileStat,
  options: SalvageOptions,
): SessionHeader {
  const { reader, rows, damaged } = scan;
  const { header } = reader;
  if (header !== undefined) {
    if (!isNewer(header)) return header;
    const message = `session ${header.id} was written by a newer version: update this library`;
    throw new SessileError("SESSION_READ_ONLY", message, { details: { id: header.id, reason: "version" } });
  }
  if (rows.size === damaged.size) {
    const details = { path: from, lines: reader.lines };
    throw new SessileError("NO_HEADER", `no line of ${from} is a header or an entry`, { details });
  }
  const named = [to, from].map((path) => idOfPath(path)).find(isName);
  const first = rows.timestamp(0);
  const began = Number.isNaN(Date.parse(first)) ? stat.mtimeMs : Date.parse(first);
  return {
    type: "session",
    version: formatVersion,
    id: options.id ?? named ?? uuidv7(Math.floor(began)),
    timestamp: new Date(began).toISOString(),
    cwd: options.cwd ?? "/unknown",
    sessile: extensionVersion,
  };
}

/** Publishes a complete and fsynced file atomically, without replacing an existing one. */
async function publishNew(fs: FileSystem, path: string, batches: AsyncIterable<Uint8Array>): Promise<void> {
  const temporary = `${path}.tmp-${crypto.randomUUID()}`;
  await writeNewFile(fs, temporary, batches);
  try {
    if (!publishExclusive(fs, temporary, path)) throw existsError(path);
  } finally {
    fs.unlink(temporary);
  }
  await fs.syncDirectory(dirname(path));
}

function existsError(path: string): SessileError {
  return new SessileError("SESSION_EXISTS", `${path} exists already: choose another path`, {
    details: { id: path },
  });
}

const batchBytes = 1 << 20;

/**
 * Yields the lines of the new file in batches that end with a line feed: the header, then those of the old file in
 * order, and placeholders that keep the tree in one piece.
 *
 * @param header the first line if the file has no header
 * @param kept the tally of the copied lines, including the header
 */
async function* salvagedLines(
  scan: SessionScan,
  file: OpenFile,
  stat: FileStat,
  header: SessionHeader,
  {
    orphans,
    signal,
    place,
    kept,
  }: {
    readonly orphans: OrphanPlacing;
    readonly signal: AbortSignal | undefined;
    readonly place: (place: SalvagedPlace) => void;
    readonly kept: { lines: number; bytes: number };
  },
): AsyncGenerator<Uint8Array> {
  const { rows, reader, header: stored } = scan;
  const log = { readAt: (places: Parameters<typeof readRanges>[1]) => readRanges(file, places) };
  const version = headerVersion(header);
  const placed = new Set<string>();
  yield await firstLine();
  for (let index = 0; index < rows.size; ) {
    signal?.throwIfAborted();
    const batch: number[] = [];
    for (let bytes = 0; index < rows.size && bytes < batchBytes; index++) {
      const row = rowAt(index);
      batch.push(row);
      bytes += rows.lineLength(row);
    }
    const lines = await rows.read(log, batch);
    yield concatBytes(lines.flatMap((line, at) => rowLines(batch[at] as number, line ?? changed())));
  }
  // If the file was truncated or rewritten during the copy, the copy may mix two states.
  const { size, mtimeMs } = file.stat();
  if (size < stat.size || (size === stat.size && mtimeMs !== stat.mtimeMs)) changed();

  async function firstLine(): Promise<Uint8Array> {
    if (stored === undefined) return headerLine(header);
    const [line = changed()] = await log.readAt([stored]);
    const { start, end } = stored.part ?? { start: 0, end: line.length };
    kept.lines++;
    kept.bytes += end - start;
    return version < formatVersion
      ? headerLine({ ...header, version: formatVersion })
      : withLineFeed(cleanLine(line.subarray(start, end)));
  }

  /** The row of a line in the new file: the last readable entry stays the leaf, so it follows placeholders. */
  function rowAt(index: number): number {
    const leaf = reader.leafRow;
    if (leaf === noRow || index < leaf) return index;
    return index === rows.size - 1 ? leaf : index + 1;
  }

  /** The line of a row, after a placeholder for its parent if that is missing. */
  function rowLines(row: number, line: Uint8Array): readonly Uint8Array[] {
    const { at: offset = 0 } = rows.line(row) ?? {};
    const time = rows.timestamp(row);
    const entryId = rows.id(row);
    const lostParent = scan.orphans.get(row);
    const out: Uint8Array[] = [];
    if (lostParent !== undefined && lostParent !== "" && !placed.has(lostParent)) {
      placed.add(lostParent);
      const parentId = parentOfMissing(row);
      out.push(placeholderLine(lostParent, parentId, time, { reason: "missing" }));
      place({ reason: "missing", entryId: lostParent, parentId, offset });
    }
    const reason = scan.cycles.has(row) ? "circle" : lostParent === "" ? "nameless" : undefined;
    const parent = rows.parent(row);
    const known = lostParent ?? (parent === noRow ? null : rows.id(parent));
    const parentId = reason === "nameless" ? parentOfMissing(row) : known;
    if (reader.damagedRows.has(row)) {
      const data = { reason: "unreadable", type: parseKind(rows.kind(row))[0], bytes: line.length };
      place({ reason: "unreadable", entryId, parentId, offset });
      return [...out, placeholderLine(entryId, parentId, time, data)];
    }
    kept.lines++;
    kept.bytes += line.length;
    const current = currentLine(row, line, offset);
    if (reason === undefined) return [...out, withLineFeed(current)];
    place({ reason, entryId, parentId, offset });
    // The rest of the line is not verified: it gets no checksum.
    const placedLine = withParent(new TextDecoder().decode(current).trimEnd(), parentId);
    return [...out, encodeUtf8(`${placedLine}\n`)];
  }

  /** The line in the current format version. */
  function currentLine(row: number, line: Uint8Array, offset: number): Uint8Array {
    const bytes = cleanLine(line);
    if (version >= formatVersion || stored === undefined || offset < stored.at) return bytes;
    const previousId = row === 0 ? null : rows.id(row - 1);
    const ordinal = idToOrdinal(rows.id(row));
    const text = migrateLine(bytes, version, ordinal, defaultLimits.maxDepth, previousId);
    return text === undefined ? bytes : encodeUtf8(appendChecksum(text));
  }

  /** The id of the entry that the missing parent of a row follows: the reader placed its first child there. */
  function parentOfMissing(row: number): string | null {
    const parent = orphans === "root" ? noRow : rows.parent(row);
    return parent === noRow ? null : rows.id(parent);
  }

  function changed(): never {
    const { id } = header;
    const message = `the file of session ${id} was changed while it was read: try again`;
    throw new SessileError("LOG_CHANGED", message, { details: { id } });
  }
}

/** The line of a placeholder for a lost entry. */
function placeholderLine(
  id: string,
  parentId: string | null,
  timestamp: string,
  data: Readonly<Record<string, string | number>>,
): Uint8Array {
  const place = { id, parentId, timestamp };
  return encodeValidLine({ type: "custom", ...place, customType: "sessile.lost", data }, true);
}
