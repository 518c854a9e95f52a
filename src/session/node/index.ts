/**
 * Sessions in files.
 *
 * @module session/node
 */
export { type FileSessionStoreOptions, fileSessionStore, openSessionFile } from "./file-store.js";
