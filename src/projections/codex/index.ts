/**
 * Being written.
 *
 * @module projections/codex
 */
export {};
