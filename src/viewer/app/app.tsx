/** The page: the bar with the search, the outline, the conversation, the panel of a context, and the keys. */

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { searchEntries } from "../model/search.js";
import { ContextPanelView } from "./context-panel.js";
import { Conversation, Dialog, LargeImage } from "./conversation.js";
import { pause, StateContext, useChanges, useViewer } from "./hooks.js";
import { Outline } from "./outline-view.js";
import type { FindState, Hit, ViewerState } from "./viewer-state.js";

export function App({ state }: { readonly state: ViewerState }) {
  useChanges(state);
  // With the first row: a key that comes before the first paint counts too.
  useLayoutEffect(() => {
    const listener = (event: KeyboardEvent) => handleKey(event, state);
    addEventListener("keydown", listener);
    return () => removeEventListener("keydown", listener);
  }, [state]);
  const { view, model, models } = state;
  const { title } = models.get(models.main).facts;
  useEffect(() => {
    document.title = title;
  }, [title]);
  const classes = ["page"];
  if (view.outlineOpen) classes.push("outline-open");
  if (view.panel !== undefined) classes.push("panel-open");
  if (view.printing) classes.push("printing");
  return (
    <StateContext.Provider value={state}>
      <div class={classes.join(" ")}>
        <header class="bar">
          {state.data.list !== undefined && (
            <a class="list-link" href={state.data.list}>
              ‹ Sessions
            </a>
          )}
          <button
            type="button"
            class="outline-button"
            aria-expanded={view.outlineOpen}
            onClick={() => state.set({ outlineOpen: !view.outlineOpen })}
          >
            Tree
          </button>
          {view.session !== models.main && (
            <button
              type="button"
              title="To the call that started this subagent"
              onClick={() => state.goStart()}
            >
              Up <kbd>u</kbd>
            </button>
          )}
          <h1 class="bar-title">
            <bdi>{model.facts.title}</bdi>
          </h1>
          {view.live !== "off" && (
            <span class={`live ${view.live}`} role="status">
              {view.live === "connected" ? "● live" : "○ connection lost"}
            </span>
          )}
          <button type="button" onClick={() => state.set({ find: { words: "", hits: [], at: -1 } })}>
            Find <kbd>/</kbd>
          </button>
          <button type="button" aria-label="Keys" onClick={() => state.set({ help: true })}>
            <kbd>?</kbd>
          </button>
        </header>
        {view.find !== undefined && <FindBar find={view.find} />}
        <Outline key={`tree ${view.session}`} />
        <Conversation key={`session ${view.session}`} />
        {view.panel !== undefined && <ContextPanelView panel={view.panel} />}
        {view.help && <Help state={state} />}
        {view.image !== undefined && <LargeImage state={state} image={view.image} />}
      </div>
    </StateContext.Provider>
  );
}

