/** The search: a field, the number of messages that contain the words, and the way from one to the next. */

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { searchEntries } from "../model/search.js";
import { pause, useViewer } from "./hooks.js";
import { stepHit } from "./keys.js";
import type { FindState, Hit } from "./view-state.js";
import type { ViewerState } from "./viewer-state.js";

const typingMs = 120;

export function FindBar({ find }: { readonly find: FindState }) {
  const state = useViewer();
  const field = useRef<HTMLInputElement>(null);
  const { version } = state.models;
  // Before the next key of a user who types fast.
  useLayoutEffect(() => field.current?.focus(), []);
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      const hits: Hit[] = [];
      for (const session of state.models.keys) {
        const { entries } = state.models.get(session);
        const found = await searchEntries(entries, find.words, { pause, signal: abort.signal });
        for (const entryId of found) hits.push({ session, entryId });
        if (abort.signal.aborted) return;
      }
      // Effects are cleaned up after the next paint: other words may be typed, or the field closed, by now.
      if (state.view.find?.words !== find.words) return;
      show(state, find.words, hits);
    }, typingMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [find.words, version]);
  const { hits, at, words } = find;
  return (
    <search class="find">
      <input
        ref={field}
        type="text"
        aria-label="Find in the session"
        placeholder="Find in all branches and subagents, folded text too"
        value={words}
        onInput={(event) =>
          state.set({ find: { words: event.currentTarget.value, hits: undefined, at: -1 } })
        }
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          stepHit(state, event.shiftKey ? -1 : 1, false);
        }}
      />
      <span role="status" class="find-count">
        {words.trim() === "" ? "" : hits === undefined ? "searching…" : readCount(hits.length, at)}
      </span>
      <button type="button" disabled={!hits?.length} onClick={() => stepHit(state, -1)}>
        Previous
      </button>
      <button type="button" disabled={!hits?.length} onClick={() => stepHit(state, 1)}>
        Next
      </button>
      <button type="button" onClick={() => state.set({ find: undefined })}>
        Close
      </button>
    </search>
  );
}

/** Stays at a hit that is still one, as when a live session grows; else goes to the first one here. */
function show(state: ViewerState, words: string, hits: readonly Hit[]): void {
  const { find, session } = state.view;
  const before = find?.hits?.[find.at];
  const same = hits.findIndex((hit) => hit.session === before?.session && hit.entryId === before.entryId);
  if (same >= 0) {
    state.set({ find: { words, hits, at: same } });
    return;
  }
  const here = hits.findIndex((hit) => hit.session === session);
  state.set({ find: { words, hits, at: Math.max(0, here) - 1 } });
  if (hits.length > 0) stepHit(state, 1, false);
}

function readCount(count: number, at: number): string {
  if (count === 0) return "no match";
  return at < 0 ? `${count} entries` : `${at + 1} of ${count} entries`;
}
