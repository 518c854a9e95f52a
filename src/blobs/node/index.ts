/**
 * Blobs in files.
 *
 * @module blobs/node
 */
export type { Durability } from "./directory.js";
export { type FileBlobStoreOptions, fileBlobStore } from "./file-store.js";
