/**
 * Reading files of this machine that a user or a model named.
 *
 * @module attachments/node
 */
export { type LocalFile, type ReadLocalFileOptions, readLocalFile } from "./read-local-file.js";
