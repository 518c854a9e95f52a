/**
 * Being written.
 *
 * @module projections/claude-agent/node
 */
export {};
