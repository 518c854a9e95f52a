/** The keys of the page. */

import type { ViewerState } from "./viewer-state.js";

/** A key with its act, for the page and for its list of keys. */
export const keys: readonly {
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
  { names: ["u"], text: "up: to the call that started this subagent", act: (state) => state.goStart() },
  { names: ["o"], text: "open or fold the message's parts", act: toggleParts },
  { names: ["Esc"], text: "close", act: close },
  { names: ["?"], text: "keys", act: (state) => state.set({ help: true }) },
];

/** Handles a key, unless it belongs to a field, a dialog or the browser. */
export function handleKey(event: KeyboardEvent, state: ViewerState): void {
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
export function stepHit(state: ViewerState, by: 1 | -1, focus = true): void {
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

/** Clicks on the folds of the row in focus, all in the direction of the first. */
function toggleParts(state: ViewerState): void {
  const { focusId } = state.view;
  if (focusId === undefined) return;
  const row = document.querySelector(`[data-entry="${CSS.escape(focusId)}"]`);
  const parts = [...(row?.querySelectorAll<HTMLElement>("[data-fold]") ?? [])];
  const wanted = parts.some(({ dataset }) => dataset.fold === "closed") ? "closed" : "open";
  for (const part of parts) if (part.dataset.fold === wanted) part.click();
}

function close(state: ViewerState): void {
  const { outlineOpen, panel, find } = state.view;
  if (outlineOpen) state.set({ outlineOpen: false });
  else if (find !== undefined) state.set({ find: undefined });
  else if (panel !== undefined) state.set({ panel: undefined });
  focusRow(state);
}

function focusRow(state: ViewerState): void {
  const { focusId } = state.view;
  if (focusId === undefined) return;
  document
    .querySelector<HTMLElement>(`[data-entry="${CSS.escape(focusId)}"]`)
    ?.focus({ preventScroll: true });
}
