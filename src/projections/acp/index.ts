/**
 * Being written.
 *
 * @module projections/acp
 */
export {};
