/** The parts of appended lines that a list shows, for backends that cache them beside the log. */

import { encodeUtf8 } from "../../core/bytes.js";
import {
  decodeHeads,
  defaultLimits,
  type EntryKey,
  formatVersion,
  headerVersion,
} from "../../log/internal.js";
import type { StoredSession } from "../api/backend.js";
import { lastInfo, logHead } from "./list.js";
import { maxPreviewLength } from "./preview.js";

const { maxDepth } = defaultLimits;

/** A line, and its index in the lines of an append. */
export interface SummaryLine {
  readonly line: Uint8Array;
  readonly at: number;
}

/** The lines from which a list makes the summary of a session, found in one append. */
export interface LineSummary {
  /** The header as it is stored, and the directory in it. */
  readonly header?: SummaryLine & { readonly cwd: string };
  /** A short line with the preview of the first user message, in place of that message. */
  readonly preview?: SummaryLine;
  /** The last session_info as it is stored. */
  readonly info?: SummaryLine;
  /** The entries in the lines; absent if a reader of the whole log may count others. */
  readonly counts?: NonNullable<StoredSession["counts"]>;
}

/**
 * Finds the lines that a list needs of one append. A cache keeps the first header, the first preview and the
 * last session_info: as `head` and `tail` of a `StoredSession` they give the summary of the whole log.
 *
 * @param lines without their line feeds
 * @param known.head whether the cache has a header and a preview: the lines are then searched for neither
 */
export function summarizeLines(lines: readonly Uint8Array[], known: { readonly head: boolean }): LineSummary {
  const head = known.head ? undefined : logHead(lines);
  const version = head?.header === undefined ? formatVersion : headerVersion(head.header);
  const info = lastInfo(lines, version);
  return {
    ...(head?.header && {
      header: { line: lines[head.headerAt] as Uint8Array, at: head.headerAt, cwd: head.header.cwd },
    }),
    ...(head?.firstMessage !== undefined && {
      preview: { line: previewLine(head.firstMessage), at: head.firstMessageAt },
    }),
    ...(info && { info: { line: lines[info.at] as Uint8Array, at: info.at } }),
    // Lines before the header are read in another way.
    ...(version === formatVersion && (head?.headerAt ?? 0) <= 0 && lineCounts(lines)),
  };
}

/** Counts entries by their prefixes. Damaged lines and repeated ids are for a reader of the whole log. */
function lineCounts(lines: readonly Uint8Array[]): Pick<LineSummary, "counts"> {
  const ids = new Set<EntryKey>();
  let messages = 0;
  for (const line of lines) {
    const [part, ...others] = decodeHeads(line, { version: formatVersion, ordinal: 0, maxDepth });
    if (part === undefined || others.length > 0) return {};
    const { decoded } = part;
    if (decoded.kind === "blank" || decoded.kind === "header") continue;
    if (decoded.kind === "bad" || ids.has(decoded.head.id)) return {};
    ids.add(decoded.head.id);
    if (decoded.head.type === "message") messages++;
  }
  return { counts: { entries: ids.size, messages } };
}

function previewLine(preview: string): Uint8Array {
  // A preview that was cut may end with white space, which a list would trim.
  const content = Array.from(preview).length < maxPreviewLength ? preview : `${preview}…`;
  const message = { role: "user", content, timestamp: 0 };
  const timestamp = "1970-01-01T00:00:00.000Z";
  return encodeUtf8(JSON.stringify({ type: "message", id: "preview0", parentId: null, timestamp, message }));
}
