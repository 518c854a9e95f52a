/** The lines of a salvaged session: intact ones, and placeholders that keep the tree in one piece. */

import { SessileError } from "../../../errors/index.js";
import { concatBytes, encodeUtf8 } from "../../../internal/bytes.js";
import type { FileStat, OpenFile } from "../../../internal/node/file-system.js";
import { isRecord } from "../../../internal/shape.js";
import type { LinePlace } from "../../api/backend.js";
import { formatVersion, type SessionHeader } from "../../api/entries.js";
import { stripBom } from "../../format/decode.js";
import { encodeValidLine } from "../../format/encode.js";
import { appendChecksum, removeChecksum } from "../../format/line-json.js";
import { defaultLimits } from "../../format/line-splitter.js";
import { headerVersion, idToOrdinal, migrateLine } from "../../format/migrate.js";
import { headerLine, linesOf } from "../../runtime/log-lines.js";
import { type EntryTable, noRow, parseKind, rootOf } from "../../tree/entry-table.js";
import { type ReadLineOptions, readLines, readRanges } from "../read-lines.js";
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

/** The lines of the new file: the header, then those of the old file in order. */
export class SalvagedLines {
  /** The copied lines, including the header. */
  readonly kept = { lines: 0, bytes: 0 };
  readonly #scan: SessionScan;
  readonly #file: OpenFile;
  readonly #stat: FileStat;
  readonly #header: SessionHeader;
  readonly #version: number;
  readonly #places: ReadonlyMap<string, number>;
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
    this.#stat = stat;
    this.#header = header;
    this.#version = headerVersion(header);
    this.#places = reattachOrphans(scan, orphans);
    this.#onPlace = onPlace;
  }

  /** Each batch ends with a line feed. */
  async *batches(options: ReadLineOptions): AsyncGenerator<Uint8Array> {
    const { rows } = this.#scan;
    yield await this.#headerLine();
    let row = 0;
    for await (const batch of readLines(this.#file, this.#stat, undefined, options)) {
      const out: Uint8Array[] = [];
      const lines = linesOf(batch);
      for (let i = 0; i <= lines.length; i++) {
        const line = lines[i] ?? batch.tail?.bytes;
        const at = i < lines.length ? batch.at[i] : batch.tail?.at;
        if (line === undefined || at === undefined) continue;
        // More than one if lines were concatenated.
        for (let place = rowPlace(rows, row); place !== undefined; place = rowPlace(rows, row)) {
          const from = place.at - at;
          if (from < 0 || from + place.length > line.length) break;
          if (place.length !== line.length && !this.#scan.concatenatedIn.has(at)) throw this.#changed();
          await this.#add(row++, line.subarray(from, from + place.length), place.at, out);
        }
      }
      if (out.length > 0) yield concatBytes(out);
    }
    // If the file was truncated or rewritten during the copy, the copy may mix two states.
    const { size, mtimeMs } = this.#file.stat();
    const { size: sizeThen, mtimeMs: timeThen } = this.#stat;
    if (row < rows.size || size < sizeThen || (size === sizeThen && mtimeMs !== timeThen))
      throw this.#changed();
  }

  async #headerLine(): Promise<Uint8Array> {
    const { header: place } = this.#scan;
    if (place === undefined) return headerLine(this.#header);
    const line = await this.#lineAt(place);
    this.kept.lines++;
    this.kept.bytes += line.length;
    return this.#version < formatVersion
      ? headerLine({ ...this.#header, version: formatVersion })
      : concatBytes([place.at === 0 ? stripBom(line) : line, lineFeed]);
  }

  async #add(row: number, line: Uint8Array, at: number, out: Uint8Array[]): Promise<void> {
    const { rows, orphans, cycles, damaged, copies } = this.#scan;
    const lostParent = orphans.get(row);
    if (lostParent !== undefined && lostParent !== "" && !this.#placed.has(lostParent)) {
      this.#placed.add(lostParent);
      const parentId = this.#follows(lostParent);
      const data = { reason: "missing" };
      out.push(placeholderLine(lostParent, parentId, rows.timestamp(row), data));
      this.#onPlace({ reason: "missing", entryId: lostParent, parentId, offset: at });
    }
    const reason = cycles.has(row) ? "circle" : lostParent === "" ? "nameless" : undefined;
    const parent = rows.parent(row);
    const parentId =
      reason === "nameless" ? this.#follows("") : (lostParent ?? (parent === noRow ? null : rows.id(parent)));
    const entryId = rows.id(row);
    const copy = copies.get(row);
    if (damaged.has(row) && copy === undefined) {
      const data = { reason: "unreadable", type: parseKind(rows.kind(row))[0], bytes: line.length };
      out.push(placeholderLine(entryId, parentId, rows.timestamp(row), data));
      this.#onPlace({ reason: "unreadable", entryId, parentId, offset: at });
      return;
    }
    const whole = copy === undefined ? line : await this.#lineAt(copy);
    this.kept.lines++;
    this.kept.bytes += whole.length;
    const current = this.#current(row, whole, at);
    if (reason === undefined) {
      out.push(current, lineFeed);
    } else {
      out.push(encodeUtf8(`${withParent(current, parentId)}\n`));
      this.#onPlace({ reason, entryId, parentId, offset: at });
    }
  }

  async #lineAt(place: LinePlace): Promise<Uint8Array> {
    const [line] = await readRanges(this.#file, [place]);
    if (line === undefined) throw this.#changed();
    return line;
  }

  /** The line in the current format version. */
  #current(row: number, line: Uint8Array, at: number): Uint8Array {
    const bytes = at === 0 ? stripBom(line) : line;
    const { header, rows } = this.#scan;
    if (this.#version >= formatVersion || header === undefined || at < header.at) return bytes;
    const id = rows.id(row);
    const previousId = row === 0 ? null : rows.id(row - 1);
    const text = migrateLine(bytes, this.#version, idToOrdinal(id), defaultLimits.maxDepth, previousId);
    return text === undefined ? bytes : encodeUtf8(appendChecksum(text));
  }

  /** The id of the entry that a missing parent follows. */
  #follows(parentId: string): string | null {
    const row = this.#places.get(parentId) ?? noRow;
    return row === noRow ? null : this.#scan.rows.id(row);
  }

  #changed(): SessileError {
    const { id } = this.#header;
    const message = `the file of session ${id} was changed while it was read: try again`;
    return new SessileError("LOG_CHANGED", message, { details: { id } });
  }
}

function rowPlace(rows: EntryTable, row: number): LinePlace | undefined {
  return row < rows.size ? rows.line(row) : undefined;
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

/**
 * A line with another parent, and without a checksum, because the rest of the line is not verified. A
 * canonical line keeps its other bytes.
 */
function withParent(line: Uint8Array, parentId: string | null): string {
  const body = removeChecksum(new TextDecoder().decode(line).trimEnd());
  const canonical =
    /^(\{"type":"[^"\\]{0,1000}","id":"[^"\\]{0,1000}","parentId":)(?:null|"[^"\\]{0,1000}")(,"timestamp":)/;
  if (canonical.test(body)) {
    return body.replace(canonical, (_, head: string, tail: string) => head + JSON.stringify(parentId) + tail);
  }
  const value: unknown = JSON.parse(body);
  if (!isRecord(value)) return body;
  const { type, id, parentId: _parentId, timestamp, crc: _crc, ...rest } = value;
  return JSON.stringify({ type, id, parentId, timestamp, ...rest });
}

/** The parent of a missing parent: `chain` the entry before its first child, `root` no entry. */
export type OrphanPlacing = "chain" | "root";

/**
 * Reattaches orphans: maps the id of each missing parent to the row that it follows, or -1 for a root. A
 * missing parent was mostly written right before its first child, so it follows the entry before that child.
 * It is a root if there is no such entry, or if that entry descends from the child. Linear in the rows.
 */
function reattachOrphans(scan: SessionScan, placing: OrphanPlacing): ReadonlyMap<string, number> {
  const { rows, orphans } = scan;
  const places = new Map<string, number>();
  if (orphans.size === 0) return places;
  const childrenOf = new Map<string, number[]>();
  for (const [row, parentId] of [...orphans].sort(([a], [b]) => a - b)) {
    const children = childrenOf.get(parentId);
    if (children === undefined) childrenOf.set(parentId, [row]);
    else children.push(row);
  }
  const above = Int32Array.from({ length: placing === "root" ? 0 : rows.size }, (_, row) => rows.parent(row));
  for (const [parentId, children] of childrenOf) {
    const before = placing === "root" ? noRow : leafAfter(rows, (children[0] as number) - 1);
    // All children of a missing parent are roots until it has a place.
    const isCycle = before !== noRow && orphans.get(rootOf(above, before)) === parentId;
    places.set(parentId, isCycle ? noRow : before);
    if (before !== noRow && !isCycle) for (const child of children) above[child] = before;
  }
  return places;
}

/** The leaf after a row: for a `leaf` entry, the entry that it points to. */
function leafAfter(rows: EntryTable, row: number): number {
  return row !== noRow && rows.kind(row) === "leaf" ? rows.parent(row) : row;
}
