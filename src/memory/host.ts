/** The parts of a memory that its chapters share. */
import type { BlobStore } from "../blobs/index.js";
import type { Block } from "./blocks.js";
import type { MemorySession, PathReader } from "./path-state.js";
import type { SearchMemory } from "./search.js";
import type { BlockWrite, WriteOutcome } from "./write.js";

/** A memory, as the answers to calls and the compaction use it. */
export interface MemoryHost {
  readonly session: MemorySession;
  readonly paths: PathReader;
  /** By label, in the order of the prompt. */
  readonly blocks: ReadonlyMap<string, Block>;
  readonly blobs: Pick<BlobStore, "put"> | undefined;
  readonly search: SearchMemory | undefined;
  /** Writes a block, one write after the other. */
  write(write: BlockWrite): Promise<WriteOutcome>;
}
