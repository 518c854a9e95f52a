import type { LinePlace } from "../../api/backend.js";
import { formatVersion } from "../../api/entries.js";
import { decodeLine } from "../../format/decode.js";
import { entryIdOf } from "../../format/entry-prefix.js";
import { defaultLimits } from "../../format/line-splitter.js";

/** A whole line within one that is none. */
export interface ConcatenatedLine extends LinePlace {
  /** Of its entry; undefined for a header. */
  readonly entryId: string | undefined;
  /** Where the line lies that it is in. */
  readonly within: number;
}

/** Where a line begins as every writer begins it. In a string its quotes would have backslashes. */
const beginning =
  /\{"type":"(?:session",|[^"\\]{0,200}","id":"[^"\\]{0,200}","parentId":(?:null|"[^"\\]{0,200}"),"timestamp":")/g;

/**
 * The whole lines in one that cannot be read: its line feed was lost, or a program that did not look wrote behind half a
 * line. Each ends with the last brace before the next one, so that a byte in the place of the line feed does not count.
 *
 * @param at where the line lies in the file
 */
export function splitConcatenatedLines(line: Uint8Array, at: number): readonly ConcatenatedLine[] {
  const text = Buffer.from(line.buffer, line.byteOffset, line.length).toString("latin1");
  const starts = Array.from(text.matchAll(beginning), ({ index }) => index);
  const found: ConcatenatedLine[] = [];
  for (const [number, start] of starts.entries()) {
    const next = starts[number + 1] ?? line.length;
    // Looked for in the piece alone: where it has none, what stands before is not searched again for each.
    const end = start + text.slice(start, next).lastIndexOf("}") + 1;
    if (end <= start || (start === 0 && end === line.length)) continue;
    // A value in a line that was cut off behind it: somebody's copy of an entry, and no entry of this session.
    if (start > 0 && ":,[".includes(text[start - 1] as string)) continue;
    const context = { version: formatVersion, ordinal: 0, maxDepth: defaultLimits.maxDepth };
    const decoded = decodeLine(line.subarray(start, end), context);
    const place = { at: at + start, length: end - start, within: at };
    if (decoded.kind === "header") found.push({ ...place, entryId: undefined });
    if (decoded.kind === "entry") found.push({ ...place, entryId: entryIdOf(decoded.head.id) });
  }
  return found;
}
