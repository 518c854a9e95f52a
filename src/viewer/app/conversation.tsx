/**
 * The conversation of the page: a line of facts, the timeline, the rows of the branch, and images shown large.
 */

import type { ComponentChildren } from "preact";
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Row } from "../model/rows.js";
import { lookVerb } from "../model/tool-views.js";
import { rowsId, useViewer, useVirtualList } from "./hooks.js";
import { MessageRow, ReplyRow } from "./message-row.js";
import { type RowsInView, SessionFactsView, TimelineStrip } from "./session-facts.js";
import type { ViewerState } from "./viewer-state.js";

/** Pixels from its end within which a live session keeps its end in view: the space below the last row. */
const endDistance = 500;

export function Conversation() {
  const state = useViewer();
  const scroller = useRef<HTMLElement>(null);
  const inView = useRef<RowsInView>({});
  const isLive = state.data.live !== undefined;
  return (
    <div class="session">
      <SessionFactsView />
      <TimelineStrip inView={inView.current} />
      <main ref={scroller} aria-label="Session">
        <Rows scroller={scroller} margin={0} inView={inView.current} {...(isLive && { endDistance })} />
      </main>
    </div>
  );
}

/** The height of an element; undefined until it is known. */
export function useHeight(of: { readonly current: HTMLElement | null }): number | undefined {
  const [height, setHeight] = useState<number>();
  useLayoutEffect(() => {
    const element = of.current;
    if (element === null) return;
    setHeight(element.offsetHeight);
    const observer = new ResizeObserver(() => setHeight(element.offsetHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return height;
}

// The rows of the branch as a virtual list, which keeps its place and follows its end.

/** More rows than a printer or a browser handles well. */
const maxPrintedRows = 5000;
/** Frames in which a row must appear after a scroll. */
const maxFrames = 120;

interface RowsProps {
  readonly scroller: { readonly current: HTMLElement | null };
  /** The height of the part above the rows; undefined until it is known. */
  readonly margin: number | undefined;
  /** Pixels from the end within which the end stays in view while the session grows. Default: never. */
  readonly endDistance?: number;
  /** Is told which rows are visible, and scrolls. */
  readonly inView?: RowsInView;
}

/** Renders with each scroll; the part above it does not. */
export function Rows({ scroller, margin, endDistance, inView }: RowsProps) {
  const state = useViewer();
  const { rows, view } = state;
  const { reply } = view;
  const count = rows.length + (reply === undefined ? 0 : 1);
  // The list asks for all of them again after each measured row.
  const heights = useMemo(() => Uint16Array.from(rows, estimateHeight), [rows]);
  const estimate = useCallback((index: number) => heights[index] ?? 60, [heights]);
  const readKey = useCallback((index: number) => rows[index]?.id ?? "reply", [rows]);
  const list = useVirtualList({
    ...{ count, scroller, margin: margin ?? 0, estimate, readKey },
    ...(endDistance !== undefined && { endDistance }),
  });
  useSteadyPlace(scroller, margin);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (inView === undefined || element === null) return;
    inView.scrollTo = (row) => list.scrollTo(row, "start");
    const tell = () => {
      const { scrollTop, clientHeight } = element;
      inView.show?.(list.itemAt(scrollTop), list.itemAt(scrollTop + clientHeight));
    };
    tell();
    element.addEventListener("scroll", tell, { passive: true });
    return () => element.removeEventListener("scroll", tell);
  });
  useLayoutEffect(() => {
    // The list has no place before its margin is known.
    const wanted = margin === undefined ? undefined : state.takeWanted();
    if (wanted === undefined) return;
    if (wanted === "end") {
      list.scrollToEnd();
      return;
    }
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
    <div id={rowsId} role="feed" aria-label="Conversation" class="rows" aria-busy="false">
      {!view.printing && <div style={{ height: `${list.before}px` }} />}
      {shown.map((index) => {
        const row = rows[index];
        if (row === undefined)
          return reply && <ReplyRow key="reply" reply={reply} index={index} measure={list.measure} />;
        return (
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
      {count === 0 && !state.isEmbedded && <p class="empty">The session has no messages on this branch.</p>}
      {view.printing && rows.length > maxPrintedRows && (
        <p class="empty">{rows.length - maxPrintedRows} more entries are not printed.</p>
      )}
    </div>
  );
}

/** Keeps the rows in view at their place when the part above them gets another height. */
function useSteadyPlace(scroller: RowsProps["scroller"], margin: number | undefined): void {
  const known = useRef(margin);
  useLayoutEffect(() => {
    const by = (margin ?? 0) - (known.current ?? margin ?? 0);
    known.current = margin;
    const element = scroller.current;
    if (element !== null && by !== 0 && element.scrollTop > (margin ?? 0) - by) element.scrollTop += by;
  }, [margin]);
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
    case "quiet":
    case "unknown":
      return 32;
    case "assistant": {
      const { content } = row.message;
      const open = row.calls.filter(({ state, call }) => state !== "done" || lookVerb(call) === undefined);
      const height = (row.isContinued ? 16 : 48) + (content.length - row.calls.length) * 72;
      return Math.min(maxEstimate, height + row.calls.length * 28 + open.length * 48);
    }
    case "compaction":
    case "branchSummary":
      return 180;
    default:
      return 120;
  }
}

// Modal dialogs, such as an image shown large.

/** A modal dialog, which the browser closes with Escape. */
export function Dialog(props: {
  readonly title: string;
  readonly class?: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} class={props.class ?? ""} aria-label={props.title} onClose={props.onClose}>
      <div class="dialog-head">
        <h2>{props.title}</h2>
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
      {props.children}
    </dialog>
  );
}

export function LargeImage(props: {
  readonly state: ViewerState;
  readonly image: { readonly src: string; readonly name: string };
}) {
  const { src, name } = props.image;
  return (
    <Dialog title={name} class="large-image" onClose={() => props.state.set({ image: undefined })}>
      <img src={src} alt={name} />
    </Dialog>
  );
}
