/** `sessionMemory`: the blocks of a session, the frozen prompt, and the answers to the model's calls. */

import { replayCurrentTurn } from "../attachments/index.js";
import type { BlobStore } from "../blobs/index.js";
import type { CompactOptions } from "../compaction/index.js";
import { estimateTextTokens } from "../content/estimate/index.js";
import type { ReplayPolicy, ToolResultMessage } from "../content/index.js";
import type { ToolShapes } from "../content/internal.js";
import { describe } from "../core/arguments.js";
import { Mutex } from "../core/concurrency.js";
import { SessileError } from "../core/errors/index.js";
import type { SessionEntry, UnknownEntry } from "../session/index.js";
import {
  checkBlocks,
  declareTools,
  type EditableBlock,
  isDocument,
  type LoadedDocument,
  loadedDocuments,
  type MemoryBlock,
  type PlainTool,
  type PresentValue,
  promptDigest,
  type Rendering,
  renderPrompt,
  shapedTools,
} from "./blocks.js";
import { type MemoryCompactionOptions, withMemory } from "./compaction.js";
import {
  type MemoryModel,
  type MemorySession,
  type MemoryWriter,
  PathReader,
  type PathState,
  type PromptData,
  type PromptReason,
  promptEntry,
} from "./path-state.js";
import { type MemoryCall, type MemoryHost, runCall, type SearchMemory } from "./run.js";
import {
  appendAfter,
  behindLeaf,
  blockHistory,
  type MemoryHistory,
  presentValue,
  writeBlock,
} from "./write.js";

/** Options of {@link sessionMemory}. */
export interface MemoryOptions {
  /** In the order of the prompt. Their labels are different. */
  readonly blocks: readonly MemoryBlock[];
  /** The store of loaded documents; required if a block has documents. */
  readonly blobs?: Pick<BlobStore, "put"> | undefined;
  /** Answers `search_memory`. @default the model has no such tool */
  readonly search?: SearchMemory | undefined;
}

/** The shapes of tool declarations, by the name of the client. */
type MemoryToolShapes = ToolShapes;

