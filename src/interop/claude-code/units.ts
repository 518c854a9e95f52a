/**
 * The lines of a transcript, gathered into what becomes entries together, and the place of each in the tree. A
 * reply is several lines, one a block, and the results of its parallel calls hang below different ones of them.
 */

import { chainOf } from "./chain.js";
import {
  callIds,
  idOf,
  isApiError,
  isBoundary,
  isMessage,
  type Line,
  messageId,
  preservedBy,
  resultIds,
  type Transcript,
} from "./lines.js";

/** Lines that become entries together. */
export interface Unit {
  /** The place in the file of its first line. */
  at: number;
  readonly kind: "reply" | "compaction" | "line";
  /** In the order of the file: the blocks of a reply, a boundary with its summary, or one line. */
  readonly lines: Line[];
  /** The user lines with results of a reply's calls, in the order of the file. */
  readonly results: Line[];
  /** The unit behind which this one is; undefined for a start. */
  parent: Unit | undefined;
  /** Of a compaction: the units that stay in context, in the order of display. */
  retained: readonly Unit[];
}

/** A transcript as a tree of units. */
export interface Layout {
  /** Each behind its parent, else in the order of the file. */
  readonly units: readonly Unit[];
  /** The unit that the conversation ends in. */
  readonly leaf: Unit | undefined;
  /** The reply that has a call, by the id of the call and the line that asks for it. */
  replyOf(callId: string, from: Line): Unit | undefined;
  unitOf(line: Line): Unit | undefined;
}

/** Lays out a transcript. Linear in its lines. */
export function layOut(transcript: Transcript): Layout {
  const gathered = gather(transcript);
  const { units, unitOf } = gathered;
  const placed = new Set<Unit>();
  const leaf = placeConversation(transcript, gathered, placed);
  const inOrder = Array.from(transcript.lines.values()).sort((a, b) => b.at - a.at);
  for (const line of inOrder) placeBranch(line, transcript, gathered, placed);
  for (const unit of units) retainPreserved(unit, transcript, unitOf);
  return { units: parentsFirst(units), leaf, replyOf: gathered.replyOf, unitOf };
}

interface Gathered {
  readonly units: readonly Unit[];
  readonly replyOf: Layout["replyOf"];
  readonly unitOf: Layout["unitOf"];
}

/** Groups the lines into units. */
function gather({ lines }: Transcript): Gathered {
  const inOrder = Array.from(lines.values()).sort((a, b) => a.at - b.at);
  const units: Unit[] = [];
  const byLine = new Map<Line, Unit>();
  const replies = new Map<string, Unit>();
  const byCall = new Map<string, Unit[]>();
  const start = (kind: Unit["kind"], line: Line): Unit => {
    const { at } = line;
    const unit: Unit = { at, kind, lines: [], results: [], parent: undefined, retained: [] };
    units.push(unit);
    return unit;
  };
  const join = (unit: Unit, line: Line) => {
    unit.lines.push(line);
    byLine.set(line, unit);
  };
  for (const line of inOrder) {
    if (line.type !== "assistant" || !isMessage(line) || isApiError(line)) continue;
    const id = messageId(line);
    const unit = (id === undefined ? undefined : replies.get(id)) ?? start("reply", line);
    if (id !== undefined) replies.set(id, unit);
    join(unit, line);
    for (const callId of callIds(line)) {
      const known = byCall.get(callId);
      if (known === undefined) byCall.set(callId, [unit]);
      else if (known.at(-1) !== unit) known.push(unit);
    }
  }
  const replyOf = (callId: string, from: Line): Unit | undefined => {
    const candidates = byCall.get(callId);
    if (candidates === undefined || candidates.length < 2) return candidates?.[0];
    for (const uuid of [from.parentUuid, idOf(from.value.sourceToolAssistantUUID)]) {
      const near = uuid === undefined ? undefined : lines.get(uuid);
      if (near !== undefined && callIds(near).includes(callId)) return byLine.get(near);
    }
    return lastBefore(candidates, from.at) ?? candidates[0];
  };
  for (const line of inOrder) {
    if (byLine.has(line)) continue;
    const reply = lastOf(resultIds(line).flatMap((id) => replyOf(id, line) ?? []));
    const boundary = line.value.isCompactSummary === true ? boundaryOf(line, lines) : undefined;
    const compaction = boundary && byLine.get(boundary);
    if (reply !== undefined) {
      reply.results.push(line);
      byLine.set(line, reply);
    } else if (compaction?.lines.length === 1) {
      join(compaction, line);
    } else {
      join(start(isBoundary(line) ? "compaction" : "line", line), line);
    }
  }
  units.sort((a, b) => a.at - b.at);
  return { units, replyOf, unitOf: (line) => byLine.get(line) };
}

