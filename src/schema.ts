/**
 * Entries, headers and frames as zod schemas.
 *
 * @module schema
 */
export * from "./session/schema.js";
export * from "./tether/schema.js";