/** Options of {@link SessionMemory.prompt}. */
export interface PromptOptions<S extends keyof MemoryToolShapes = "plain"> {
  /** The client that the tools are declared for. @default "plain" */
  readonly shape?: S;
  /** The model that the prompt goes to. @default the model in force at the leaf */
  readonly model?: MemoryModel | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The prompt of a memory. */
interface MemoryPrompt<T = MemoryToolShapes["plain"]> {
  /** The system text. */
  readonly system: string;
  readonly tools: T[];
  /** SHA-256 of system text and tools; the same digest is the same bytes. */
  readonly digest: string;
  /** The entry that recorded it; undefined in a session that cannot be written to. */
  readonly entryId: string | undefined;
  /** Why it was rendered anew; undefined if it is the recorded one. */
  readonly rendered: PromptReason | undefined;
  /** If it was rendered anew: the labels that differ from the prompt before, and `tools`. */
  readonly changed: readonly string[];
}

/** The value of a block. */
interface MemoryValue {
  readonly label: string;
  readonly text: string;
  /** The entry of a value in the session, the version of a shared one; null without a value. */
  readonly revision: string | null;
  /** Estimated. */
  readonly tokens: number;
  /** The tokens that a write may add. */
  readonly left: number;
  /** The entry that wrote it, if one on this path did. */
  readonly written?: { readonly entryId: string; readonly by: MemoryWriter } | undefined;
}

/** The memory of an open session, at its leaf. */
export interface SessionMemory {
  /**
   * The system text and the tools for the next request. They keep their bytes, also in another process,
   * until {@link SessionMemory.refresh}, a compaction, or another model. A new one is recorded as an entry.
   * @throws errors of a shared block or of documents; of `append`
   */
  prompt<S extends keyof MemoryToolShapes = "plain">(
    options?: PromptOptions<S>,
  ): Promise<MemoryPrompt<MemoryToolShapes[S]>>;
  /** Renders the prompt anew, with the blocks as they are now. */
  refresh<S extends keyof MemoryToolShapes = "plain">(
    options?: PromptOptions<S>,
  ): Promise<MemoryPrompt<MemoryToolShapes[S]>>;
  /**
   * Answers a call of a memory's tool with a result to append; undefined for any other tool. A call that
   * cannot be done gets an error text for the model. A call that is answered again is not written again.
   * @throws SessileError CONCURRENT_WRITER if another writer appended to the session; nothing was written in
   *   it. Errors of a shared block, of documents, of the search and of the blob store
   */
  run(
    call: MemoryCall,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<ToolResultMessage | undefined>;
  /** The value of a block in the session, or of a shared one. @throws TypeError for any other label */
  get(label: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<MemoryValue>;
  /**
   * Replaces the text of a block for a program. The prompt keeps its bytes.
   * @throws SessileError BLOCK_TOO_LONG, CONCURRENT_WRITER; nothing was written
   * @throws TypeError for a label without a text that can be set
   */
  set(
    label: string,
    text: string,
    options?: {
      /** The `revision` that was read. @default the present one */
      readonly expected?: string | null;
      /** The entry that the text comes from, for the history. */
      readonly from?: string;
      readonly signal?: AbortSignal | undefined;
    },
  ): Promise<MemoryValue>;
  /**
   * The writes of a block on the path to the leaf, and for each line of its text when it came and from which
   * message. Of a shared block, the writes of this session.
   */
  history(label: string): Promise<MemoryHistory>;
  /** The documents that the context shows. */
  documents(): Promise<readonly LoadedDocument[]>;
  /**
   * The options of `compact` beside this memory: writes of blocks are no part of the summary, the summariser
   * is given the notes so that it does not repeat them, and a block may get facts of the summarised part.
   * These are asked of `generate` after the summary was written, and added by compare-and-swap, all or none.
   * @throws TypeError for a label without a text that can be set
   */
  compaction(options: CompactOptions, memory?: MemoryCompactionOptions): CompactOptions;
  /**
   * A policy for projections: a loaded document is sent in every request until it is unloaded.
   * @param base decides all other attachments. @default replayCurrentTurn
   */
  replay(base?: ReplayPolicy): ReplayPolicy;
}

/**
 * The memory of a session: blocks of instructions, facts, shared notes and documents, which outlive a turn.
 * Values are entries, so that they branch, fork and replay with the conversation. One memory serves one
 * session; make it again with the same blocks after a restart.
 *
 * @throws TypeError, RangeError for invalid blocks
 * @example
 * ```ts
 * const memory = sessionMemory(session, {
 *   blocks: [
 *     { label: "identity", text: "You are a patient assistant." },
 *     { label: "facts", description: "About this user.", maxTokens: 1100, writable: true },
 *   ],
 * });
 * const { system, tools } = await memory.prompt({ shape: "anthropic" });
 * ```
 */
export function sessionMemory(session: MemorySession, options: MemoryOptions): SessionMemory {
  return new LiveMemory(session, options);
}

class LiveMemory implements SessionMemory {
  readonly #host: MemoryHost;
  readonly #mutex = new Mutex();

  constructor(session: MemorySession, { blocks: given, blobs, search }: MemoryOptions) {
    const blocks = checkBlocks(given);
    const paths = new PathReader(session);
    const needsBlobs = Array.from(blocks.values()).some(({ kind }) => kind === "documents");
    if (needsBlobs && typeof blobs?.put !== "function")
      throw new TypeError(`blobs: expected a blob store for the documents, got ${describe(blobs)}`);
    this.#host = {
      ...{ session, paths, blocks, blobs, search },
      write: (write) => this.#mutex.run(() => writeBlock(session, paths, write)),
    };
  }

  prompt<S extends keyof MemoryToolShapes = "plain">(
    options: PromptOptions<S> = {},
  ): Promise<MemoryPrompt<MemoryToolShapes[S]>> {
    return this.#prompt(options, false);
  }

  refresh<S extends keyof MemoryToolShapes = "plain">(
    options: PromptOptions<S> = {},
  ): Promise<MemoryPrompt<MemoryToolShapes[S]>> {
    return this.#prompt(options, true);
  }

  run(
    call: MemoryCall,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<ToolResultMessage | undefined> {
    return runCall(this.#host, call, options.signal);
  }

  async get(
    label: string,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<MemoryValue> {
    const block = this.#editable(label);
    const state = await this.#host.paths.at(this.#host.session.leafId);
    return memoryValue(block, await presentValue(block, state, options.signal));
  }

  async set(
    label: string,
    text: string,
    options: {
      readonly expected?: string | null;
      readonly from?: string;
      readonly signal?: AbortSignal | undefined;
    } = {},
  ): Promise<MemoryValue> {
    const block = this.#settable(label);
    const { expected, from, signal } = options;
    if (typeof text !== "string") throw new TypeError(`text: expected a string, got ${describe(text)}`);
    const outcome = await this.#host.write({
      block,
      change: { action: "rewrite", text },
      isRead: ({ revision }) => expected === undefined || expected === revision,
      origin: { by: "program", ...(from === undefined ? {} : { from }) },
      signal,
    });
    const value = memoryValue(block, outcome.present);
    if (outcome.status === "tooLong") {
      const { maxTokens } = block;
      const { tokens } = outcome;
      const message = `the block ${label} would have ${tokens} tokens, at most ${maxTokens}`;
      const details = { label, tokens, maxTokens, left: value.left };
      throw new SessileError("BLOCK_TOO_LONG", `${message}; nothing was written`, { details });
    }
    if (outcome.status === "changed") {
      const actual = value.revision ?? "none";
      const message = `the block ${label} is at ${actual}, and not at ${expected ?? "none"}`;
      const details = { expected: expected ?? "none", actual };
      throw new SessileError("CONCURRENT_WRITER", `${message}; nothing was written`, { details });
    }
    return value;
  }

  history(label: string): Promise<MemoryHistory> {
    this.#editable(label);
    return blockHistory(this.#host.session, label, this.#host.session.leafId);
  }

  async documents(): Promise<readonly LoadedDocument[]> {
    return loadedDocuments((await this.#host.session.context()).items);
  }

  compaction(options: CompactOptions, { propose, onProposal }: MemoryCompactionOptions = {}): CompactOptions {
    const block = propose === undefined ? undefined : this.#settable(propose);
    return withMemory(this.#host, options, block, onProposal);
  }

  replay(base: ReplayPolicy = replayCurrentTurn): ReplayPolicy {
    return (resource, place) => (isDocument(resource) ? "full" : base(resource, place));
  }

  async #prompt<S extends keyof MemoryToolShapes>(
    { shape, model: given, signal }: PromptOptions<S>,
    isRefresh: boolean,
  ): Promise<MemoryPrompt<MemoryToolShapes[S]>> {
    const { session, paths } = this.#host;
    const blockShape = shape ?? ("plain" as S);
    return this.#mutex.run(() =>
      behindLeaf(session, async (leafId) => {
        const state = await paths.at(leafId);
        const model = given ?? (await session.context(leafId)).model;
        const recorded = state.prompt && (await recordedText(session, state.prompt));
        const stale = isRefresh ? "refresh" : await staleReason(session, state, model);
        if (stale === undefined && recorded !== undefined) {
          const tools = shapedTools(recorded.tools, blockShape);
          return { ...recorded, tools, rendered: undefined, changed: [] };
        }
        const rendering = await this.#render(state, signal);
        const reason = stale ?? "first";
        const sameTools =
          recorded === undefined || JSON.stringify(recorded.tools) === JSON.stringify(rendering.tools);
        const changed = changedParts(state.prompt?.data, rendering, sameTools);
        const entryId = await recordPrompt(session, state, rendering, { reason, model, signal });
        const { system, digest, tools } = rendering;
        return { system, digest, tools: shapedTools(tools, blockShape), entryId, rendered: reason, changed };
      }),
    );
  }

  #render(state: Parameters<typeof presentValue>[1], signal: AbortSignal | undefined) {
    const { blocks, search } = this.#host;
    const tools = declareTools(blocks, { search: search !== undefined });
    return renderPrompt(blocks.values(), tools, {
      value: (block) => presentValue(block, state, signal),
      documents: ({ documents }) => documents.list({ signal }),
    });
  }

  #settable(label: string): EditableBlock {
    const block = this.#editable(label);
    if (block.kind === "session" || typeof block.source?.set === "function") return block;
    throw new TypeError(`label: the source of ${label} has no set`);
  }

  #editable(label: string): EditableBlock {
    const block = this.#host.blocks.get(label);
    if (block?.kind === "session" || block?.kind === "shared") return block;
    throw new TypeError(`label: expected a writable or shared block, got ${describe(label)}`);
  }
}

function memoryValue(block: EditableBlock, { text, revision, written }: PresentValue): MemoryValue {
  const tokens = estimateTextTokens(text);
  return {
    ...{ label: block.label, text, revision, tokens },
    left: Math.max(0, block.maxTokens - tokens),
    ...(written === undefined ? {} : { written: { entryId: written.entryId, by: written.data.by } }),
  };
}

// The frozen prompt: rendered once, recorded in the session, and given again with the same bytes until a
// moment at which a provider's cached prefix is lost anyway.

/** A recorded prompt with its text. */
interface FrozenPrompt {
  readonly system: string;
  readonly tools: readonly PlainTool[];
  readonly digest: string;
  /** The entry that recorded it; undefined in a session that cannot be written to. */
  readonly entryId: string | undefined;
}

/** Why a recorded prompt is no longer in force; undefined if it is. */
async function staleReason(
  session: MemorySession,
  { prompt, compacted, modelEntryId }: PathState,
  model: MemoryModel | null,
): Promise<PromptReason | undefined> {
  if (prompt === undefined) return "first";
  if (compacted) return "compaction";
  if (model === null) return undefined;
  // A prompt that was made before any model is one of the first model after it.
  const first =
    prompt.data.model ?? (modelEntryId === undefined ? null : entryModel(await session.entry(modelEntryId)));
  const isSame = first === null || (first.provider === model.provider && first.modelId === model.modelId);
  return isSame ? undefined : "model";
}

function entryModel(entry: SessionEntry | UnknownEntry | undefined): MemoryModel | null {
  if (entry?.type === "model_change") return { provider: entry.provider, modelId: entry.modelId };
  if (entry?.type !== "message" || entry.message.role !== "assistant") return null;
  return { provider: entry.message.provider, modelId: entry.message.model };
}

/** Reads the text of a recorded prompt; undefined if it is not as it was recorded. */
async function recordedText(
  session: Pick<MemorySession, "entry">,
  { entryId, data }: NonNullable<PathState["prompt"]>,
): Promise<FrozenPrompt | undefined> {
  const source = data.of === undefined ? data : await textSource(session, data.of);
  if (source?.system === undefined || source.tools === undefined) return undefined;
  const tools = source.tools as readonly PlainTool[];
  if (promptDigest(source.system, tools) !== data.digest) return undefined;
  return { system: source.system, tools, digest: data.digest, entryId };
}

async function textSource(
  session: Pick<MemorySession, "entry">,
  entryId: string,
): Promise<PromptData | undefined> {
  const entry = await session.entry(entryId);
  return entry && promptEntry.read(entry);
}

/**
 * Records a rendering at a leaf. The text is written only if it is another one than before. In a session
 * without messages the entry is staged, so that a prompt alone makes no file.
 */
async function recordPrompt(
  session: MemorySession,
  state: PathState,
  rendering: Rendering,
  {
    reason,
    model,
    signal,
  }: {
    readonly reason: PromptReason;
    readonly model: MemoryModel | null;
    readonly signal: AbortSignal | undefined;
  },
): Promise<string | undefined> {
  if (!session.writable) return undefined;
  const { system, tools, digest, blocks } = rendering;
  const before = state.prompt;
  const isSame = before?.data.digest === digest && (await recordedText(session, before)) !== undefined;
  const text = isSame && before !== undefined ? { of: before.data.of ?? before.entryId } : { system, tools };
  const values = Object.fromEntries(
    Array.from(state.values, ([label, { entryId }]) => [label, entryId] as const),
  );
  const draft = promptEntry.draft({ reason, digest, model, blocks, values, ...text });
  if (state.empty && session.leafId === state.leafId) return session.stage([draft])[0]?.id;
  return (await appendAfter(session, [draft], state.leafId, signal)).id;
}

/** The labels whose part of a prompt is another one than before; `tools` if the declarations are. */
function changedParts(before: PromptData | undefined, after: Rendering, sameTools: boolean): string[] {
  if (before === undefined) return [];
  const labels = new Set([...Object.keys(before.blocks), ...Object.keys(after.blocks)]);
  const changed = [...labels].filter((label) => before.blocks[label]?.digest !== after.blocks[label]?.digest);
  return sameTools ? changed : [...changed, "tools"];
}
