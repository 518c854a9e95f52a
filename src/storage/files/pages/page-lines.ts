/**
 * The lines of a page of {@link readEntriesBackwards}: read backwards in steps, decoded one by one with the
 * version of the header, and the diagnostics that a single line has.
 */

import type { FileStat, OpenFile } from "../../../core/node/file-system.js";
import type { LinePlace } from "../../../session/index.js";
import {
  type DecodedLine,
  decodeParts,
  defaultLimits,
  eachLine,
  entryIdOf,
  entryKeyOfPart,
  extraHeader,
  formatVersion,
  headerVersion,
  isNewer,
  isTerminatedTornLine,
  LineDecoder,
  type LineDiagnostic,
  type LinePart,
  linesBeforeHeader,
  lineTooLong,
  missingHeaderError,
  newerVersion,
  tornLine,
  tornTail,
} from "../../../session/internal.js";
import { type BackwardLine, linesBackwards } from "../read-backwards.js";
import { type ReadLineOptions, readLines } from "../read-lines.js";

/** A line of a page, decoded unless it is too long. */
export interface PageLine extends BackwardLine {
  readonly parts?: readonly LinePart[];
}

/** The limits of a page. It ends at the first one reached. */
export interface PageBounds {
  readonly limit: number;
  readonly maxBytes: number;
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
  options: ReadLineOptions,
): Promise<readonly PageLine[] | undefined> {
  const lines: PageLine[] = [];
  let entries = 0;
  let bytes = 0;
  for await (const line of linesBackwards(file, range, options)) {
    const isFirst = line.at === 0;
    const context = { isFirst, version: versionAt(line.at, header), ordinal: 0, maxDepth };
    const read: PageLine =
      line.bytes === undefined ? line : { ...line, parts: decodeParts(line.bytes, context) };
    lines.push(read);
    bytes += line.length + 1;
    for (const { decoded } of read.parts ?? []) if (decoded.kind === "entry") entries++;
    if (entries >= limit || bytes >= maxBytes || line.at <= range.start) {
      lines.reverse();
      return header.version < 2 ? decodeNumbered(lines, file, stat, options) : lines;
    }
  }
  return range.start >= range.end ? [] : undefined;
}

/** Decodes the lines as version 1, whose ids are line numbers: all lines before them are counted. */
async function decodeNumbered(
  lines: readonly PageLine[],
  file: OpenFile,
  stat: FileStat,
  options: ReadLineOptions,
): Promise<readonly PageLine[]> {
  const decoder = new LineDecoder(maxDepth);
  const pass = (line: BackwardLine): PageLine => {
    if (line.bytes !== undefined) return { ...line, parts: decoder.decode(line.bytes) };
    decoder.skip();
    return line;
  };
  const size = lines[0]?.at ?? 0;
  for await (const batch of readLines(file, { ...stat, size }, undefined, options)) {
    eachLine(batch, {
      line: (bytes, at, start, end) =>
        void pass({ at, length: end - start, bytes: bytes.subarray(start, end) }),
      tooLong: () => decoder.skip(),
    });
  }
  return lines.map(pass);
}

/** The diagnostics of a line's parts, each with the id of its entry. */
export function lineDiagnostics(
  { at, length, bytes, parts }: PageLine,
  header: FirstHeader,
  isTail: boolean,
): readonly (LineDiagnostic & { readonly entryId?: string })[] {
  if (bytes === undefined || parts === undefined) return [lineTooLong(length)];
  return parts.flatMap((part) => {
    const { start, end, decoded } = part;
    if (decoded.kind === "blank") return [];
    if (decoded.kind === "header") {
      const isFirst = at === header.at && start === header.start;
      return isFirst ? header.diagnostics : [...decoded.diagnostics, extraHeader];
    }
    if (decoded.kind === "bad" && end === length && isTail) return [tornTail(end - start)];
    if (decoded.kind === "bad" && end === length && isTerminatedTornLine(bytes))
      return [tornLine(end - start - 1)];
    const key = entryKeyOfPart(part);
    if (key === undefined) return decoded.diagnostics;
    return decoded.diagnostics.map((note) => ({ ...note, entryId: entryIdOf(key) }));
  });
}

/** Undefined before the header: those lines are decoded as the current version. */
function versionAt(at: number, header: FirstHeader): number | undefined {
  return at < header.at ? undefined : header.version;
}

/** The header of a file and its position, nearly always 0. */
export interface FirstHeader extends LinePlace {
  readonly version: number;
  /** Its start in its line. */
  readonly start: number;
  /** Whether entries are in its line. */
  readonly isJoined: boolean;
  /** Its diagnostics. */
  readonly diagnostics: readonly LineDiagnostic[];
}

/** Small, because a header is short and nearly always the first line. */
const chunkBytes = 16 * 1024;
/** The version does not matter, because only headers are used. */
const context = { version: formatVersion, ordinal: 0, maxDepth: defaultLimits.maxDepth };

/**
 * Reads a file up to its header.
 *
 * @throws SessileError EMPTY, NO_HEADER
 */
export async function readFirstHeader(
  file: OpenFile,
  stat: FileStat,
  path: string,
  options: ReadLineOptions,
): Promise<FirstHeader> {
  let lines = 0;
  let found: FirstHeader | undefined;
  const inspect = (line: Uint8Array, at: number, isTail = false) => {
    if (found !== undefined) return;
    const parts = decodeParts(line, { ...context, isFirst: at === 0 });
    for (const { start, decoded } of parts)
      if (decoded.kind === "header" && found === undefined)
        found = {
          ...headerOf(decoded, { at, length: line.length }, lines),
          start,
          isJoined: parts.length > 1,
        };
    if (parts[0]?.decoded.kind !== "blank" || !isTail) lines++;
  };
  for await (const batch of readLines(file, stat, undefined, { ...options, chunkBytes })) {
    eachLine(batch, {
      line: (bytes, at, start, end) => inspect(bytes.subarray(start, end), at),
      tooLong: () => void lines++,
    });
    if (batch.tail !== undefined) inspect(batch.tail.bytes, batch.tail.at, true);
    if (found !== undefined) return found;
  }
  throw missingHeaderError(path, lines);
}

function headerOf(
  { header, diagnostics }: DecodedLine & { readonly kind: "header" },
  place: LinePlace,
  before: number,
): Omit<FirstHeader, "start" | "isJoined"> {
  return {
    ...place,
    version: headerVersion(header),
    diagnostics: [
      ...diagnostics,
      ...(before > 0 ? [linesBeforeHeader(before)] : []),
      ...(isNewer(header) ? [newerVersion] : []),
    ],
  };
}
