/** Continues a chat: lines after the original bytes, and a rewind for a leaf that moved back. */

import { collectBytes, concatBytes } from "../../core/bytes.js";
import { sourceAgain } from "../shared/read-again.js";
import type { ForeignObject } from "../shared/values.js";
import { stepsOf, type WriteStep } from "../shared/write-steps.js";
import type { AppendSource, WrittenSession } from "../types.js";
import { resumeWords } from "./agent.js";
import type { Turn } from "./history.js";
import { ChatRecords, geminiRules, isoOf, type MessageRecord } from "./lines.js";
import { type MainChat, readGemini } from "./read.js";
import { ChatLines, encodeRecords } from "./write.js";

/**
 * Appends the steps after `from`. Undefined if the chat is one JSON object, or if `from` is not the last
 * entry of a message that is still in force.
 */
export async function appendGemini(source: AppendSource): Promise<WrittenSession | undefined> {
  const main = readGemini(sourceAgain(source));
  if (main === undefined || !main.chat.path.endsWith(".jsonl")) return undefined;
  const { log, path, sessionId } = main.chat;
  const rewind = rewindTo(main, source.from);
  if (rewind === undefined) return undefined;
  const { length = log.current.length, records } = rewind;
  const kept = log.current.slice(0, length);
  const turns = new Map<string, Turn>();
  for (const turn of log.current) for (const id of main.conversation.entriesOf(turn)) turns.set(id, turn);
  const existing = (entryId: string): readonly MessageRecord[] | undefined => {
    const turn = turns.get(entryId);
    return turn === undefined ? undefined : [{ ...turn.value, id: turn.id }];
  };
  const added = new Set(source.added.map(({ id }) => id));
  const find: AppendSource["find"] = (finding) => {
    if (finding.entryId === undefined || added.has(finding.entryId)) source.find(finding);
  };
  const made = new ChatRecords({ ...source, find });
  const lines = new ChatLines(made, kept[0]?.id, existing);
  async function* after(): AsyncGenerator<ForeignObject, void, undefined> {
    yield* records;
    const steps = stepsOf({ ...source, find }, geminiRules);
    for (const outline of steps.outlines) {
      if (added.has(outline.entryId)) yield* lines.of(await steps.whole(outline));
      else if (lateResults(outline, added).length > 0) {
        for (const result of lateResults(await steps.whole(outline), added))
          yield* lines.late(outline.entryId, await made.lateResult(result));
      }
    }
    yield { $set: { lastUpdated: isoOf(source.now()) } };
  }
  const written = await collectBytes(encodeRecords(after()));
  const files = source.files.map((file) =>
    file.path === path ? { path, bytes: appended(file.bytes, written) } : file,
  );
  return { files, resume: resumeWords(sessionId) };
}

/** Results that were added to a reply of the original. */
function lateResults(step: WriteStep, added: ReadonlySet<string>) {
  if (step.kind !== "reply") return [];
  return step.results.filter(({ entryId, interrupted }) => interrupted !== true && added.has(entryId));
}

/** How the chat returns to an entry: the messages that stay, and the record of the rewind. */
function rewindTo(
  { chat, conversation }: MainChat,
  from: string | null,
): { readonly length?: number; readonly records: readonly { readonly $rewindTo: string }[] } | undefined {
  const { log } = chat;
  if (from === conversation.leaf) return { records: [] };
  const { current } = log;
  if (from === null) {
    const [first] = current;
    return { length: 0, records: first === undefined ? [] : [{ $rewindTo: first.id }] };
  }
  // A place among messages that a compaction kept is not in the tree.
  const at = current.findLastIndex((turn) => conversation.lastEntryOf(turn) === from && !log.isKept(turn));
  const compaction = log.compaction?.summary;
  const isCompaction = compaction !== undefined && conversation.lastEntryOf(compaction) === from;
  const last = at < 0 && isCompaction ? current.findLastIndex((turn) => log.isKept(turn)) : at;
  const next = current[last + 1];
  if (last < 0 || next === undefined) return undefined;
  return { length: last + 1, records: [{ $rewindTo: next.id }] };
}

/** Bytes after others, on a line of their own. */
function appended(bytes: Uint8Array, more: Uint8Array): Uint8Array {
  const isEnded = bytes.length === 0 || bytes.at(-1) === 10;
  return concatBytes(isEnded ? [bytes, more] : [bytes, new Uint8Array([10]), more]);
}
