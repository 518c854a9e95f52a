/** Finds whole lines within an unreadable one, after a lost line feed. */

import type { LinePlace } from "../../api/backend.js";
import { formatVersion } from "../../api/entries.js";
import { decodeLine } from "../../format/decode.js";
import { entryIdOf } from "../../format/entry-prefix.js";
import { defaultLimits } from "../../format/line-splitter.js";

/** A whole line within an unreadable one. */
export interface ConcatenatedLine extends LinePlace {
  /** The id of its entry; undefined for a header. */
  readonly entryId: string | undefined;
  /** The offset of the unreadable line. */
  readonly within: number;
}

/** The start of a line as every writer prints it. Within a JSON string its quotes would be escaped. */
const lineStart = (() => {
  const text = /[^"\\]{0,200}/.source;
  const entry = `${text}","id":"${text}","parentId":(?:null|"${text}"),"timestamp":"`;
  return new RegExp(`\\{"type":"(?:session",|${entry})`, "g");
})();

/**
 * The whole lines within an unreadable line: a line feed was lost, or a program without locks appended to a
 * torn line. Each ends with the last brace before the next start, so that a corrupt byte in place of the line
 * feed is ignored.
 *
 * @param at the offset of the line in the file
 */
export function splitConcatenatedLines(line: Uint8Array, at: number): readonly ConcatenatedLine[] {
  const text = Buffer.from(line.buffer, line.byteOffset, line.length).toString("latin1");
  const starts = Array.from(text.matchAll(lineStart), ({ index }) => index);
  const found: ConcatenatedLine[] = [];
  for (const [number, start] of starts.entries()) {
    const next = starts[number + 1] ?? line.length;
    // Searches this piece only: a search of the whole text for each piece would be quadratic.
    const end = start + text.slice(start, next).lastIndexOf("}") + 1;
    if (end <= start || (start === 0 && end === line.length)) continue;
    // A value within a truncated line is a copy of an entry, and not an entry of this session.
    if (start > 0 && ":,[".includes(text[start - 1] as string)) continue;
    const context = { version: formatVersion, ordinal: 0, maxDepth: defaultLimits.maxDepth };
    const decoded = decodeLine(line.subarray(start, end), context);
    const place = { at: at + start, length: end - start, within: at };
    if (decoded.kind === "header") found.push({ ...place, entryId: undefined });
    if (decoded.kind === "entry") found.push({ ...place, entryId: entryIdOf(decoded.head.id) });
  }
  return found;
}
