/**
 * Being written.
 *
 * @module projections/claude-agent
 */
export {};
