/**
 * Sessions in files.
 *
 * @module session/node
 */
export type { Durability } from "../backend.js";
export { type FileSessionStoreOptions, fileSessionStore, openSessionFile } from "./file-store.js";
