import type { FileStat, OpenFile } from "../../internal/node/file-system.js";
import { extraHeaderNote, isEndedLate, tooLongNote, tornLineNote, tornNote } from "../api/diagnostics.js";
import { type Decoded, decodeLine, keyOfLine, LineDecoder, type LineNote } from "../format/decode.js";
import { idOf } from "../format/entry-key.js";
import { defaultLimits } from "../format/line-splitter.js";
import { eachLine } from "../runtime/log-lines.js";
import type { FirstHeader } from "./first-header.js";
import { type BackwardLine, linesBackwards } from "./lines-backwards.js";
import { readLines } from "./read-lines.js";

/** A line of a page, decoded unless it is too long. */
export interface PageLine extends BackwardLine {
  readonly decoded?: Decoded;
}

/** Where a page ends. */
export interface PageBounds {
  readonly limit: number;
  readonly maxBytes: number;
}

interface Reading {
  readonly maxLineBytes: number;
  readonly signal?: AbortSignal;
}

const { maxDepth } = defaultLimits;

/**
 * The last lines of a range of a file, in file order, up to `limit` entries or `maxBytes`. Undefined if the
 * file is shorter than the range.
 */
export async function pageLines(
  file: OpenFile,
  stat: FileStat,
  range: { readonly start: number; readonly end: number },
  header: FirstHeader,
  { limit, maxBytes }: PageBounds,
  reading: Reading,
): Promise<readonly PageLine[] | undefined> {
  const lines: PageLine[] = [];
  let entries = 0;
  let bytes = 0;
  for await (const line of linesBackwards(file, range, reading)) {
    const isFirst = line.at === 0;
    const context = { isFirst, version: versionAt(line.at, header), ordinal: 0, maxDepth };
    const read: PageLine =
      line.bytes === undefined ? line : { ...line, decoded: decodeLine(line.bytes, context) };
    lines.push(read);
    bytes += line.length + 1;
    if (read.decoded?.kind === "entry") entries++;
    if (entries >= limit || bytes >= maxBytes || line.at <= range.start) {
      lines.reverse();
      return header.version < 2 ? numbered(lines, file, stat, reading) : lines;
    }
  }
  return range.start >= range.end ? [] : undefined;
}

/** Decodes the lines as version 1, whose ids are line numbers: all lines before them are counted. */
async function numbered(
  lines: readonly PageLine[],
  file: OpenFile,
  stat: FileStat,
  reading: Reading,
): Promise<readonly PageLine[]> {
  const decoder = new LineDecoder(maxDepth);
  const pass = (line: BackwardLine): PageLine => {
    if (line.bytes !== undefined) return { ...line, decoded: decoder.next(line.bytes) };
    decoder.skip();
    return line;
  };
  const size = lines[0]?.at ?? 0;
  for await (const batch of readLines(file, { ...stat, size }, undefined, reading)) {
    eachLine(batch, {
      line: (bytes, at, start, end) =>
        void pass({ at, length: end - start, bytes: bytes.subarray(start, end) }),
      tooLong: () => decoder.skip(),
    });
  }
  return lines.map(pass);
}

/** The diagnostics of a line, and the id of its entry. */
export function notesOf(
  { at, length, bytes, decoded }: PageLine,
  header: FirstHeader,
  isTail: boolean,
): { readonly notes: readonly LineNote[]; readonly entryId?: string | undefined } {
  if (bytes === undefined || decoded === undefined) return { notes: [tooLongNote(length)] };
  switch (decoded.kind) {
    case "blank":
      return { notes: [] };
    case "header":
      return { notes: at === header.at ? header.notes : [...decoded.notes, extraHeaderNote] };
    case "entry":
      return { notes: decoded.notes, entryId: idOf(decoded.head.id) };
    case "bad": {
      if (isTail) return { notes: [tornNote(length)] };
      if (isEndedLate(bytes)) return { notes: [tornLineNote(length - 1)] };
      const key = keyOfLine(bytes, decoded, versionAt(at, header));
      return { notes: decoded.notes, entryId: key === undefined ? key : idOf(key) };
    }
  }
}

/** Undefined before the header: those lines are decoded as the current version. */
function versionAt(at: number, header: FirstHeader): number | undefined {
  return at < header.at ? undefined : header.version;
}
