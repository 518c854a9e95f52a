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
}

/** The lines of one conversation: those of a session, or of one of its subagents. */
export interface Transcript {
  /** By uuid, in the order of the file. Of lines with one uuid the last counts, at the place of the first. */
  readonly lines: ReadonlyMap<string, Line>;
  /** Whether the conversation is that of a subagent, whose lines are all sidechains. */
  readonly isSidechain: boolean;
}

/** The line of a record; undefined for a record without a uuid. */
export function lineOf(record: ForeignRecord, at: number): Line | undefined {
  const { value } = record;
  const uuid = idOf(value.uuid);
  if (uuid === undefined) return undefined;
  return { at, record, value, type: typeOf(value), uuid, parentUuid: idOf(value.parentUuid) };
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

/** The ids of the calls in an assistant line. */
export function callIds(line: Line): readonly string[] {
  return line.type === "assistant" ? idsOf(line, "tool_use", "id") : [];
}

/** The ids of the calls that a user line has results of. */
export function resultIds(line: Line): readonly string[] {
  return line.type === "user" ? idsOf(line, "tool_result", "tool_use_id") : [];
}

function idsOf(line: Line, type: string, member: string): readonly string[] {
  return blocksOf(line).flatMap((block) => {
    const fields = objectOf(block);
    const id = fields?.type === type ? idOf(fields[member]) : undefined;
    return id === undefined ? [] : [id];
  });
}

/** What a compaction keeps, by the metadata of its boundary. */
export interface Preserved {
  /** The line that the preserved ones are shown behind: the summary. */
  readonly anchor: string | undefined;
  /** In the order of display. */
  readonly uuids: readonly string[];
}

/** The lines that a boundary preserves, if all of them are there. */
export function preservedBy(boundary: Line, lines: ReadonlyMap<string, Line>): Preserved | undefined {
  const metadata = objectOf(boundary.value.compactMetadata);
  const messages = objectOf(metadata?.preservedMessages);
  if (messages !== undefined) {
    const uuids = arrayOf(messages.uuids).flatMap((uuid) => idOf(uuid) ?? []);
    if (uuids.length === 0 || uuids.some((uuid) => !lines.has(uuid))) return undefined;
    return { anchor: idOf(messages.anchorUuid), uuids };
  }
  // Before there was a list: the ends of a chain.
  const segment = objectOf(metadata?.preservedSegment);
  const [head, tail] = [idOf(segment?.headUuid), idOf(segment?.tailUuid)];
  if (head === undefined || tail === undefined || !lines.has(head)) return undefined;
  const uuids: string[] = [];
  const seen = new Set<string>();
  for (let at = lines.get(tail); at !== undefined && !seen.has(at.uuid); ) {
    seen.add(at.uuid);
    uuids.push(at.uuid);
    if (at.uuid === head) return { anchor: idOf(segment?.anchorUuid), uuids: uuids.reverse() };
    at = at.parentUuid === undefined ? undefined : lines.get(at.parentUuid);
  }
  return undefined;
}
