/**
 * Memory: instructions and facts that outlive a turn, as entries of a session, and a prompt whose bytes stay
 * the same while a provider's cache can use them.
 *
 * @module memory
 */
export type { DocumentSource, MemoryBlock, SharedText } from "./blocks.js";
export type { FactProposal } from "./compaction.js";
export { type MemoryOptions, type SessionMemory, sessionMemory } from "./memory.js";
export type { MemorySession, PromptReason } from "./path-state.js";
