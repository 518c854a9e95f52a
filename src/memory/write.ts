/** Writes of a block: the change of its text, the bound, the compare-and-swap, and the history. */

import { estimateTextTokens } from "../content/estimate/index.js";
import { SessileError } from "../core/errors/index.js";
import type { EntryDraft, SessionEntry } from "../session/index.js";
import { cleanText, type EditableBlock, hasLines, occurrences, type PresentValue } from "./blocks.js";
import {
  type MemoryData,
  type MemorySession,
  type MemoryWriter,
  memoryEntry,
  type PathReader,
  type PathState,
  readEntries,
  upwards,
} from "./path-state.js";

/** A change of a block's text. */
export type TextChange =
  | { readonly action: "add"; readonly text: string }
  | { readonly action: "rewrite"; readonly text: string }
  | { readonly action: "replace"; readonly text: string; readonly old: string };

/** The outcome of a write. `present` is the value after it. */
export type WriteOutcome =
  | { readonly status: "written" | "unchanged"; readonly present: PresentValue }
  /** The value is another one than the writer read; nothing was written. */
  | { readonly status: "changed"; readonly present: PresentValue }
  /** The part to replace does not occur, or more than once. */
  | { readonly status: "notFound" | "ambiguous"; readonly present: PresentValue }
  | { readonly status: "tooLong"; readonly present: PresentValue; readonly tokens: number };

/** A write of a block. */
export interface BlockWrite {
  readonly block: EditableBlock;
  readonly change: TextChange;
  /** Whether the writer read this value. */
  readonly isRead: (present: PresentValue, state: PathState) => boolean | Promise<boolean>;
  /** The writer, for the entry. */
  readonly origin: Pick<MemoryData, "by" | "call" | "from">;
  readonly signal?: AbortSignal | undefined;
}

/** How often an append is made again after the session's own new entries. */
const maxRetries = 8;

/** Reads the present value of a block. */
export async function presentValue(
  block: EditableBlock,
  state: PathState,
  signal?: AbortSignal,
): Promise<PresentValue> {
  const written = state.values.get(block.label);
  if (block.source === undefined) {
    if (written === undefined) return { text: "", revision: null, written };
    return { text: cleanText(written.data.text), revision: written.entryId, written };
  }
  const { text, version } = await block.source.get({ signal });
  const isOwn = written !== undefined && written.data.version === version;
  return { text: cleanText(text), revision: version, written: isOwn ? written : undefined };
}

/**
 * Writes a block. A value of the session is one entry after the leaf that was read. If the session's own
 * leaf moved meanwhile, the value is compared again.
 *
 * @throws SessileError CONCURRENT_WRITER if another writer appended; nothing was written in the session
 */
export async function writeBlock(
  session: MemorySession,
  paths: PathReader,
  write: BlockWrite,
): Promise<WriteOutcome> {
  const { block, change, isRead, origin, signal } = write;
  return behindLeaf(session, async (leafId) => {
    const state = await paths.at(leafId);
    const present = await presentValue(block, state, signal);
    const next = changed(present.text, change);
    if (next.status !== "ok") return { status: next.status, present };
    if (next.text === present.text) return { status: "unchanged", present };
    if (!(await isRead(present, state))) return { status: "changed", present };
    const tokens = estimateTextTokens(next.text);
    // A text that is too long already, such as a shared one that others wrote, may become shorter by parts.
    const isRelief = change.action === "replace" && tokens < estimateTextTokens(present.text);
    if (tokens > block.maxTokens && !isRelief) return { status: "tooLong", present, tokens };
    const data = { label: block.label, text: next.text, ...origin, previous: present.revision };
    if (block.source === undefined) {
      const entry = await appendAfter(session, [memoryEntry.draft(data)], leafId, signal);
      return { status: "written", present: writtenValue(entry, data, entry.id) };
    }
    const version = await block.source.set?.(next.text, present.revision ?? "");
    if (version === undefined) {
      return { status: "changed", present: await presentValue(block, state, signal) };
    }
    // The shared text is written: its entry may follow any new entry of this session.
    const own = { ...data, version };
    const entry = await behindLeaf(session, (leaf) =>
      appendAfter(session, [memoryEntry.draft(own)], leaf, signal),
    );
    return { status: "written", present: writtenValue(entry, own, version) };
  });
}

function writtenValue(entry: SessionEntry, data: MemoryData, revision: string): PresentValue {
  return { text: data.text, revision, written: { entryId: entry.id, at: entry.timestamp, data } };
}

