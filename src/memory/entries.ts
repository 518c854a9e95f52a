/** The entries of a memory: custom entries, so that they branch, fork and replay like every other entry. */
import { isRecord } from "../core/shape.js";
import { ownEntry } from "../log/internal.js";
import type { CustomEntryType } from "../session/index.js";

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
