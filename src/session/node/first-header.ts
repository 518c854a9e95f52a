import type { FileStat, OpenFile } from "../../internal/node/file-system.js";
import type { LinePlace } from "../api/backend.js";
import { beforeHeaderNote, newerVersionNote, unopenable } from "../api/diagnostics.js";
import { formatVersion, type SessionHeader } from "../api/entries.js";
import { type Decoded, decodeHead, isNewer, type LineNote } from "../format/decode.js";
import { defaultLimits } from "../format/line-splitter.js";
import { versionOf } from "../format/migrate.js";
import { eachLine } from "../runtime/log-lines.js";
import { readLines } from "./read-lines.js";

/** The header of a file and its position, nearly always 0. */
export interface FirstHeader extends LinePlace {
  readonly version: number;
  /** Its diagnostics. */
  readonly notes: readonly LineNote[];
}

/** Small: a header is short, and nearly always the first line. */
const chunkBytes = 16 * 1024;
/** The version of entries does not matter here: only headers are used. */
const context = { version: formatVersion, ordinal: 0, maxDepth: defaultLimits.maxDepth };

/**
 * Reads a file up to its header.
 *
 * @throws SessileError EMPTY, NO_HEADER
 */
export async function firstHeader(
  file: OpenFile,
  stat: FileStat,
  path: string,
  { maxLineBytes, signal }: { readonly maxLineBytes: number; readonly signal?: AbortSignal | undefined },
): Promise<FirstHeader> {
  const reading = { maxLineBytes, chunkBytes, ...(signal === undefined ? {} : { signal }) };
  let lines = 0;
  let found: FirstHeader | undefined;
  const look = (line: Uint8Array, at: number, isTail = false) => {
    if (found !== undefined) return;
    const decoded = decodeHead(line, { ...context, isFirst: at === 0 });
    if (decoded.kind === "header") found = headerOf(decoded, { at, length: line.length }, lines);
    if (decoded.kind !== "blank" || !isTail) lines++;
  };
  for await (const batch of readLines(file, stat, undefined, reading)) {
    eachLine(batch, {
      line: (bytes, at, start, end) => look(bytes.subarray(start, end), at),
      tooLong: () => void lines++,
    });
    if (batch.tail !== undefined) look(batch.tail.bytes, batch.tail.at, true);
    if (found !== undefined) return found;
  }
  throw unopenable(path, lines);
}

function headerOf(
  { header, notes }: Decoded & { readonly kind: "header" },
  place: LinePlace,
  before: number,
): FirstHeader {
  return {
    ...place,
    version: versionOf(header),
    notes: [
      ...notes,
      ...(before > 0 ? [beforeHeaderNote(before)] : []),
      ...(isNewer(header) ? [newerVersionNote] : []),
    ],
  };
}

/** Decodes a line that may be a header. */
export function headerOfLine(line: Uint8Array, isFirst: boolean): SessionHeader | undefined {
  const decoded = decodeHead(line, { ...context, isFirst });
  return decoded.kind === "header" ? decoded.header : undefined;
}