function lastOf(units: readonly Unit[]): Unit | undefined {
  return units.reduce<Unit | undefined>(
    (last, unit) => (last && last.at >= unit.at ? last : unit),
    undefined,
  );
}

/** The last unit that begins before a place in the file. */
function lastBefore(units: readonly Unit[], at: number): Unit | undefined {
  let [low, high] = [0, units.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((units[middle] as Unit).at < at) low = middle + 1;
    else high = middle;
  }
  return units[low - 1];
}

/** Bounds the search of a summary's boundary. */
const maxBetween = 64;

/** The boundary that a summary is of: its parent, but for notes in between. */
function boundaryOf(summary: Line, lines: Transcript["lines"]): Line | undefined {
  let at = parentIn(lines, summary);
  for (let step = 0; at !== undefined && step < maxBetween; step++) {
    if (isBoundary(at)) return at;
    if (isMessage(at)) return undefined;
    at = parentIn(lines, at);
  }
  return undefined;
}

function parentIn(lines: Transcript["lines"], { parentUuid }: Line): Line | undefined {
  return parentUuid === undefined ? undefined : lines.get(parentUuid);
}

/** The line before a line in the history: a boundary continues the conversation that it ends. */
function before(line: Line, { lines }: Transcript): Line | undefined {
  if (!isBoundary(line)) return parentIn(lines, line);
  const logical = idOf(line.value.logicalParentUuid);
  return (logical === undefined ? undefined : lines.get(logical)) ?? parentIn(lines, line);
}

/**
 * Places the conversation itself as one path. Each unit follows the one before it on the chain, so that nothing
 * of the chain is lost between the lines of a reply.
 */
function placeConversation(
  transcript: Transcript,
  { unitOf }: Gathered,
  placed: Set<Unit>,
): Unit | undefined {
  const chain = chainOf(transcript);
  const [first] = chain;
  if (first === undefined) return undefined;
  const earlier = isBoundary(first) ? unitsIn(historyOf(first, transcript), unitOf) : [];
  const isEarlier = new Set(earlier);
  const shown = unitsIn(chain, unitOf);
  const path = [...earlier, ...shown.filter((unit) => !isEarlier.has(unit))];
  const compaction = unitOf(first);
  if (compaction?.kind === "compaction") compaction.retained = shown.filter((unit) => isEarlier.has(unit));
  for (const [at, unit] of path.entries()) {
    unit.parent = path[at - 1];
    placed.add(unit);
  }
  return path.at(-1);
}

/** The units of lines, in the order of their first lines. */
function unitsIn(lines: readonly Line[], unitOf: Layout["unitOf"]): readonly Unit[] {
  return Array.from(new Set(lines.map((line) => unitOf(line) as Unit)));
}

/** The lines before a boundary, oldest first, through earlier compactions. */
function historyOf(boundary: Line, transcript: Transcript): readonly Line[] {
  const lines: Line[] = [];
  const seen = new Set([boundary]);
  for (let at = before(boundary, transcript); at !== undefined && !seen.has(at); ) {
    seen.add(at);
    lines.push(at);
    at = before(at, transcript);
  }
  return lines.reverse();
}

/** Places a line that is not placed, and those before it up to the first that is: a branch. */
function placeBranch(end: Line, transcript: Transcript, { unitOf }: Gathered, placed: Set<Unit>): void {
  const lines: Line[] = [];
  const seen = new Set<Line>();
  let parent: Unit | undefined;
  for (let at: Line | undefined = end; at !== undefined && !seen.has(at); at = before(at, transcript)) {
    const unit = unitOf(at) as Unit;
    if (placed.has(unit)) {
      parent = unit;
      break;
    }
    seen.add(at);
    lines.push(at);
  }
  for (const unit of unitsIn(lines.reverse(), unitOf)) {
    unit.parent = parent;
    placed.add(unit);
    parent = unit;
  }
}

/** Sets what a compaction retains that the conversation does not end in. */
function retainPreserved(unit: Unit, { lines }: Transcript, unitOf: Layout["unitOf"]): void {
  const [boundary] = unit.lines;
  if (unit.kind !== "compaction" || unit.retained.length > 0 || boundary === undefined) return;
  const uuids = preservedBy(boundary, lines)?.uuids ?? [];
  unit.retained = unitsIn(
    uuids.map((uuid) => lines.get(uuid) as Line),
    unitOf,
  );
}

/** Units in the order of the file, but each behind its parent. */
function parentsFirst(units: readonly Unit[]): readonly Unit[] {
  const out = new Set<Unit>();
  for (const unit of units) {
    const waiting: Unit[] = [];
    for (let at: Unit | undefined = unit; at !== undefined && !out.has(at); at = at.parent) waiting.push(at);
    for (const each of waiting.reverse()) out.add(each);
  }
  return Array.from(out);
}
