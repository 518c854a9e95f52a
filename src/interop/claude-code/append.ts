/**
 * Continues a transcript: new lines after its bytes, of which the first names the line that they follow. For
 * a conversation that continues at its end, or at an earlier line.
 */

import { concatBytes } from "../../internal/bytes.js";
import type { SessionEntry } from "../../session/index.js";
import { readLines } from "../shared/lines.js";
import { sourceAgain } from "../shared/read-again.js";
import { millisecondsOf } from "../shared/values.js";
import { stepsOf, type WriteStep } from "../shared/write-steps.js";
import type { AppendSource, WrittenSession } from "../types.js";
import { blocksOf, type Line, type Unit } from "./lines.js";
import { transcriptOf } from "./links.js";
import { isUuid, readClaudeCode } from "./read.js";
import { LineCollection, nameOf } from "./transcript-file.js";
import { layOut } from "./units.js";
import { resumeWords } from "./write.js";
import { LineWriter } from "./write-lines.js";

const maxLineBytes = 64 * 1024 * 1024;

/** Appends lines; undefined if the change cannot be said after the bytes. */
export async function appendClaudeCode(source: AppendSource): Promise<WrittenSession | undefined> {
  const { files, original, from, added } = source;
  const { id: sessionId } = original.header;
  const file = files.find(({ path }) => path.endsWith(".jsonl") && nameOf(path) === sessionId);
  if (file === undefined || !isUuid(sessionId)) return undefined;
  const lines = linesOf(file);
  const parent = from === null ? null : lastLine(lines, from, source);
  if (parent === undefined || (from === null && added.length === 0)) return undefined;
  const addedIds = new Set(added.map(({ id }) => id));
  const find: AppendSource["find"] = (finding) => {
    if (finding.entryId === undefined || addedIds.has(finding.entryId)) source.find(finding);
  };
  const writer = new LineWriter({ ...source, find }, { sessionId, parent, after: latestTime(lines) });
  const steps = stepsOf({ ...source, find });
  if (changesCalls(steps, addedIds, original.entries)) return undefined;
  const last = steps.findLast((step) => !addedIds.has(step.entryId));
  for (const step of steps) {
    if (addedIds.has(step.entryId)) await writer.write(step);
    else if (step.kind === "reply") {
      // An open call of the last reply: the agent would leave out the whole reply.
      const isOpen = step === last && added.length > 0;
      const results = step.results.filter((result) =>
        result.interrupted === true ? isOpen : addedIds.has(result.entryId),
      );
      for (const { callId, entryId, interrupted } of results)
        if (interrupted === true)
          source.find({ code: "interrupted", entryId, text: `call ${callId} has no result` });
      await writer.results(step.entryId, results);
    }
  }
  if (writer.parent === parent && from !== original.leafId) writer.mark(source.now());
  const tail = file.bytes.at(-1) === 10 || file.bytes.length === 0 ? [] : [Uint8Array.of(10)];
  const bytes = concatBytes([file.bytes, ...tail, writer.bytes]);
  return {
    files: files.map((each) => (each === file ? { path: file.path, bytes } : each)),
    resume: resumeWords(sessionId),
  };
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
function linesOf({ path, bytes }: WrittenSession["files"][number]): readonly Line[] {
  const lines = new LineCollection();
  for (const found of readLines(bytes, maxLineBytes)) {
    if (found.kind !== "record" || found.value.isSidechain === true) continue;
    lines.add({ file: path, line: found.line, value: found.value });
  }
  return lines.lines;
}

function latestTime(lines: readonly Line[]): number {
  return lines.reduce((latest, { value }) => Math.max(latest, millisecondsOf(value.timestamp) ?? 0), 0);
}

/**
 * The uuid of the line that an entry ends in. Undefined for an entry in the middle of a reply, since lines
 * after it would follow all of the reply's results, and for one without a line.
 */
function lastLine(lines: readonly Line[], from: string, source: AppendSource): string | undefined {
  const { entries } = source.original;
  const { units } = layOut(transcriptOf(lines, false));
  const again = readClaudeCode(sourceAgain(source));
  const owners = new Map<string, Unit>();
  for (const unit of units) {
    for (const [recordId, part] of partsOf(unit)) {
      const id = again?.idOf(recordId, part);
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
function partsOf({ kind, lines, results }: Unit): readonly (readonly [recordId: string, part: string])[] {
  const parts: (readonly [string, string])[] = [];
  const [first] = lines;
  if (first !== undefined) parts.push([first.uuid, ""]);
  if (kind === "line" && first?.value.subtype === "microcompact_boundary") return [];
  for (const line of results) {
    for (const part of blocksOf(line).keys()) parts.push([line.uuid, String(part)]);
    parts.push([line.uuid, "text"]);
  }
  return parts;
}
