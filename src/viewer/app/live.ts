/** Follows a session that is being written: changes come as events of the page's own server. */

import type { PageUpdate } from "../page-data.js";
import type { ViewerState } from "./viewer-state.js";

/** Connects to an event stream. A browser connects again by itself, and names the last event. */
export function followSession(path: string, state: ViewerState): EventSource {
  const events = new EventSource(new URL(path, location.href));
  events.addEventListener("open", () => state.set({ live: "connected" }));
  events.addEventListener("error", () => state.set({ live: "lost" }));
  events.addEventListener("change", (event: MessageEvent<string>) => {
    const update: PageUpdate = JSON.parse(event.data);
    state.update(update);
  });
  return events;
}
