/**
 * The frozen prompt: rendered once, recorded in the session, and given again with the same bytes until a
 * moment at which a provider's cached prefix is lost anyway.
 */
import type { SessionEntry, UnknownEntry } from "../session/index.js";
import { type MemoryModel, type PromptData, type PromptReason, promptEntry } from "./entries.js";
import type { MemorySession, PathState } from "./path-state.js";
import { promptDigest, type Rendering } from "./render.js";
import type { PlainTool } from "./tools.js";
import { appendAfter } from "./write.js";

/** A recorded prompt with its text. */
export interface FrozenPrompt {
  readonly system: string;
  readonly tools: readonly PlainTool[];
  readonly digest: string;
  /** The entry that recorded it; undefined in a session that cannot be written to. */
  readonly entryId: string | undefined;
}

/** Why a recorded prompt is no longer in force; undefined if it is. */
export async function staleReason(
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
export async function recordedText(
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
export async function recordPrompt(
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
export function changedParts(before: PromptData | undefined, after: Rendering, sameTools: boolean): string[] {
  if (before === undefined) return [];
  const labels = new Set([...Object.keys(before.blocks), ...Object.keys(after.blocks)]);
  const changed = [...labels].filter((label) => before.blocks[label]?.digest !== after.blocks[label]?.digest);
  return sameTools ? changed : [...changed, "tools"];
}
