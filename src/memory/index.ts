/**
 * Memory: instructions and facts that outlive a turn, as entries of a session, and a prompt whose bytes stay
 * the same while a provider's cache can use them.
 *
 * @module memory
 */
export type {
  DocumentBlock,
  DocumentInfo,
  DocumentSource,
  MemoryBlock,
  ReadOnlyBlock,
  SharedBlock,
  SharedText,
  SharedValue,
  WritableBlock,
} from "./blocks.js";
export type { FactProposal, MemoryCompactionOptions } from "./compaction.js";
export type { LoadedDocument } from "./documents.js";
export type { MemoryModel, MemoryWriter, PromptReason } from "./entries.js";
export type { MemoryFact, MemoryHistory, MemoryWrite } from "./history.js";
export {
  type MemoryOptions,
  type MemoryPrompt,
  type MemoryToolShapes,
  type MemoryValue,
  type PromptOptions,
  type SessionMemory,
  sessionMemory,
} from "./memory.js";
export type { MemorySession } from "./path-state.js";
export type { MemoryCall } from "./run.js";
export type { MemoryHit, SearchMemory } from "./search.js";
