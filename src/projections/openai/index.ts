/**
 * Being written.
 *
 * @module projections/openai
 */
export {};
