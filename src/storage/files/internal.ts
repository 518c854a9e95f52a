/** What other modules use of the files beside the public entry. */

export { bulkSessionStore } from "./session-store.js";
