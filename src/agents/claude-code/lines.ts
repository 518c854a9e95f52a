/**
 * The lines of a transcript as nodes of a graph. A line has a `uuid` and a `parentUuid`; lines without a uuid
 * are state, titles and logs. Nothing is certain about a line: each member is checked where it is read.
 */

import { type ForeignObject, readObject, readText, toArray } from "../shared/values.js";
import type { ForeignRecord } from "../types.js";

/** A line with a uuid. */
export interface Line {
  /** The index among the records of its file; of a line that was written again, that of the first. */
  readonly at: number;
  /** The index of the last record of its uuid, if it was written again. */
  readonly again: number | undefined;
  readonly record: ForeignRecord;
  readonly value: ForeignObject;
  readonly type: string;
  readonly uuid: string;
  readonly parentUuid: string | undefined;
  /** Set by `transcriptOf`; undefined for a start. */
  parent: Line | undefined;
  /** Of a boundary: the line that its compaction continues, set by `transcriptOf`. */
  logical: Line | undefined;
  /** The index among the lines of its transcript, set by `transcriptOf`. */
  index: number;
  /** Set when the lines are laid out. */
  unit: Unit | undefined;
}

/** Lines that become entries together. */
export interface Unit {
  /** The place in the file of its first line. */
  readonly at: number;
  readonly kind: "reply" | "compaction" | "line";
  /** In the order of the file: the blocks of a reply, a boundary with its summary, or one line. */
  lines: readonly Line[];
  /** The user lines with results of a reply's calls, in the order of the file. */
  results: readonly Line[];
  /** A reply's calls, by their ids. */
  calls: ReadonlyMap<string, Call>;
  /** The unit after which this one is; undefined for a start. */
  parent: Unit | undefined;
  /** Of a compaction: the units that stay in context, in the order of display. */
  retained: readonly Unit[];
  isPlaced: boolean;
  /** Whether it is a reply, or a reply comes before. */
  hasReply: boolean;
  /** The type of the first follower: a reply, or the user's next message. */
  next: "reply" | "prompt" | undefined;
  /** Its last entry, or that of its parent if it has none; null before the first. */
  tail: string | null;
}

/** The lines of one conversation: those of a session, or of one of its subagents. */
export interface Transcript {
  /** In the order of the file. Of lines with one uuid there is the last, at the place of the first. */
  readonly lines: readonly Line[];
  /** Whether the conversation is that of a subagent, whose lines are all sidechains. */
  readonly isSidechain: boolean;
  /** Lines whose parent is not the one that the file names. */
  readonly breaks: Break[];
  lineByUuid(uuid: string): Line | undefined;
}

/** A line with another parent than the file names, or without one. */
export interface Break {
  readonly line: Line;
  readonly text: string;
}

/** The line of a record; undefined for a record without a uuid. */
export function recordLine(record: ForeignRecord, at: number, again?: number): Line | undefined {
  const { value } = record;
  const uuid = readId(value.uuid);
  if (uuid === undefined) return undefined;
  const parentUuid = readId(value.parentUuid);
  return {
    at,
    again,
    record,
    value,
    type: readType(value),
    uuid,
    parentUuid,
    parent: undefined,
    logical: undefined,
    index: 0,
    unit: undefined,
  };
}

/** A set of lines of one transcript, by their indexes: eight times as fast as a Set of objects (Node 20). */
export class LineSet {
  readonly #has: Uint8Array;

  constructor({ lines }: Pick<Transcript, "lines">) {
    this.#has = new Uint8Array(lines.length);
  }

  has({ index }: Line): boolean {
    return this.#has[index] === 1;
  }

  add({ index }: Line): void {
    this.#has[index] = 1;
  }
}

/** The type of a record; empty without one. */
export function readType(value: ForeignObject): string {
  return readText(value.type) ?? "";
}

