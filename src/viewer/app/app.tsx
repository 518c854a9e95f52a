/** The page: the bar, the outline, the conversation, the panel of a context, and the keys. */

import { useEffect, useLayoutEffect } from "preact/hooks";
import { ContextPanelView } from "./context-panel.js";
import { Conversation } from "./conversation.js";
import { Dialog, LargeImage } from "./dialog.js";
import { FindBar } from "./find-bar.js";
import { StateContext, useChanges } from "./hooks.js";
import { handleKey, keys } from "./keys.js";
import { Outline } from "./outline-view.js";
import type { ViewerState } from "./viewer-state.js";

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
          <span class="bar-title">{model.facts.title}</span>
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
