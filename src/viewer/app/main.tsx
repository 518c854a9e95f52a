/** The start of the page: reads the session, shows it, and follows it if it is live. */

import { render } from "preact";
import { App } from "./app.js";
import { followSession } from "./live.js";
import { readPage } from "./page-source.js";
import { ViewerState } from "./viewer-state.js";

const source = readPage(document);
const state = new ViewerState(source);
const place = document.getElementById("app") ?? document.body;
place.replaceChildren();
state.readAddress();
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
