/**
 * Being written.
 *
 * @module projections/anthropic
 */
export {};
