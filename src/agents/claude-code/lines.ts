/**
 * The lines of a transcript as nodes of a graph. A line has a `uuid` and a `parentUuid`; lines without a uuid
 * are state, titles and logs. Nothing is certain about a line: each member is checked where it is read.
 */

import { type ForeignObject, readCount, readObject, readText, toArray } from "../shared/values.js";
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
interface Break {
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
interface Preserved {
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

// The parents of lines, those included that a file lacks or has wrong: lines that were never written, hooks
// and retries that fork the conversation, copies of old history. The line then follows one before it in the
// file.

/** Bounds the search for a line that is no descendant. */
const maxSearched = 64;

/** Lines in the order of their file, with their parents. Linear in the lines. */
export function linkedTranscript(lines: readonly Line[], isSidechain: boolean): Transcript {
  let byId: Map<string, Line> | undefined;
  const lineByUuid = (uuid: string) => {
    byId ??= new Map(lines.map((line) => [line.uuid, line]));
    return byId.get(uuid);
  };
  let last: Line | undefined;
  for (const [index, line] of lines.entries()) {
    const { parentUuid } = line;
    // Mostly it is the line before, and a comparison is faster than a search.
    if (parentUuid === undefined) line.parent = undefined;
    else line.parent = parentUuid === last?.uuid ? last : lineByUuid(parentUuid);
    const logical = isBoundary(line) ? readId(line.value.logicalParentUuid) : undefined;
    line.logical = logical === undefined ? undefined : lineByUuid(logical);
    line.index = index;
    last = line;
  }
  const transcript = { lines, isSidechain, breaks: [], lineByUuid };
  linkOrphans(transcript);
  return transcript;
}

/** Links lines whose parent is missing, or after them in a cycle, to the line before them. */
function linkOrphans({ lines, isSidechain, breaks }: Transcript): void {
  cutCycles(lines);
  const orphans = lines.filter((line) => before(line) === undefined && !line.value.teamName);
  if (orphans.length === 0 || (orphans.length === 1 && orphans[0] === lines[0])) {
    for (const line of orphans) reportOrphan(line, undefined, breaks);
    return;
  }
  const starts = startsIn(lines, orphans, isSidechain);
  const isUsed = aboveMessages(lines);
  const roots = lineRoots(lines);
  for (const line of orphans) {
    if (starts.has(line)) continue;
    const previous = linePrevious(line, lines, roots);
    if (previous !== undefined) {
      if (isBoundary(line)) line.logical = previous;
      else line.parent = previous;
      roots.up[line.index] = previous.index;
    }
    if (namedParent(line) !== undefined || isUsed.has(line)) reportOrphan(line, previous, breaks);
  }
}

/**
 * The lines without a parent that begin the conversation again. After a rewind to the start the agent writes
 * such a prompt. It may also have lost the parent: then the next request is not smaller than the last one.
 */
function startsIn(lines: readonly Line[], orphans: readonly Line[], isSidechain: boolean): ReadonlySet<Line> {
  const unnamed = orphans.filter((line) => namedParent(line) === undefined);
  const prompts = unnamed.filter(isPrompt);
  const starts = new Set(unnamed.filter(({ value }) => value.sessile === startMark).concat(prompts));
  // Each subagent of a file begins so.
  if (isSidechain || prompts.length === 0) return starts;
  const isAsked = new Set(prompts);
  const sent = new Map<Line, number>();
  let next: number | undefined;
  for (const line of lines.toReversed()) {
    next = sentTokens(line) ?? next;
    if (next !== undefined && isAsked.has(line)) sent.set(line, next);
  }
  let asked = 0;
  let last = 0;
  for (const line of lines) {
    // The first prompt alone may well be shorter than the one in its place.
    const isLost = asked > 1 && isAsked.has(line) && (sent.get(line) ?? -1) >= last;
    if (isLost && line.value.sessile !== startMark) starts.delete(line);
    if (isPrompt(line)) asked++;
    // After a compaction a smaller request shows nothing.
    last = isBoundary(line) ? 0 : (sentTokens(line) ?? last);
  }
  return starts;
}

/** The tokens of the request that a line of a reply answers. */
function sentTokens({ type, value }: Line): number | undefined {
  const usage = type === "assistant" ? readObject(readObject(value.message)?.usage) : undefined;
  if (usage === undefined) return undefined;
  const { input_tokens: input, cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage;
  return readCount(input) + readCount(read) + readCount(written);
}

function namedParent(line: Line): string | undefined {
  return (isBoundary(line) ? readId(line.value.logicalParentUuid) : undefined) ?? line.parentUuid;
}

function reportOrphan(line: Line, previous: Line | undefined, breaks: Transcript["breaks"]): void {
  const named = namedParent(line);
  const follows = previous === undefined ? "" : `; it follows ${previous.uuid}`;
  if (named !== undefined)
    breaks.push({ line, text: `the parent of ${line.uuid} is missing, or after it: ${named}${follows}` });
  else if (previous !== undefined)
    breaks.push({ line, text: `${line.uuid} has no parent, though lines are before it${follows}` });
}

/** Takes the parent from the first line of each cycle. */
function cutCycles(lines: readonly Line[]): void {
  const done = new LineSet({ lines });
  for (const line of lines) {
    // Mostly the line before is done.
    const walked = new Set<Line>();
    let at: Line | undefined = line;
    for (; at !== undefined && !done.has(at) && !walked.has(at); at = before(at)) walked.add(at);
    if (at !== undefined && walked.has(at)) {
      let first = at;
      for (let next = before(at) as Line; next !== at; next = before(next) as Line)
        if (next.index < first.index) first = next;
      first.parent = undefined;
      first.logical = undefined;
    }
    for (const each of walked) done.add(each);
  }
}

/** The lines that are messages, or before one in the history. */
function aboveMessages(lines: readonly Line[]): LineSet {
  const above = new LineSet({ lines });
  for (const line of lines) {
    if (!isMessage(line)) continue;
    for (let at: Line | undefined = line; at !== undefined && !above.has(at); at = before(at)) above.add(at);
  }
  return above;
}

/** The first line of the history of each line, by their indexes. */
interface Roots {
  /** An earlier line of the history; a root has its own. */
  readonly up: Int32Array;
  find(index: number): number;
}

function lineRoots(lines: readonly Line[]): Roots {
  const up = Int32Array.from(lines.keys());
  const parentIndex = (index: number) => up[index] as number;
  const find = (index: number) => {
    let at = index;
    while (parentIndex(at) !== at) {
      up[at] = parentIndex(parentIndex(at));
      at = parentIndex(at);
    }
    return at;
  };
  for (const line of lines) {
    const parent = before(line);
    if (parent !== undefined) up[line.index] = parent.index;
  }
  return { up, find };
}

/** The nearest line before a line in the file that is not after it in the history. */
function linePrevious(line: Line, lines: readonly Line[], { find }: Roots): Line | undefined {
  const { index } = line;
  for (let at = index - 1; at >= Math.max(0, index - maxSearched); at--) {
    const previous = lines[at] as Line;
    if (!previous.value.teamName && find(at) !== find(index)) return previous;
  }
  return undefined;
}

/**
 * Joins forks that no user made. A line that follows a hook, a retry or a copy of old history leaves out the
 * messages that were written since, unless a prompt followed it before: then it is a rewind. Such a line
 * follows the message before it in the file. Linear in the lines.
 */
export function joinForks(transcript: Transcript): void {
  const forks = new Forks(transcript);
  let previous: Line | undefined;
  for (const line of transcript.lines) {
    if (!isStop(line)) continue;
    if (previous !== undefined) forks.join(line, previous);
    if (isSaid(line)) forks.pass(line);
    previous = line;
  }
}

/** Whether a line becomes entries, unlike those of hooks and states. */
function isStop(line: Line): boolean {
  const { type, value } = line;
  if (type === "attachment")
    return "rendered" in value || readObject(value.attachment)?.type === "queued_command";
  return isMessage(line) || isBoundary(line) || value.subtype === "microcompact_boundary";
}

/** Whether a line is a message of the user without results. A rewind ends before such a line. */
function isSaid(line: Line): boolean {
  return line.type === "user" && line.value.isCompactSummary !== true && resultIds(line).length === 0;
}

/** A line, and how it leads to the message before it in the history. */
interface Lead {
  /** The last line on the way that was written after the previous message of the file. */
  readonly link: Line;
  readonly message: Line;
  /** Whether only lines of progress are between. */
  readonly isProgress: boolean;
}

class Forks {
  readonly #transcript: Transcript;
  /** Lines between a message and one that a user said. */
  readonly #passed: LineSet;
  /** Messages after which a user said something. */
  readonly #answered: LineSet;
  /** Bounds the walks through a history that is not in the order of the file. */
  #budget: number;

  constructor(transcript: Transcript) {
    this.#transcript = transcript;
    this.#passed = new LineSet(transcript);
    this.#answered = new LineSet(transcript);
    this.#budget = 8 * transcript.lines.length;
  }

  pass(line: Line): void {
    let at = before(line);
    for (; at !== undefined && !isStop(at) && !this.#passed.has(at); at = before(at)) this.#passed.add(at);
    if (at !== undefined && isStop(at)) this.#answered.add(at);
  }

  /** Links a line to the message before it in the file, if its parent leaves that out. */
  join(line: Line, previous: Line): void {
    const lead = this.#lineLead(line, previous);
    if (lead === undefined) return;
    const { link, message } = lead;
    if (line.unit?.kind === "reply" && line !== line.unit.lines[0]) {
      if (line.type !== "user") return;
      // A result that leads past its own reply.
      const own = lastBefore(line.unit.lines, line.index);
      const isPast = own !== undefined && message.index < own.index && message.unit !== line.unit;
      if (isPast && this.#isAfter(own, message, line)) this.#link(line, own);
      return;
    }
    const isWhole = message === previous || (message.unit !== undefined && message.unit === previous.unit);
    if (isWhole || message.index > previous.index || this.#isChosen(line, lead, previous)) return;
    if (this.#isAfter(previous, message, link)) this.#link(link, previous);
  }

  #lineLead(line: Line, previous: Line): Lead | undefined {
    let link = line;
    let isProgress = true;
    let at = before(line);
    for (; at !== undefined && !isStop(at); at = before(at)) {
      if (this.#budget-- <= 0) return undefined;
      if (at.index > previous.index) link = at;
      isProgress &&= at.type === "progress";
    }
    return at === undefined ? undefined : { link, message: at, isProgress };
  }

  /** Whether a fork was made: by a rewind, by an explicit parent, or by a second reply to one prompt. */
  #isChosen(line: Line, { message, isProgress }: Lead, previous: Line): boolean {
    if (message.again !== undefined && message.again > previous.at) return false;
    const parent = before(line);
    if (parent === undefined || parent === message) return true;
    if (line.type === "assistant") return previous.type === "assistant";
    return this.#passed.has(parent) || (!isProgress && isSaid(line) && this.#answered.has(message));
  }

  /** Whether a line is after a message in the history, and not by way of another line. */
  #isAfter(line: Line, message: Line, link: Line): boolean {
    let at: Line | undefined = line;
    while (at !== undefined && at.index > message.index && at !== link && this.#budget-- > 0) at = before(at);
    return at === message;
  }

  #link(line: Line, previous: Line): void {
    const parent = before(line)?.uuid;
    if (isBoundary(line)) line.logical = previous;
    else line.parent = previous;
    const text = `the parent of ${line.uuid} leaves messages out: ${parent}; it follows ${previous.uuid}`;
    this.#transcript.breaks.push({ line, text });
  }
}

/** The last of some lines in the order of the file that is before an index. */
function lastBefore(lines: readonly Line[], index: number): Line | undefined {
  let [low, high] = [0, lines.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((lines[middle] as Line).index < index) low = middle + 1;
    else high = middle;
  }
  return lines[low - 1];
}
