/**
 * Being written.
 *
 * @module projections/gemini
 */
export {};
