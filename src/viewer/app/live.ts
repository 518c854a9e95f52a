/** Follows a session that is being written: new entries come as events of the page's own server. */

import type { PageUpdate } from "../page-data.js";
import type { ViewerState } from "./viewer-state.js";

/**
 * Connects to an event stream. A browser connects again by itself, and names the last event. Repeated
 * entries are ignored.
 *
 * @param count the number of entries in the page
 */
export function followSession(path: string, count: number, state: ViewerState): EventSource {
  const address = new URL(path, location.href);
  address.searchParams.set("after", String(count));
  const events = new EventSource(address);
  events.addEventListener("open", () => state.set({ live: "connected" }));
  events.addEventListener("error", () => state.set({ live: "lost" }));
  events.addEventListener("append", (event: MessageEvent<string>) => {
    const update: PageUpdate = JSON.parse(event.data);
    state.append(update);
  });
  return events;
}
