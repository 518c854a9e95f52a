/**
 * What several views share: hooks for the state and virtual lists, and components that contain their errors.
 */

import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
} from "@tanstack/virtual-core";
import { Component, type ComponentType, createContext, type FunctionComponent, h } from "preact";
import { useContext, useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import type { ViewerState } from "./viewer-state.js";

/** The id of the list of rows, which the timeline scrolls. */
export const rowsId = "rows";

/** The state of the page, for all views below the application. */
export const StateContext = createContext<ViewerState | undefined>(undefined);

export function useViewer(): ViewerState {
  const state = useContext(StateContext);
  if (state === undefined) throw new Error("a view outside the application");
  return state;
}

/** Renders the component again on demand. */
export function useUpdate(): () => void {
  const [, update] = useReducer((count: number) => count + 1, 0);
  return update as () => void;
}

/** Renders the component after each change of the state. */
export function useChanges(state: ViewerState): void {
  const update = useUpdate();
  useLayoutEffect(() => state.listen(update), [state]);
}

/** False until the page was painted once: views that a reader does not need first wait for it. */
export function useAfterPaint(): boolean {
  const [isPainted, setPainted] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const frame = requestAnimationFrame(() => {
      timer = setTimeout(() => setPainted(true));
    });
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  }, []);
  return isPainted;
}

/** Lets the page handle events, between slices of long work. */
export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** A list of which only the visible part is in the document. */
interface VirtualList {
  readonly items: readonly VirtualItem[];
  /** Pixels before the first and after the last item. */
  readonly before: number;
  readonly after: number;
  /** For the `ref` of each item, which has its index in `data-index`. */
  measure(element: Element | null): void;
  scrollTo(index: number, align: "start" | "center" | "auto"): void;
  scrollToEnd(): void;
  /** The item at a place of the scrolled content, with the part of it that is above: 2.5 is the middle of the third. */
  itemAt(offset: number): number;
}

/** Options of {@link useVirtualList}. */
interface VirtualListOptions {
  readonly count: number;
  readonly scroller: { readonly current: HTMLElement | null };
  /** Pixels between the start of the scrolled content and the list. */
  readonly margin?: number;
  readonly overscan?: number;
  /** Pixels from the end within which the end stays in view. Items before the first one move nothing. */
  readonly endDistance?: number;
  estimate(index: number): number;
  readKey(index: number): string;
}

export function useVirtualList(options: VirtualListOptions): VirtualList {
  const update = useUpdate();
  const made = useRef<Virtualizer<HTMLElement, Element> | undefined>(undefined);
  const { count, scroller, margin = 0, overscan = 4, endDistance, estimate, readKey } = options;
  const settings = {
    count,
    overscan,
    scrollMargin: margin,
    estimateSize: estimate,
    getItemKey: readKey,
    getScrollElement: () => scroller.current,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: update,
    ...(endDistance !== undefined && {
      anchorTo: "end" as const,
      followOnAppend: true,
      scrollEndThreshold: endDistance,
    }),
  };
  made.current ??= new Virtualizer<HTMLElement, Element>(settings);
  const virtualizer = made.current;
  virtualizer.setOptions(settings);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  const items = virtualizer.getVirtualItems();
  const [first, last] = [items[0], items.at(-1)];
  return {
    items,
    before: first === undefined ? 0 : first.start - margin,
    after: last === undefined ? 0 : Math.max(0, virtualizer.getTotalSize() - (last.end - margin)),
    measure: (element) => virtualizer.measureElement(element),
    scrollTo: (index, align) => virtualizer.scrollToIndex(index, { align }),
    scrollToEnd: () => virtualizer.scrollToEnd(),
    itemAt(offset) {
      const item = virtualizer.getVirtualItemForOffset(offset);
      if (item === undefined) return 0;
      return item.index + Math.max(0, Math.min(1, (offset - item.start) / Math.max(1, item.size)));
    },
  };
}

// A component that renders again only if its properties changed, and that contains its errors.

/**
 * Makes a component that compares its properties first. An error inside is shown in its place, so that one
 * odd entry does not take the page with it.
 */
export function memo<P extends object>(
  view: FunctionComponent<P>,
  isSame: (before: P, after: P) => boolean,
): ComponentType<P> {
  return class extends Component<P, { readonly failure?: unknown }> {
    static override getDerivedStateFromError(failure: unknown) {
      return { failure };
    }
    override shouldComponentUpdate(next: P, state: { readonly failure?: unknown }): boolean {
      return state !== this.state || !isSame(this.props as P, next);
    }
    override render() {
      const { failure } = this.state;
      if (failure === undefined) return h(view as FunctionComponent<object>, this.props);
      return h("p", { class: "error-text" }, `This part cannot be shown: ${failure}`);
    }
  } as unknown as ComponentType<P>;
}
