/** Continues a chat: lines after the original bytes, and a rewind for a leaf that moved back. */

import { collectBytes } from "../../core/bytes.js";
import { geminiRules } from "../shared/gemini-parts.js";
import { appended, encodeRecords } from "../shared/lines.js";
import { sourceAgain } from "../shared/read-again.js";
import { type ForeignObject, timeIso } from "../shared/values.js";
import { addedSteps } from "../shared/write-steps.js";
import type { AppendSource, WrittenSession } from "../types.js";
import { resumeWords } from "./agent.js";
import type { Turn } from "./history.js";
import { ChatRecords, type MessageRecord } from "./lines.js";
import { type MainChat, readGemini } from "./read.js";
import { ChatLines } from "./write.js";

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
  for (const turn of log.current) for (const id of main.conversation.turnEntries(turn)) turns.set(id, turn);
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
    for await (const { step, late } of addedSteps({ ...source, find }, geminiRules)) {
      if (late === undefined) yield* lines.of(step);
      else yield* lines.late(step.entryId, await made.lateResult(late));
    }
    yield { $set: { lastUpdated: timeIso(source.now()) } };
  }
  const written = await collectBytes(encodeRecords(after()));
  const files = source.files.map((file) =>
    file.path === path ? { path, bytes: appended(file.bytes, written) } : file,
  );
  return { files, resume: resumeWords(sessionId) };
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
  const at = current.findLastIndex((turn) => conversation.lastTurnEntry(turn) === from && !log.isKept(turn));
  const compaction = log.compaction?.summary;
  const isCompaction = compaction !== undefined && conversation.lastTurnEntry(compaction) === from;
  const last = at < 0 && isCompaction ? current.findLastIndex((turn) => log.isKept(turn)) : at;
  const next = current[last + 1];
  if (last < 0 || next === undefined) return undefined;
  return { length: last + 1, records: [{ $rewindTo: next.id }] };
}
