/**
 * Sessions, blobs and attachments in files: stores, repair, and the sessions of other agents on this machine.
 *
 * @module node
 */
export * from "./agents/node/index.js";
export * from "./storage/files/index.js";