function changed(
  present: string,
  change: TextChange,
): { readonly status: "ok"; readonly text: string } | { readonly status: "notFound" | "ambiguous" } {
  const text = cleanText(change.text);
  if (change.action === "rewrite") return { status: "ok", text };
  if (change.action === "add") {
    if (text === "" || hasLines(present, text)) return { status: "ok", text: present };
    return { status: "ok", text: present === "" ? text : `${present}\n${text}` };
  }
  const old = cleanText(change.old);
  const count = old === "" ? 0 : occurrences(present, old);
  if (count === 0) {
    // A call that is answered twice finds its own text.
    return text !== "" && present.includes(text) ? { status: "ok", text: present } : { status: "notFound" };
  }
  if (count > 1) return { status: "ambiguous" };
  const at = present.indexOf(old);
  const before = present.slice(0, at);
  const after = present.slice(at + old.length);
  // A removed line takes its line feed along.
  const isLine = text === "" && (before === "" || before.endsWith("\n")) && after.startsWith("\n");
  return { status: "ok", text: cleanText(before + text + (isLine ? after.slice(1) : after)) };
}

/** Appends drafts after the leaf that they were made for, and returns the first entry. */
export async function appendAfter(
  session: Pick<MemorySession, "append">,
  drafts: readonly EntryDraft[],
  leafId: string | null,
  signal: AbortSignal | undefined,
): Promise<SessionEntry> {
  const options = signal === undefined ? { after: leafId } : { after: leafId, signal };
  const [entry] = await session.append(drafts, options);
  return entry as SessionEntry;
}

/** Runs a step for the leaf, and again if the session's own leaf moved while it ran. */
export async function behindLeaf<T>(
  session: Pick<MemorySession, "leafId" | "append">,
  step: (leafId: string | null) => Promise<T>,
): Promise<T> {
  for (let retries = 0; ; retries++) {
    const { leafId } = session;
    try {
      return await step(leafId);
    } catch (error) {
      if (!SessileError.is(error, "CONCURRENT_WRITER") || retries >= maxRetries) throw error;
      // Waits for this session's queued entries, after which the leaf is.
      await session.append([]);
      if (session.leafId === leafId) throw error;
    }
  }
}

// The history of a block: its writes on the path, and the write that brought each line of its text.

/** A write of a block. */
interface MemoryWrite {
  readonly entryId: string;
  /** ISO 8601. */
  readonly at: string;
  readonly by: MemoryWriter;
  /** The text after it. */
  readonly text: string;
  /**
   * The message that the text comes from: the newest user message before the write, or the entry that a
   * program named. null without one.
   */
  readonly messageId: string | null;
  /** The call of the model, and the message with it. */
  readonly call?: { readonly id: string; readonly entryId?: string };
}

/** A line of a block's present text, and the write that brought it. */
interface MemoryFact extends Omit<MemoryWrite, "text"> {
  readonly text: string;
}

/** The history of a block on a path, oldest first. */
export interface MemoryHistory {
  readonly facts: readonly MemoryFact[];
  readonly writes: readonly MemoryWrite[];
}

/** Reads the history of a label on the path to a leaf. */
export async function blockHistory(
  session: MemorySession,
  label: string,
  leafId: string | null,
): Promise<MemoryHistory> {
  const path = Array.from(upwards(await session.tree(), leafId)).reverse();
  const custom = path.filter(({ type }) => type === "custom").map(({ id }) => id);
  const bodies = await readEntries(session, custom);
  const readBody = new Map(custom.map((id, at) => [id, bodies[at]]));
  const writes: MemoryWrite[] = [];
  let userId: string | null = null;
  for (const { id, role } of path) {
    if (role === "user") userId = id;
    const body = readBody.get(id);
    const data = body && memoryEntry.read(body);
    if (body === undefined || data?.label !== label) continue;
    const { text, by, from, call } = data;
    const origin = { at: body.timestamp, by, messageId: from ?? userId };
    writes.push({ entryId: id, ...origin, text: cleanText(text), ...(call === undefined ? {} : { call }) });
  }
  return { facts: blockFacts(writes), writes };
}

/** Follows each line of the last text back to the write that brought it. */
function blockFacts(writes: readonly MemoryWrite[]): readonly MemoryFact[] {
  let facts: readonly MemoryFact[] = [];
  for (const write of writes) {
    // A line that was there before is the same fact, at any position; equal lines in their order.
    const known = new Map<string, MemoryFact[]>();
    for (const fact of facts) {
      const same = known.get(fact.text);
      if (same === undefined) known.set(fact.text, [fact]);
      else same.push(fact);
    }
    facts = write.text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => known.get(line)?.shift() ?? { ...write, text: line });
  }
  return facts;
}