/** A text that is not empty. */
export function readId(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Whether a line is a message of the conversation, other than one of a team's other members. */
export function isMessage({ type, value }: Line): boolean {
  return (type === "user" || type === "assistant") && !value.teamName;
}

/** Whether a line is a message of the user that is neither a result, a note nor a summary. */
export function isPrompt(line: Line): boolean {
  const { type, value } = line;
  if (type !== "user" || !isMessage(line) || value.isMeta === true || value.isCompactSummary === true)
    return false;
  return resultIds(line).length === 0;
}

/** The line before a line in the history: a boundary continues the conversation that it ends. */
export function before(line: Line): Line | undefined {
  return line.logical ?? line.parent;
}

/** Whether a line is a notice of the program about a failed request: it is shown, but never sent. */
export function isApiError({ type, value }: Line): boolean {
  return type === "assistant" && value.isApiErrorMessage === true;
}

export function isBoundary({ type, value }: Line): boolean {
  return type === "system" && value.subtype === "compact_boundary";
}

/** The blocks of a message. A text is one block. */
export function lineBlocks({ value }: Line): readonly unknown[] {
  const content = readObject(value.message)?.content;
  return typeof content === "string" ? [{ type: "text", text: content }] : toArray(content);
}

/** The id that the lines of one reply have in common. */
export function messageId(line: Line): string | undefined {
  return line.type === "assistant" ? readId(readObject(line.value.message)?.id) : undefined;
}

/** The member `sessile` of an exported line that begins the conversation again. The agent ignores it. */
export const startMark = "start";

/** Whether a line of a reply has the reason of its end. */
export function hasReason({ value }: Line): boolean {
  return typeof readObject(value.message)?.stop_reason === "string";
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
  for (const block of lineBlocks(line)) {
    const { type, id, name, input } = readObject(block) ?? {};
    if (type === "tool_use" && typeof id === "string" && typeof name === "string")
      calls.push({ id, name, prompt: readId(readObject(input)?.prompt) });
  }
  return calls;
}

/** The ids of the calls that a user line has results of. */
export function resultIds(line: Line): readonly string[] {
  const ids: string[] = [];
  if (line.type !== "user") return ids;
  for (const block of lineBlocks(line)) {
    const { type, tool_use_id: id } = readObject(block) ?? {};
    if (type === "tool_result" && typeof id === "string") ids.push(id);
  }
  return ids;
}

/** The lines that a compaction keeps, by the metadata of its boundary. */
export interface Preserved {
  /** The line that the preserved ones are shown after: the summary. */
  readonly anchor: string | undefined;
  /** In the order of display. */
  readonly lines: readonly Line[];
}

/** The lines that a boundary preserves, if all of them are there. */
export function preservedBy(boundary: Line, { lineByUuid }: Transcript): Preserved | undefined {
  const metadata = readObject(boundary.value.compactMetadata);
  const messages = readObject(metadata?.preservedMessages);
  if (messages !== undefined) {
    const uuids = toArray(messages.uuids).flatMap((uuid) => readId(uuid) ?? []);
    const found = uuids.flatMap((uuid) => lineByUuid(uuid) ?? []);
    if (found.length === 0 || found.length < uuids.length) return undefined;
    return { anchor: readId(messages.anchorUuid), lines: found };
  }
  // Before there was a list: the ends of a chain.
  const segment = readObject(metadata?.preservedSegment);
  const [head, tail] = [readId(segment?.headUuid), readId(segment?.tailUuid)];
  if (head === undefined || tail === undefined) return undefined;
  const lines: Line[] = [];
  const seen = new Set<Line>();
  for (let at = lineByUuid(tail); at !== undefined && !seen.has(at); at = at.parent) {
    seen.add(at);
    lines.push(at);
    if (at.uuid === head) return { anchor: readId(segment?.anchorUuid), lines: lines.reverse() };
  }
  return undefined;
}

/** The type of a line in the report. */
export function countedType({ type, value }: Pick<Line, "type" | "value">): string {
  const subtype =
    type === "attachment" ? readText(readObject(value.attachment)?.type) : readText(value.subtype);
  return subtype === undefined ? type : `${type} ${subtype}`;
}
