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
import { readLines, readRanges } from "../read-lines.js";
import type { SessionScan } from "./scan.js";

/** An entry whose place in the tree was kept or found, though its own line, or its parent's, could not be. */
export interface SalvagedPlace {
  /**
   * `unreadable`: an entry that says nothing stands for one of which only the place could be read. `missing`: the same for
   * one that others name as their parent, and of which no line is left. `circle`, `nameless`: the line's parent was changed,
   * which closed a circle, or was no id.
   */
  readonly reason: "unreadable" | "missing" | "circle" | "nameless";
  readonly entryId: string;
  /** What it follows in the new file. */
  readonly parentId: string | null;
  /** In the old file, the line; for `missing` that of its first child. */
  readonly offset: number;
}

const lineFeed = Uint8Array.of(10);

/** The lines of the new file, in the order of the old one, after the header. */
export class SalvagedLines {
  /** Lines that were copied, the header too. */
  readonly kept = { lines: 0, bytes: 0 };
  readonly #scan: SessionScan;
  readonly #file: OpenFile;
  readonly #stat: FileStat;
  readonly #header: SessionHeader;
  readonly #version: number;
  readonly #places: ReadonlyMap<string, number>;
  readonly #placed = new Set<string>();
  readonly #onPlace: (place: SalvagedPlace) => void;

  /** @param header what stands first where the file has none */
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
  async *batches(options: {
    readonly maxLineBytes: number;
    readonly signal?: AbortSignal;
  }): AsyncGenerator<Uint8Array> {
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
        // More than one where lines were joined.
        for (let place = rowPlace(rows, row); place !== undefined; place = rowPlace(rows, row)) {
          const from = place.at - at;
          if (from < 0 || from + place.length > line.length) break;
          if (place.length !== line.length && !this.#scan.joinedIn.has(at)) throw this.#changed();
          await this.#add(row++, line.subarray(from, from + place.length), place.at, out);
        }
      }
      if (out.length > 0) yield concatBytes(out);
    }
    // What was cut off or replaced while it was read may be half of this and half of that.
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

  /** The line as the current version has it. */
  #current(row: number, line: Uint8Array, at: number): Uint8Array {
    const bytes = at === 0 ? stripBom(line) : line;
    const { header, rows } = this.#scan;
    if (this.#version >= formatVersion || header === undefined || at < header.at) return bytes;
    const id = rows.id(row);
    const previousId = row === 0 ? null : rows.id(row - 1);
    const text = migrateLine(bytes, this.#version, idToOrdinal(id), defaultLimits.maxDepth, previousId);
    return text === undefined ? bytes : encodeUtf8(appendChecksum(text));
  }

  /** The id of what a missing parent follows. */
  #follows(parentId: string): string | null {
    const row = this.#places.get(parentId) ?? noRow;
    return row === noRow ? null : this.#scan.rows.id(row);
  }

  #changed(): SessileError {
    const { id } = this.#header;
    const message = `the file of session ${id} was changed while it was read`;
    return new SessileError("LOG_CHANGED", message, { details: { id } });
  }
}

function rowPlace(rows: EntryTable, row: number): LinePlace | undefined {
  return row < rows.size ? rows.line(row) : undefined;
}

/** The line of an entry that says nothing, in the place of one that is lost. */
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
 * A line with another parent, and without a checksum: nobody knows whether its rest is as it was written. Its other bytes
 * stay where the line is canonical.
 */
function withParent(line: Uint8Array, parentId: string | null): string {
  const body = removeChecksum(new TextDecoder().decode(line).trimEnd());
  const canonical = /^(\{"type":"[^"\\]*","id":"[^"\\]*","parentId":)(?:null|"[^"\\]*")(,"timestamp":)/;
  if (canonical.test(body)) {
    return body.replace(canonical, (_, head: string, tail: string) => head + JSON.stringify(parentId) + tail);
  }
  const value: unknown = JSON.parse(body);
  if (!isRecord(value)) return body;
  const { type, id, parentId: _parentId, timestamp, crc: _crc, ...rest } = value;
  return JSON.stringify({ type, id, parentId, timestamp, ...rest });
}

/** What entries with a missing parent are to follow: `chain` the entry before the first of them, `root` none. */
export type OrphanPlacing = "chain" | "root";

/**
 * Where each missing parent goes: its id, and the row that it follows, or -1. A parent that is missing was mostly written
 * right after the line before its first child: that is where the conversation went on. It becomes a root where there is
 * none before, or where that one follows the child, in a file whose lines were moved about. Linear in the rows.
 */
export function reattachOrphans(scan: SessionScan, placing: OrphanPlacing): ReadonlyMap<string, number> {
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
    // All rows that name one parent are roots until it has a place.
    const isCircle = before !== noRow && orphans.get(rootOf(above, before)) === parentId;
    places.set(parentId, isCircle ? noRow : before);
    if (before !== noRow && !isCircle) for (const child of children) above[child] = before;
  }
  return places;
}

/** The entry that the next one follows where this is the last one: a leaf entry says which. */
function leafAfter(rows: EntryTable, row: number): number {
  return row !== noRow && rows.kind(row) === "leaf" ? rows.parent(row) : row;
}
