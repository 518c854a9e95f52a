/**
 * Being written.
 *
 * @module projections/ai-sdk
 */
export {};
