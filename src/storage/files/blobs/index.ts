/**
 * Blobs in files.
 */
export type { Durability } from "../../../core/arguments.js";
export { type FileBlobStoreOptions, fileBlobStore } from "./store-directory.js";
