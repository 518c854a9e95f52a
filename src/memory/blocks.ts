/** The blocks of a memory: their four kinds, the ports that they need, and the checks of options. */
import { describe, integerOption } from "../core/arguments.js";
import { nameArgument } from "../core/ids.js";

/** Instructions of the program, unchanged in the prompt. */
export interface ReadOnlyBlock {
  readonly label: string;
  /** Trusted text: it is neither quoted nor bounded. */
  readonly text: string;
}

/** Text of the session, per branch. A model changes it by `set_memory`, a program by `set`. */
export interface WritableBlock {
  readonly label: string;
  readonly writable: true;
  /** For the model: the content that belongs in the block. */
  readonly description?: string;
  /** The most tokens, by the memory's estimate. Minimum: 1. @default 2000 */
  readonly maxTokens?: number;
}

/** Text that several sessions share. */
export interface SharedBlock {
  readonly label: string;
  readonly source: SharedText;
  readonly description?: string;
  /** Whether the model may change it. @default whether the source has `set` */
  readonly writable?: boolean;
  /** As for a writable block. @default 2000 */
  readonly maxTokens?: number;
}

/** Documents that a model loads when it needs them. The prompt lists them. */
export interface DocumentBlock {
  readonly label: string;
  readonly documents: DocumentSource;
  readonly description?: string;
}

/** A block of {@link sessionMemory}. */
export type MemoryBlock = ReadOnlyBlock | WritableBlock | SharedBlock | DocumentBlock;

/** A text with its version: any string that each write changes. */
export interface SharedValue {
  readonly text: string;
  readonly version: string;
}

/** The port of a shared block. */
export interface SharedText {
  /** The present text and its version. */
  get(options?: { readonly signal?: AbortSignal | undefined }): Promise<SharedValue>;
  /**
   * Replaces the text if its version is still the expected one, in one atomic step. Returns the new version;
   * undefined if the version is another one, and nothing was written.
   */
  set?(text: string, expectedVersion: string): Promise<string | undefined>;
}

/** A document in a list. */
export interface DocumentInfo {
  /** One line, unique in its source. */
  readonly name: string;
  /** For the model: when to load it. */
  readonly description?: string;
}

/** The port of a block of documents. */
export interface DocumentSource {
  /** The documents that a model may load. */
  list(options?: { readonly signal?: AbortSignal | undefined }): Promise<readonly DocumentInfo[]>;
  /**
   * A text, or a file such as a PDF; undefined if there is no such document. Called only with a name that
   * `list` has.
   */
  load(
    name: string,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<string | Uint8Array | undefined>;
}

/** The default of `maxTokens`. */
const defaultMaxTokens = 2000;

/** A checked block. */
export type Block =
  | { readonly kind: "text"; readonly label: string; readonly text: string }
  | EditableBlock
  | {
      readonly kind: "documents";
      readonly label: string;
      readonly description: string;
      readonly documents: DocumentSource;
    };

/** A block whose text changes. */
export interface EditableBlock {
  readonly kind: "session" | "shared";
  readonly label: string;
  readonly description: string;
  readonly maxTokens: number;
  /** Whether the model may change it. */
  readonly writable: boolean;
  /** Only of a shared block. */
  readonly source?: SharedText;
}

/** Checks blocks and fills in defaults. @throws TypeError, RangeError with the index of the block */
export function checkBlocks(given: readonly MemoryBlock[]): ReadonlyMap<string, Block> {
  if (!Array.isArray(given)) throw new TypeError(`blocks: expected an array, got ${describe(given)}`);
  const blocks = new Map<string, Block>();
  for (const [at, block] of given.entries()) {
    const label = nameArgument(`blocks[${at}].label`, block?.label);
    if (blocks.has(label)) throw new TypeError(`blocks[${at}].label: ${label} is the label of another block`);
    blocks.set(label, checkBlock(block, label, `blocks[${at}]`));
  }
  return blocks;
}

function checkBlock(block: MemoryBlock, label: string, at: string): Block {
  if ("documents" in block) {
    const { documents, description = "" } = block;
    if (typeof documents?.list !== "function" || typeof documents.load !== "function")
      throw new TypeError(`${at}.documents: expected list and load, got ${describe(documents)}`);
    return { kind: "documents", label, description, documents };
  }
  if ("source" in block) {
    const { source, description = "" } = block;
    if (typeof source?.get !== "function")
      throw new TypeError(`${at}.source: expected get, got ${describe(source)}`);
    const canSet = typeof source.set === "function";
    const writable = block.writable ?? canSet;
    if (writable && !canSet) throw new TypeError(`${at}.writable: the source has no set`);
    return { kind: "shared", label, description, writable, source, maxTokens: readMaxTokens(block, at) };
  }
  if ("writable" in block && block.writable === true) {
    const { description = "" } = block;
    return { kind: "session", label, description, writable: true, maxTokens: readMaxTokens(block, at) };
  }
  const { text } = block as ReadOnlyBlock;
  if (typeof text !== "string") {
    throw new TypeError(`${at}: expected text, writable: true, source or documents, got ${describe(text)}`);
  }
  return { kind: "text", label, text };
}

function readMaxTokens({ maxTokens }: { readonly maxTokens?: number }, at: string): number {
  return integerOption(`${at}.maxTokens`, maxTokens, defaultMaxTokens, 1);
}
