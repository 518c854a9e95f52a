/**
 * Sessions and attachments for agents: the parts that run anywhere. File stores and other edges have
 * subpaths.
 *
 * @module sessile
 */
export * from "./blobs/index.js";
export * from "./content/index.js";
export * from "./providers/index.js";
export * from "./session/index.js";
