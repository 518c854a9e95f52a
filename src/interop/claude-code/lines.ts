/**
 * The lines of a transcript as nodes of a graph. A line has a `uuid` and a `parentUuid`; lines without a uuid
 * are state, titles and logs. Nothing is certain about a line: each member is checked where it is read.
 */

import { arrayOf, type ForeignObject, objectOf, textOf } from "../shared/values.js";
import type { ForeignRecord } from "../types.js";

/** A line with a uuid. */
export interface Line {
  /** The index among the records of its file. */
  readonly at: number;
  readonly record: ForeignRecord;
  readonly value: ForeignObject;
  readonly type: string;
  readonly uuid: string;
  readonly parentUuid: string | undefined;
  /** Set by {@link transcriptOf}; undefined for a start, and if the parent is missing. */
  parent: Line | undefined;
}

/** The lines of one conversation: those of a session, or of one of its subagents. */
export interface Transcript {
  /** In the order of the file. Of lines with one uuid there is the last. */
  readonly lines: readonly Line[];
  /** Whether the conversation is that of a subagent, whose lines are all sidechains. */
  readonly isSidechain: boolean;
  lineOf(uuid: string): Line | undefined;
}

/** The line of a record; undefined for a record without a uuid. */
export function lineOf(record: ForeignRecord, at: number): Line | undefined {
  const { value } = record;
  const uuid = idOf(value.uuid);
  if (uuid === undefined) return undefined;
  const parentUuid = idOf(value.parentUuid);
  return { at, record, value, type: typeOf(value), uuid, parentUuid, parent: undefined };
}

/** Lines in the order of their file, with their parents. */
export function transcriptOf(lines: readonly Line[], isSidechain: boolean): Transcript {
  const byId = new Map<string, Line>();
  for (const line of lines) byId.set(line.uuid, line);
  let last: Line | undefined;
  for (const line of lines) {
    const { parentUuid } = line;
    // Mostly it is the line before, and a comparison is faster than a search.
    if (parentUuid !== undefined) line.parent = parentUuid === last?.uuid ? last : byId.get(parentUuid);
    last = line;
  }
  return { lines, isSidechain, lineOf: (uuid) => byId.get(uuid) };
}

/** The type of a record; empty without one. */
export function typeOf(value: ForeignObject): string {
  return textOf(value.type) ?? "";
}

/** A text that is not empty. */
export function idOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Whether a line is a message of the conversation, other than one of a team's other members. */
export function isMessage({ type, value }: Line): boolean {
  return (type === "user" || type === "assistant") && !value.teamName;
}

/** Whether a line is a notice of the program about a failed request: it is shown, but never sent. */
export function isApiError({ type, value }: Line): boolean {
  return type === "assistant" && value.isApiErrorMessage === true;
}

export function isBoundary({ type, value }: Line): boolean {
  return type === "system" && value.subtype === "compact_boundary";
}

/** The blocks of a message. A text is one block. */
export function blocksOf({ value }: Line): readonly unknown[] {
  const content = objectOf(value.message)?.content;
  return typeof content === "string" ? [{ type: "text", text: content }] : arrayOf(content);
}

/** The id that the lines of one reply have in common. */
export function messageId(line: Line): string | undefined {
  return line.type === "assistant" ? idOf(objectOf(line.value.message)?.id) : undefined;
}

/** A call of a reply. */
export interface Call {
  readonly id: string;
  readonly name: string;
  /** The prompt of a subagent that it starts. */
  readonly prompt: string | undefined;
}

/** The calls in an assistant line. */
export function callsIn(line: Line): readonly Call[] {
  const calls: Call[] = [];
  for (const block of blocksOf(line)) {
    const { type, id, name, input } = objectOf(block) ?? {};
    if (type === "tool_use" && typeof id === "string" && typeof name === "string")
      calls.push({ id, name, prompt: idOf(objectOf(input)?.prompt) });
  }
  return calls;
}

/** The ids of the calls that a user line has results of. */
export function resultIds(line: Line): readonly string[] {
  const ids: string[] = [];
  if (line.type !== "user") return ids;
  for (const block of blocksOf(line)) {
    const { type, tool_use_id: id } = objectOf(block) ?? {};
    if (type === "tool_result" && typeof id === "string") ids.push(id);
  }
  return ids;
}

/** The lines that a compaction keeps, by the metadata of its boundary. */
export interface Preserved {
  /** The line that the preserved ones are shown behind: the summary. */
  readonly anchor: string | undefined;
  /** In the order of display. */
  readonly lines: readonly Line[];
}

/** The lines that a boundary preserves, if all of them are there. */
export function preservedBy(boundary: Line, { lineOf }: Transcript): Preserved | undefined {
  const metadata = objectOf(boundary.value.compactMetadata);
  const messages = objectOf(metadata?.preservedMessages);
  if (messages !== undefined) {
    const uuids = arrayOf(messages.uuids).flatMap((uuid) => idOf(uuid) ?? []);
    const found = uuids.flatMap((uuid) => lineOf(uuid) ?? []);
    if (found.length === 0 || found.length < uuids.length) return undefined;
    return { anchor: idOf(messages.anchorUuid), lines: found };
  }
  // Before there was a list: the ends of a chain.
  const segment = objectOf(metadata?.preservedSegment);
  const [head, tail] = [idOf(segment?.headUuid), idOf(segment?.tailUuid)];
  if (head === undefined || tail === undefined) return undefined;
  const lines: Line[] = [];
  const seen = new Set<Line>();
  for (let at = lineOf(tail); at !== undefined && !seen.has(at); at = at.parent) {
    seen.add(at);
    lines.push(at);
    if (at.uuid === head) return { anchor: idOf(segment?.anchorUuid), lines: lines.reverse() };
  }
  return undefined;
}
