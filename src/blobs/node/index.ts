/**
 * Blobs in files.
 *
 * @module blobs/node
 */
export type { Durability } from "../../internal/arguments.js";
export { type FileBlobStoreOptions, fileBlobStore } from "./file-store.js";
