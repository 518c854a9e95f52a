/** The lines of a salvaged session: intact ones, and placeholders that keep the tree in one piece. */

import { concatBytes, encodeUtf8 } from "../../../core/bytes.js";
import { SessileError } from "../../../core/errors/index.js";
import type { FileStat, OpenFile } from "../../../core/node/file-system.js";
import type { SessionHeader, SessionLog } from "../../../session/index.js";
import {
  appendChecksum,
  cleanLine,
  defaultLimits,
  encodeValidLine,
  formatVersion,
  headerLine,
  headerVersion,
  idToOrdinal,
  migrateLine,
  noRow,
  parseKind,
  withParent,
} from "../../../session/internal.js";
import { readRanges } from "../read-lines.js";
import type { SessionScan } from "./scan.js";

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

const lineFeed = Uint8Array.of(10);
const batchBytes = 1 << 20;

/** The lines of the new file: the header, then those of the old file in order. */
export class SalvagedLines {
  /** The copied lines, including the header. */
  readonly kept = { lines: 0, bytes: 0 };
  readonly #scan: SessionScan;
  readonly #file: OpenFile;
  readonly #stat: FileStat;
  readonly #header: SessionHeader;
  readonly #version: number;
  readonly #orphans: OrphanPlacing;
  readonly #log: Pick<SessionLog, "readAt">;
  readonly #placed = new Set<string>();
  readonly #onPlace: (place: SalvagedPlace) => void;

  /** @param header the first line if the file has no header */
  constructor(
    scan: SessionScan,
    file: OpenFile,
    stat: FileStat,
    header: SessionHeader,
    orphans: OrphanPlacing,
    onPlace: (place: SalvagedPlace) => void,
  ) {
    this.#scan = scan;
    this.#file = file;
    this.#log = { readAt: (places) => readRanges(file, places) };
    this.#stat = stat;
    this.#header = header;
    this.#version = headerVersion(header);
    this.#orphans = orphans;
    this.#onPlace = onPlace;
  }

  /** Each batch ends with a line feed. */
  async *batches(signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    const { rows } = this.#scan;
    yield await this.#headerLine();
    for (let index = 0; index < rows.size; ) {
      signal?.throwIfAborted();
      const batch: number[] = [];
      for (let bytes = 0; index < rows.size && bytes < batchBytes; index++) {
        const row = this.#rowAt(index);
        batch.push(row);
        bytes += rows.lineLength(row);
      }
      const lines = await rows.read(this.#log, batch);
      const out: Uint8Array[] = [];
      for (const [index, line] of lines.entries()) {
        if (line === undefined) throw this.#changed();
        this.#add(batch[index] as number, line, out);
      }
      yield concatBytes(out);
    }
    // If the file was truncated or rewritten during the copy, the copy may mix two states.
    const { size, mtimeMs } = this.#file.stat();
    const { size: sizeThen, mtimeMs: timeThen } = this.#stat;
    if (size < sizeThen || (size === sizeThen && mtimeMs !== timeThen)) throw this.#changed();
  }

  /** The row of a line in the new file: the last readable entry stays the leaf, so it follows placeholders. */
  #rowAt(index: number): number {
    const { rows, reader } = this.#scan;
    const leaf = reader.leafRow;
    if (leaf === noRow || index < leaf) return index;
    return index === rows.size - 1 ? leaf : index + 1;
  }

  async #headerLine(): Promise<Uint8Array> {
    const { header: place } = this.#scan;
    if (place === undefined) return headerLine(this.#header);
    const [line] = await this.#log.readAt([place]);
    if (line === undefined) throw this.#changed();
    const { start, end } = place.part ?? { start: 0, end: line.length };
    const header = line.subarray(start, end);
    this.kept.lines++;
    this.kept.bytes += header.length;
    return this.#version < formatVersion
      ? headerLine({ ...this.#header, version: formatVersion })
      : concatBytes([cleanLine(header), lineFeed]);
  }

  #add(row: number, line: Uint8Array, out: Uint8Array[]): void {
    const { rows, orphans, cycles, reader } = this.#scan;
    const { at = 0 } = rows.line(row) ?? {};
    const lostParent = orphans.get(row);
    if (lostParent !== undefined && lostParent !== "" && !this.#placed.has(lostParent)) {
      this.#placed.add(lostParent);
      const parentId = this.#follows(row);
      const data = { reason: "missing" };
      out.push(placeholderLine(lostParent, parentId, rows.timestamp(row), data));
      this.#onPlace({ reason: "missing", entryId: lostParent, parentId, offset: at });
    }
    const reason = cycles.has(row) ? "circle" : lostParent === "" ? "nameless" : undefined;
    const parent = rows.parent(row);
    const parentId =
      reason === "nameless"
        ? this.#follows(row)
        : (lostParent ?? (parent === noRow ? null : rows.id(parent)));
    const entryId = rows.id(row);
    if (reader.damagedRows.has(row)) {
      const data = { reason: "unreadable", type: parseKind(rows.kind(row))[0], bytes: line.length };
      out.push(placeholderLine(entryId, parentId, rows.timestamp(row), data));
      this.#onPlace({ reason: "unreadable", entryId, parentId, offset: at });
      return;
    }
    this.kept.lines++;
    this.kept.bytes += line.length;
    const current = this.#current(row, line, at);
    if (reason === undefined) {
      out.push(current, lineFeed);
    } else {
      // The rest of the line is not verified: it gets no checksum.
      out.push(encodeUtf8(`${withParent(new TextDecoder().decode(current).trimEnd(), parentId)}\n`));
      this.#onPlace({ reason, entryId, parentId, offset: at });
    }
  }

  /** The line in the current format version. */
  #current(row: number, line: Uint8Array, at: number): Uint8Array {
    const bytes = cleanLine(line);
    const { header, rows } = this.#scan;
    if (this.#version >= formatVersion || header === undefined || at < header.at) return bytes;
    const id = rows.id(row);
    const previousId = row === 0 ? null : rows.id(row - 1);
    const text = migrateLine(bytes, this.#version, idToOrdinal(id), defaultLimits.maxDepth, previousId);
    return text === undefined ? bytes : encodeUtf8(appendChecksum(text));
  }

  /** The id of the entry that the missing parent of a row follows: the reader placed its first child there. */
  #follows(row: number): string | null {
    const { rows } = this.#scan;
    const place = this.#orphans === "root" ? noRow : rows.parent(row);
    return place === noRow ? null : rows.id(place);
  }

  #changed(): SessileError {
    const { id } = this.#header;
    const message = `the file of session ${id} was changed while it was read: try again`;
    return new SessileError("LOG_CHANGED", message, { details: { id } });
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

/** The parent of a missing parent: `chain` the entry before its first child, `root` no entry. */
export type OrphanPlacing = "chain" | "root";