function Help({ state }: { readonly state: ViewerState }) {
  return (
    <Dialog title="Keys" onClose={() => state.set({ help: false })}>
      <dl class="keys">
        {keys.map(({ names, text }) => (
          <div key={text}>
            <dt>
              {names.map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

// The search: a field, the number of messages that contain the words, and the way from one to the next.

const typingMs = 120;

function FindBar({ find }: { readonly find: FindState }) {
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

// The keys of the page.

/** A key with its act, for the page and for its list of keys. */
const keys: readonly {
  readonly names: readonly string[];
  readonly text: string;
  readonly act: (state: ViewerState, name: string) => void;
}[] = [
  {
    names: ["j", "k"],
    text: "next, previous message",
    act: (state, name) => state.step(name === "j" ? 1 : -1),
  },
  {
    names: ["g", "G"],
    text: "first, last message",
    act: (state, name) => state.step(name === "g" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY),
  },
  {
    names: ["[", "]"],
    text: "previous, next branch here or above",
    act: (state, name) => state.stepBranch(name === "]" ? 1 : -1),
  },
  { names: ["/"], text: "find", act: (state) => state.set({ find: { words: "", hits: [], at: -1 } }) },
  {
    names: ["n", "N"],
    text: "next, previous match",
    act: (state, name) => stepHit(state, name === "n" ? 1 : -1),
  },
  { names: ["c"], text: "what the model saw here", act: (state) => openContext(state, "seen") },
  { names: ["s"], text: "as sent to a provider", act: (state) => openContext(state, "sent") },
  {
    names: ["t"],
    text: "tree",
    act: focusOutline,
  },
  { names: ["i"], text: "facts", act: (state) => state.set({ factsOpen: !state.view.factsOpen }) },
  { names: ["u"], text: "up: to the call that started this subagent", act: (state) => state.goStart() },
  { names: ["o"], text: "open or fold the message's parts", act: toggleParts },
  { names: ["Esc"], text: "close", act: close },
  { names: ["?"], text: "keys", act: (state) => state.set({ help: true }) },
];

/** Handles a key, unless it belongs to a field, a dialog or the browser. */
function handleKey(event: KeyboardEvent, state: ViewerState): void {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const element = target instanceof Element ? target : undefined;
  if (element?.closest("dialog") != null) return;
  if (element?.closest("input, select, textarea") != null && key !== "Escape") return;
  const name = key === "Escape" ? "Esc" : key;
  const found = keys.find(({ names }) => names.includes(name));
  if (found === undefined) return;
  event.preventDefault();
  found.act(state, name);
}

/** Goes to another entry that contains the words of the search. */
function stepHit(state: ViewerState, by: 1 | -1, focus = true): void {
  const { find } = state.view;
  const count = find?.hits?.length ?? 0;
  if (find === undefined || count === 0) return;
  const at = find.at < 0 && by < 0 ? count - 1 : (find.at + by + count) % count;
  state.set({ find: { ...find, at } });
  const hit = find.hits?.[at];
  if (hit !== undefined) state.go(hit.entryId, { session: hit.session, focus, address: "replace" });
}

function openContext(state: ViewerState, tab: "seen" | "sent"): void {
  const entryId = state.view.focusId ?? state.rows.at(-1)?.id;
  if (entryId !== undefined) state.set({ panel: { entryId, tab } });
}

/** Goes to the tree, which is a drawer in narrow windows. */
function focusOutline(state: ViewerState): void {
  const outline = document.querySelector(".outline");
  if (outline?.checkVisibility() !== true) state.set({ outlineOpen: true });
  const focus = (frames: number) => {
    const line = outline?.querySelector<HTMLElement>("[data-current]") ?? outline?.querySelector("a");
    if (line) line.focus();
    // The lines come after the first paint.
    else if (frames > 0) requestAnimationFrame(() => focus(frames - 1));
  };
  requestAnimationFrame(() => focus(maxFrames));
}

const maxFrames = 120;

/** Opens all folds of the row in focus, also those within others; folds them if all are open. */
function toggleParts(state: ViewerState): void {
  const { focusId } = state.view;
  if (focusId === undefined) return;
  const parts = () => {
    const row = document.querySelector(`[data-entry="${CSS.escape(focusId)}"]`);
    return [...(row?.querySelectorAll<HTMLElement>("[data-fold]") ?? [])];
  };
  const click = (wanted: "open" | "closed") => {
    const found = parts().filter(({ dataset }) => dataset.fold === wanted);
    for (const part of found) part.click();
    return found.length > 0;
  };
  const open = (depth: number) => {
    if (depth > 0 && click("closed")) requestAnimationFrame(() => open(depth - 1));
  };
  if (parts().some(({ dataset }) => dataset.fold === "closed")) open(maxFoldDepth);
  else click("open");
}

/** Looks, calls, results, texts. */
const maxFoldDepth = 4;

function close(state: ViewerState): void {
  const { outlineOpen, panel, find, factsOpen } = state.view;
  if (outlineOpen) state.set({ outlineOpen: false });
  else if (find !== undefined) state.set({ find: undefined });
  else if (panel !== undefined) state.set({ panel: undefined });
  else if (factsOpen) state.set({ factsOpen: false });
  focusRow(state);
}

function focusRow(state: ViewerState): void {
  const { focusId } = state.view;
  if (focusId === undefined) return;
  document
    .querySelector<HTMLElement>(`[data-entry="${CSS.escape(focusId)}"]`)
    ?.focus({ preventScroll: true });
}
