/** An erasure: the whole log is written after its old end, with lines in place of others. */

import type { LineReplacement } from "../../session/index.js";
import { summarizeLines } from "../../session/internal.js";
import type { SqlRow, SqlStatement, SqlValue } from "./dialect.js";
import { type LogRow, lineRows, readBytes } from "./lines.js";

/** Bytes of rows that one statement moves. SQLite keeps them apart until it inserts them. */
export const moveBytes: number = 8 * 1024 * 1024;

/** A new log after an old one. */
export interface RowRewriting {
  /** The offset after the new lines. */
  readonly end: number;
  /** The new rows of the replaced lines. */
  readonly rows: readonly LogRow[];
  /** Statements that move the rows of the other lines. */
  readonly moves: readonly SqlStatement[];
  /** The offsets of header, preview and info in the new log, and the preview. */
  readonly shown: readonly SqlValue[];
}

/**
 * Plans the new lines.
 * @param session the session's row: base, head, and the offsets of the lines that a list shows
 * @param condition partition, id, epoch and head of the session
 */
export function planRewriting(
  session: SqlRow,
  changes: readonly LineReplacement[],
  sql: { readonly moveRows: string },
  condition: readonly SqlValue[],
): RowRewriting {
  const [base, head] = [Number(session.base), Number(session.head)];
  const rows: LogRow[] = [];
  const moves: SqlStatement[] = [];
  /** The offset after the unchanged lines so far, and what is added to the offsets of those that follow. */
  let from = base;
  let shift = head - base;
  /** The new offset of a line of the old log. */
  const shifts: (readonly [from: number, shift: number])[] = [[base, shift]];
  const move = (to: number): void => {
    for (let at = from; at < to; at += moveBytes) {
      const range = [at, Math.min(at + moveBytes, to)];
      moves.push({ sql: sql.moveRows, params: [shift, ...condition, ...range] });
    }
  };
  for (const { at, length, line } of changes) {
    move(at);
    for (const row of lineRows(line, at + shift)) rows.push(row);
    from = at + length + 1;
    shift += line.length - (length + 1);
    shifts.push([from, shift]);
  }
  move(head);
  const moved = (offset: unknown): number | null => {
    if (offset === null) return null;
    const old = Number(offset);
    return old + (shifts.findLast(([start]) => start <= old)?.[1] ?? 0);
  };
  const summaryAt = (offset: unknown) => {
    const change = offset === null ? undefined : changes.find(({ at }) => at === Number(offset));
    return change && summarizeLines([change.line.subarray(0, -1)], { head: false });
  };
  const [first, info] = [summaryAt(session.preview_at), summaryAt(session.info_at)];
  const isShown = session.preview_at !== null && (first === undefined || first.preview !== undefined);
  const isNamed = info === undefined || info.info !== undefined;
  const preview = first?.preview?.line ?? readBytes(session.preview);
  return {
    end: head + shift,
    rows,
    moves,
    shown: [
      moved(session.header_at),
      isShown ? moved(session.preview_at) : null,
      isNamed ? moved(session.info_at) : null,
      isShown ? preview : null,
    ],
  };
}
