/**
 * Being written.
 *
 * @module projections/mcp
 */
export {};
