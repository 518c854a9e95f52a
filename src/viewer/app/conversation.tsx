/** The conversation: facts of the session, the timeline, and the rows of the branch as a virtual list. */

import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Row } from "../model/rows.js";
import { useViewer, useVirtualList, type VirtualList } from "./hooks.js";
import { MessageRow } from "./message-row.js";
import { SessionFactsView } from "./session-facts.js";
import { TimelineView } from "./timeline-view.js";
import type { ViewerState } from "./viewer-state.js";

/** More rows than a printer or a browser handles well. */
const maxPrintedRows = 5000;
/** Frames in which a row must appear after a scroll. */
const maxFrames = 120;
/** Pixels from the end within which a live session keeps its end in view. */
const endDistance = 500;

export function Conversation() {
  const scroller = useRef<HTMLElement>(null);
  const above = useRef<HTMLDivElement>(null);
  const [margin, setMargin] = useState(0);
  useLayoutEffect(() => {
    const element = above.current;
    if (element === null) return;
    setMargin(element.offsetHeight);
    const observer = new ResizeObserver(() => setMargin(element.offsetHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <main ref={scroller} aria-label="Session">
      <div ref={above} class="above">
        <SessionFactsView />
        <TimelineView />
      </div>
      <Rows scroller={scroller} margin={margin} />
    </main>
  );
}

interface RowsProps {
  readonly scroller: { readonly current: HTMLElement | null };
  /** The height of the part above the rows. */
  readonly margin: number;
}

/** Renders with each scroll; the part above it does not. */
function Rows({ scroller, margin }: RowsProps) {
  const state = useViewer();
  const { rows, view } = state;
  // The list asks for all of them again after each measured row.
  const heights = useMemo(() => Uint16Array.from(rows, estimateHeight), [rows]);
  const estimate = useCallback((index: number) => heights[index] ?? 60, [heights]);
  const keyOf = useCallback((index: number) => rows[index]?.id ?? String(index), [rows]);
  const list = useVirtualList({ count: rows.length, scroller, margin, estimate, keyOf });
  useFollowing(state, scroller, list);
  useLayoutEffect(() => {
    // The list has no place before its margin is known.
    const wanted = margin === 0 ? undefined : state.takeWanted();
    if (wanted === undefined) return;
    if (wanted.isFirst !== true) list.scrollTo(state.rowIndex(wanted.id), "start");
    const isWanted = () => state.view.focusId === wanted.id;
    if (wanted.focus) focusWhenThere(scroller.current, wanted.id, isWanted);
  });
  const shown = view.printing
    ? rows.slice(0, maxPrintedRows).map((_, index) => index)
    : list.items.map(({ index }) => index);
  const { find, panel } = view;
  const { hit } = state;
  const hitRow = hit === undefined ? undefined : rows[state.rowIndex(hit)]?.id;
  return (
    <div role="feed" aria-label="Conversation" class="rows" aria-busy="false">
      {!view.printing && <div style={{ height: `${list.before}px` }} />}
      {shown.map((index) => {
        const row = rows[index];
        return row === undefined ? null : (
          <MessageRow
            key={row.id}
            row={row}
            index={index}
            count={rows.length}
            leafId={view.leafId}
            isFocused={row.id === view.focusId}
            isInPanel={row.id === panel?.entryId}
            isPrinting={view.printing}
            words={row.id === hitRow ? find?.words : undefined}
            measure={list.measure}
          />
        );
      })}
      {!view.printing && <div style={{ height: `${list.after}px` }} />}
      {rows.length === 0 && <p class="empty">The session has no messages on this branch.</p>}
      {view.printing && rows.length > maxPrintedRows && (
        <p class="empty">{rows.length - maxPrintedRows} more entries are not printed.</p>
      )}
    </div>
  );
}

/** Keeps the end in view while a live session grows, if it was in view. */
function useFollowing(state: ViewerState, scroller: RowsProps["scroller"], list: VirtualList): void {
  const { rows, view } = state;
  const known = useRef(rows);
  const wasAtEnd = useRef(false);
  const element = scroller.current;
  if (element !== null && known.current === rows) {
    const last = element.querySelector(`[data-index="${rows.length - 1}"]`);
    const bottom = last?.getBoundingClientRect().bottom ?? Number.POSITIVE_INFINITY;
    wasAtEnd.current = bottom < element.getBoundingClientRect().bottom + endDistance;
  }
  useEffect(() => {
    const grew = rows.length > known.current.length;
    known.current = rows;
    if (view.live === "connected" && grew && wasAtEnd.current) list.scrollTo(rows.length - 1, "start");
  }, [rows]);
}

/** Focuses a row after it was rendered, unless another one is wanted by then. */
function focusWhenThere(scroller: HTMLElement | null, id: string, isWanted: () => boolean): void {
  const find = (frames: number) => {
    if (!isWanted()) return;
    const element = scroller?.querySelector<HTMLElement>(`[data-entry="${CSS.escape(id)}"]`);
    if (element) element.focus({ preventScroll: true });
    else if (frames > 0) requestAnimationFrame(() => find(frames - 1));
  };
  find(maxFrames);
}

/** Fits into 16 bits. */
const maxEstimate = 60_000;

/** A guess, until a row is measured. Close guesses keep the scroll bar still. */
function estimateHeight(row: Row): number {
  switch (row.kind) {
    case "note":
    case "unknown":
      return 34;
    case "assistant": {
      const blocks = row.message.content.length - row.calls.length;
      return Math.min(maxEstimate, 60 + blocks * 70 + row.calls.length * 190);
    }
    case "compaction":
    case "branchSummary":
      return 180;
    default:
      return 120;
  }
}
