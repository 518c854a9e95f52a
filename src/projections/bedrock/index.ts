/**
 * Being written.
 *
 * @module projections/bedrock
 */
export {};
