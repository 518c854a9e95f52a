/** The conversation of the page: facts of the session, the timeline, and the rows of the branch. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useViewer } from "./hooks.js";
import { Rows } from "./rows-view.js";
import { SessionFactsView } from "./session-facts.js";
import { TimelineView } from "./timeline-view.js";

/** Pixels from its end within which a live session keeps its end in view: the space below the last row. */
const endDistance = 500;

export function Conversation() {
  const state = useViewer();
  const scroller = useRef<HTMLElement>(null);
  const above = useRef<HTMLDivElement>(null);
  const margin = useHeight(above);
  const isLive = state.data.live !== undefined;
  return (
    <main ref={scroller} aria-label="Session">
      <div ref={above} class="above">
        {state.model.data.isPart === true ? (
          <p class="small" role="status">
            The earlier part of the session is being loaded.
          </p>
        ) : (
          <>
            <SessionFactsView />
            <TimelineView />
          </>
        )}
      </div>
      <Rows scroller={scroller} margin={margin} {...(isLive && { endDistance })} />
    </main>
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
