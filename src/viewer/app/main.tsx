/** The start of the page: reads the session, shows it, and follows it if it is live. */

import { render } from "preact";
import type { PageUpdate } from "../page-data.js";
import { App } from "./app.js";
import { readPage, ViewerState } from "./viewer-state.js";

const source = readPage(document);
const state = new ViewerState(source);
const place = document.getElementById("app") ?? document.body;
place.replaceChildren();
const isThere = state.readAddress();
// The end of a long live session is there first, and an entry of the address may come later.
if (state.model.data.isPart === true) {
  if (!isThere) state.goEnd();
  const stop = state.listen(() => {
    if (state.model.data.isPart === true) return;
    stop();
    if (!isThere) state.readAddress();
  });
}
render(<App state={state} />, place);
addEventListener("hashchange", () => state.readAddress());
addEventListener("popstate", () => state.readAddress());
// A render from the root is synchronous, so that the whole conversation is there before it is printed.
addEventListener("beforeprint", () => {
  state.set({ printing: true });
  render(<App state={state} />, place);
});
addEventListener("afterprint", () => state.set({ printing: false }));
if (source.data.live !== undefined) followSession(source.data.live, state);

// Follows a session that is being written: changes come as events of the page's own server.

/** Connects to an event stream. A browser connects again by itself, and names the last event. */
function followSession(path: string, state: ViewerState): EventSource {
  const events = new EventSource(new URL(path, location.href));
  events.addEventListener("open", () => state.set({ live: "connected" }));
  events.addEventListener("error", () => state.set({ live: "lost" }));
  events.addEventListener("change", (event: MessageEvent<string>) => {
    const update: PageUpdate = JSON.parse(event.data);
    state.update(update);
  });
  return events;
}
