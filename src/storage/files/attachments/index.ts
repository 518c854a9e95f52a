/**
 * Safe reading of local files that users or models name.
 */
export { type LocalFile, type ReadLocalFileOptions, readLocalFile } from "./read-local-file.js";
