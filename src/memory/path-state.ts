/** A memory on the path to a leaf: its entries, the newest value of each label and the newest prompt. */

import { isRecord } from "../core/shape.js";
import { ownEntry } from "../log/internal.js";
import type {
  CustomEntryType,
  EntryNode,
  Session,
  SessionEntry,
  SessionTree,
  UnknownEntry,
} from "../session/index.js";

/** The members of a session that a memory uses. */
export type MemorySession = Pick<
  Session,
  "id" | "leafId" | "tree" | "writable" | "entry" | "append" | "stage" | "context"
>;

/** A value of a block, and the entry that wrote it. */
export interface StoredValue {
  readonly entryId: string;
  /** ISO 8601. */
  readonly at: string;
  readonly data: MemoryData;
}

/** The memory at a leaf. */
export interface PathState {
  readonly leafId: string | null;
  readonly tree: SessionTree;
  /** By label. */
  readonly values: ReadonlyMap<string, StoredValue>;
  readonly prompt: { readonly entryId: string; readonly data: PromptData } | undefined;
  /** Whether a compaction follows the prompt. */
  readonly compacted: boolean;
  /** The first entry after the prompt that names a model. */
  readonly modelEntryId: string | undefined;
  /** Whether the walk met no message before the root. */
  readonly empty: boolean;
}

/** Entries that are read at once. */
const chunkSize = 64;

type Node = EntryNode;

/** Yields the nodes from an entry up to its root. */
export function* upwards(tree: SessionTree, leafId: string | null): Generator<Node, void> {
  for (let id = leafId; id !== null; ) {
    const node = tree.node(id);
    if (node === undefined) return;
    yield node;
    id = node.parentId;
  }
}

/** Reads entries at once, in order; undefined for an unreadable one. */
export async function readEntries(
  session: Pick<MemorySession, "entry">,
  ids: readonly string[],
): Promise<readonly (SessionEntry | UnknownEntry | undefined)[]> {
  const entries: (SessionEntry | UnknownEntry | undefined)[] = [];
  for (let at = 0; at < ids.length; at += chunkSize) {
    const chunk = ids.slice(at, at + chunkSize);
    for (const entry of await Promise.all(chunk.map((id) => session.entry(id)))) entries.push(entry);
  }
  return entries;
}

/** Reads the states of paths, each from the one before if that is on it. */
export class PathReader {
  readonly #session: MemorySession;
  #last: PathState | undefined;

  constructor(session: MemorySession) {
    this.#session = session;
  }

  /** The state at a leaf. The path of a replaced log is read anew. */
  async at(leafId: string | null): Promise<PathState> {
    const tree = await this.#session.tree();
    const known = this.#last?.tree === tree ? this.#last : undefined;
    if (known?.leafId === leafId) return known;
    const fold = new Fold();
    let chunk: Node[] = [];
    let base: PathState | undefined;
    for (const node of upwards(tree, leafId)) {
      if (node.id === known?.leafId) {
        base = known;
        break;
      }
      chunk.push(node);
      if (chunk.length < chunkSize) continue;
      await this.#take(fold, chunk);
      if (fold.prompt !== undefined) break;
      chunk = [];
    }
    if (fold.prompt === undefined) await this.#take(fold, chunk);
    await this.#complete(fold, base);
    const state = fold.state(leafId, tree, base);
    this.#last = state;
    return state;
  }

  /** Adds nodes, newest first, up to a recorded prompt. */
  async #take(fold: Fold, nodes: readonly Node[]): Promise<void> {
    const custom = nodes.filter(({ type }) => type === "custom").map(({ id }) => id);
    const bodies = await readEntries(this.#session, custom);
    const readBody = new Map(custom.map((id, at) => [id, bodies[at]]));
    for (const node of nodes) {
      fold.add(node, readBody.get(node.id));
      if (fold.prompt !== undefined) return;
    }
  }

  /** Reads the values that the prompt names and no later entry replaced. */
  async #complete(fold: Fold, base: PathState | undefined): Promise<void> {
    if (fold.prompt === undefined) {
      for (const [label, value] of base?.values ?? []) fold.keep(label, value);
      return;
    }
    const wanted = Object.entries(fold.prompt.data.values).filter(([label]) => !fold.values.has(label));
    const entries = await readEntries(
      this.#session,
      wanted.map(([, id]) => id),
    );
    for (const entry of entries) if (entry !== undefined) fold.addValue(entry);
    const lost = wanted.filter(([label]) => !fold.values.has(label)).map(([label]) => label);
    await this.#findEarlier(fold, lost, fold.prompt.entryId);
  }

  /** Finds the values before a prompt whose own ones are unreadable, as after an erasure. */
  async #findEarlier(fold: Fold, labels: readonly string[], before: string): Promise<void> {
    const wanted = new Set(labels);
    let custom: string[] = [];
    const read = async () => {
      for (const entry of await readEntries(this.#session, custom)) {
        const label = entry && memoryEntry.read(entry)?.label;
        if (entry === undefined || label === undefined || !wanted.delete(label)) continue;
        fold.addValue(entry);
      }
      custom = [];
    };
    for (const node of wanted.size === 0 ? [] : upwards(await this.#session.tree(), before)) {
      if (node.type === "custom") custom.push(node.id);
      if (custom.length === chunkSize) await read();
      if (wanted.size === 0) return;
    }
    await read();
  }
}

