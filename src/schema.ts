/**
 * Entries, headers and frames as zod schemas.
 *
 * @module schema
 */
export * from "./log/schema.js";
export * from "./tether/schema.js";
