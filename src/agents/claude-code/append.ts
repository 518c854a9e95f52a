/**
 * Continues a transcript: new lines after its bytes, of which the first names the line that they follow. For
 * a conversation that continues at its end, or at an earlier line.
 */

import { collectBytes, concatBytes, encodeTexts } from "../../core/bytes.js";
import type { SessionEntry } from "../../session/index.js";
import { readLines } from "../shared/lines.js";
import { sourceAgain } from "../shared/read-again.js";
import { readMilliseconds } from "../shared/values.js";
import { type WriteResult, type WriteStep, type WriteSteps, writeSteps } from "../shared/write-steps.js";
import type { AppendSource, WrittenSession } from "../types.js";
import { resumeWords } from "./agent.js";
import { type Line, lineBlocks, type Unit } from "./lines.js";
import { linkedTranscript } from "./links.js";
import { isUuid, readClaudeCode } from "./read.js";
import { LineCollection, nameByPath } from "./transcript-file.js";
import { layOut } from "./units.js";

import { LineWriter } from "./write-lines.js";

const maxLineBytes = 64 * 1024 * 1024;

/** Appends lines; undefined if the change cannot be said after the bytes. */
export async function appendClaudeCode(source: AppendSource): Promise<WrittenSession | undefined> {
  const { files, original, from, added } = source;
  const { id: sessionId } = original.header;
  const file = files.find(({ path }) => path.endsWith(".jsonl") && nameByPath(path) === sessionId);
  if (file === undefined || !isUuid(sessionId)) return undefined;
  const lines = appendedLines(file);
  const parent = from === null ? null : lastLine(lines, from, source);
  if (parent === undefined || (from === null && added.length === 0)) return undefined;
  const addedIds = new Set(added.map(({ id }) => id));
  const find: AppendSource["find"] = (finding) => {
    if (finding.entryId === undefined || addedIds.has(finding.entryId)) source.find(finding);
  };
  const writer = new LineWriter({ ...source, find }, { sessionId, parent, after: latestTime(lines) });
  const steps = writeSteps({ ...source, find });
  if (changesCalls(steps.outlines, addedIds, original.entries)) return undefined;
  async function* after(): AsyncGenerator<string, void, undefined> {
    yield* addedLines(steps, writer, source);
    if (writer.parent === parent && from !== original.leafId) yield writer.mark(source.now());
  }
  const tail = file.bytes.at(-1) === 10 || file.bytes.length === 0 ? [] : [Uint8Array.of(10)];
  const bytes = concatBytes([file.bytes, ...tail, await collectBytes(encodeTexts(after()))]);
  return {
    files: files.map((each) => (each === file ? { path: file.path, bytes } : each)),
    resume: resumeWords(sessionId),
  };
}

/** The lines of the steps that were added, and of the results that were added to earlier ones. */
async function* addedLines(
  steps: WriteSteps,
  writer: LineWriter,
  { added, find }: AppendSource,
): AsyncGenerator<string, void, undefined> {
  const addedIds = new Set(added.map(({ id }) => id));
  const last = steps.outlines.findLast((step) => !addedIds.has(step.entryId));
  for (const outline of steps.outlines) {
    if (addedIds.has(outline.entryId)) {
      yield* writer.write(await steps.whole(outline));
      continue;
    }
    // An open call of the last reply: the agent would leave out the whole reply.
    const isOpen = outline === last && added.length > 0;
    const isAdded = ({ entryId, interrupted }: WriteResult) =>
      interrupted === true ? isOpen : addedIds.has(entryId);
    if (outline.kind !== "reply" || !outline.results.some(isAdded)) continue;
    const step = (await steps.whole(outline)) as typeof outline;
    const results = step.results.filter(isAdded);
    for (const { callId, entryId, interrupted } of results)
      if (interrupted === true) find({ code: "interrupted", entryId, text: `call ${callId} has no result` });
    yield* writer.results(step.entryId, results);
  }
}

/** Whether the original has a call whose id or name a writer would change: its line stays as it is. */
function changesCalls(
  steps: readonly WriteStep[],
  addedIds: ReadonlySet<string>,
  entries: readonly SessionEntry[],
): boolean {
  const ids = new Set<string>();
  for (const entry of entries) {
    if (entry.type !== "message" || entry.message.role !== "assistant") continue;
    for (const block of entry.message.content) if (block.type === "toolCall") ids.add(block.id);
  }
  return steps.some(
    (step) =>
      step.kind === "reply" &&
      !addedIds.has(step.entryId) &&
      step.results.some(({ callId }) => !ids.has(callId)),
  );
}

/** The lines of the session itself. */
function appendedLines({ path, bytes }: AppendSource["files"][number]): readonly Line[] {
  const lines = new LineCollection();
  for (const found of readLines(bytes, maxLineBytes)) {
    if (found.kind !== "record" || found.value.isSidechain === true) continue;
    lines.add({ file: path, line: found.line, value: found.value });
  }
  return lines.lines;
}

function latestTime(lines: readonly Line[]): number {
  return lines.reduce((latest, { value }) => Math.max(latest, readMilliseconds(value.timestamp) ?? 0), 0);
}

/**
 * The uuid of the line that an entry ends in. Undefined for an entry in the middle of a reply, since lines
 * after it would follow all of the reply's results, and for one without a line.
 */
function lastLine(lines: readonly Line[], from: string, source: AppendSource): string | undefined {
  const { entries } = source.original;
  const { units } = layOut(linkedTranscript(lines, false));
  const again = readClaudeCode(sourceAgain(source));
  const owners = new Map<string, Unit>();
  for (const unit of units) {
    for (const [recordId, part] of unitParts(unit)) {
      const id = again?.idByRecordId(recordId, part);
      if (id !== undefined && !owners.has(id)) owners.set(id, unit);
    }
  }
  // The link to a subagent is after the result that it came with.
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  let end = byId.get(from);
  while (end?.type === "custom" && end.customType === "sessile.subagent") end = byId.get(end.parentId ?? "");
  const unit = end === undefined ? undefined : owners.get(end.id);
  if (unit === undefined) return undefined;
  const isInside = entries.some(({ id, parentId }) => parentId === from && owners.get(id) === unit);
  return isInside ? undefined : (unit.results.at(-1) ?? unit.lines.at(-1))?.uuid;
}

/** The records and parts that the entries of a unit have their ids of. */
function unitParts({ kind, lines, results }: Unit): readonly (readonly [recordId: string, part: string])[] {
  const parts: (readonly [string, string])[] = [];
  const [first] = lines;
  if (first !== undefined) parts.push([first.uuid, ""]);
  if (kind === "line" && first?.value.subtype === "microcompact_boundary") return [];
  for (const line of results) {
    for (const part of lineBlocks(line).keys()) parts.push([line.uuid, String(part)]);
    parts.push([line.uuid, "text"]);
  }
  return parts;
}