class Fold {
  readonly values = new Map<string, StoredValue>();
  prompt: PathState["prompt"];
  #compacted = false;
  #empty = true;
  #modelEntryId: string | undefined;

  add(node: Node, body: SessionEntry | UnknownEntry | undefined): void {
    if (node.type === "message") this.#empty = false;
    if (node.type === "compaction") this.#compacted = true;
    else if (node.type === "model_change" || node.role === "assistant") this.#modelEntryId = node.id;
    if (body === undefined) return;
    const data = promptEntry.read(body);
    if (data === undefined) this.addValue(body);
    else this.prompt = { entryId: node.id, data };
  }

  addValue(entry: SessionEntry | UnknownEntry): void {
    const data = memoryEntry.read(entry);
    if (data !== undefined) this.keep(data.label, { entryId: entry.id, at: entry.timestamp, data });
  }

  keep(label: string, value: StoredValue): void {
    if (!this.values.has(label)) this.values.set(label, value);
  }

  state(leafId: string | null, tree: SessionTree, base: PathState | undefined): PathState {
    const own = { leafId, tree, values: this.values };
    if (this.prompt !== undefined || base === undefined) {
      const empty = this.#empty && this.prompt === undefined;
      const found = { prompt: this.prompt, compacted: this.#compacted, modelEntryId: this.#modelEntryId };
      return { ...own, ...found, empty };
    }
    return {
      ...own,
      prompt: base.prompt,
      compacted: this.#compacted || base.compacted,
      modelEntryId: base.modelEntryId ?? this.#modelEntryId,
      empty: this.#empty && base.empty,
    };
  }
}

// The entries of a memory: custom entries, so that they branch, fork and replay like every other entry.

/** Who wrote a value. */
export type MemoryWriter = "model" | "program" | "compaction";

/** The data of a `sessile.memory` entry: one whole value of a block. */
export interface MemoryData {
  readonly label: string;
  readonly text: string;
  readonly by: MemoryWriter;
  /** The value that was read before the write: an entry of this type, or the version of a shared block. */
  readonly previous: string | null;
  /** Only of a shared block: the version that the write made. */
  readonly version?: string;
  /** The call of the model that wrote it. */
  readonly call?: { readonly id: string; readonly entryId?: string };
  /** The entry that the text comes from, if a program names one. */
  readonly from?: string;
}

const writers: ReadonlySet<unknown> = new Set(["model", "program", "compaction"] satisfies MemoryWriter[]);

/** The entry type of a block's value. */
export const memoryEntry: CustomEntryType<MemoryData> = ownEntry<MemoryData>("sessile.memory", (data) => {
  const { label, text, by, previous, version, call, from } = readRecord(data);
  if (typeof label !== "string" || typeof text !== "string" || !writers.has(by))
    throw new TypeError("memory: expected label, text and by");
  return {
    label,
    text,
    by: by as MemoryWriter,
    previous: typeof previous === "string" ? previous : null,
    ...(typeof version === "string" ? { version } : {}),
    ...(isRecord(call) && typeof call.id === "string" ? { call: readCall(call) } : {}),
    ...(typeof from === "string" ? { from } : {}),
  };
});

function readCall({ id, entryId }: Readonly<Record<string, unknown>>): NonNullable<MemoryData["call"]> {
  return { id: id as string, ...(typeof entryId === "string" ? { entryId } : {}) };
}

/** Why a prompt was rendered. */
export type PromptReason = "first" | "refresh" | "compaction" | "model";

/** A model by its names, as in a session. */
export interface MemoryModel {
  readonly provider: string;
  readonly modelId: string;
}

/** A block in a recorded prompt. */
export interface RecordedBlock {
  /** Digest of its part of the prompt. */
  readonly digest: string;
  /**
   * The entry or version that it shows; null if it had no value. Absent for other kinds of block, and for a
   * text of which it shows a part.
   */
  readonly shows?: string | null;
}

/** The data of a `sessile.memory.prompt` entry: a prompt as it was rendered. */
export interface PromptData {
  readonly reason: PromptReason;
  /** SHA-256 of the system text and the tools. */
  readonly digest: string;
  /** The model in force at the time; null before the first one. */
  readonly model: MemoryModel | null;
  readonly blocks: Readonly<Record<string, RecordedBlock>>;
  /** The entry of each label's value at this point, so that no reader needs the path before it. */
  readonly values: Readonly<Record<string, string>>;
  readonly system?: string;
  /** The declarations of the tools, in the plain shape. */
  readonly tools?: readonly unknown[];
  /** The entry that has the same system text and tools, in place of them. */
  readonly of?: string;
}

/** The entry type of a rendered prompt. */
export const promptEntry: CustomEntryType<PromptData> = ownEntry<PromptData>(
  "sessile.memory.prompt",
  (data) => {
    const given = readRecord(data);
    const { digest, model, blocks, values, system, tools, of } = given;
    const hasText = typeof system === "string" && Array.isArray(tools);
    if (typeof digest !== "string" || !isRecord(blocks) || !isRecord(values) || !(hasText || isText(of)))
      throw new TypeError("memory prompt: expected digest, blocks, values, and a text or its entry");
    const isModel = isRecord(model) && isText(model.provider) && isText(model.modelId);
    return { ...(given as unknown as PromptData), model: isModel ? (model as unknown as MemoryModel) : null };
  },
);

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function readRecord(data: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(data)) throw new TypeError("memory: expected an object");
  return data;
}
