/**
 * The lines of a transcript, gathered into units that become entries together, and the place of each. A reply
 * is several lines, one a block, and the results of its parallel calls hang below different ones of them.
 */

import { readObject } from "../shared/values.js";
import {
  before,
  type Call,
  callsIn,
  hasReason,
  isApiError,
  isBoundary,
  isMessage,
  isPrompt,
  joinForks,
  type Line,
  LineSet,
  messageId,
  preservedBy,
  readId,
  resultIds,
  type Transcript,
  type Unit,
} from "./lines.js";

/** A transcript as a tree of units. */
export interface Layout {
  /** Each after its parent, else in the order of the file. */
  readonly units: readonly Unit[];
  /** The unit that the conversation ends in. */
  readonly leaf: Unit | undefined;
  /** The reply that has a call, by the id of the call and the line that asks for it. */
  replyByCallId(callId: string, from: Line): Unit | undefined;
}

/** Lays out a transcript. Linear in its lines. */
export function layOut(transcript: Transcript): Layout {
  const gathered = new Gathering(transcript);
  joinForks(transcript);
  const leaf = placeConversation(transcript);
  const { lines } = transcript;
  for (let at = lines.length - 1; at >= 0; at--) placeBranch(lines[at] as Line);
  for (const unit of gathered.units) retainPreserved(unit, transcript);
  const replyForCallId: Layout["replyByCallId"] = (callId, from) => gathered.findReply(callId, from);
  return { units: parentsFirst(gathered.units), leaf, replyByCallId: replyForCallId };
}

const none: readonly never[] = [];
const noCalls: ReadonlyMap<string, Call> = new Map();

/** The lines of a transcript, grouped. */
class Gathering {
  /** In the order of the file. */
  readonly units: readonly Unit[];
  readonly #transcript: Transcript;
  readonly #byCall = new Map<string, Unit[]>();
  readonly #byRequest = new Map<string, Unit>();
  /** The last reply of each message's id. */
  readonly #byMessage = new Map<string, { readonly unit: Unit; readonly request: string | undefined }>();

  constructor(transcript: Transcript) {
    this.#transcript = transcript;
    const replies = this.#replies();
    const others: Unit[] = [];
    for (const line of transcript.lines) {
      const other = line.unit === undefined ? this.#addOther(line) : undefined;
      if (other !== undefined) others.push(other);
    }
    // Two sorted runs.
    this.units = [...replies, ...others].sort((a, b) => a.at - b.at);
  }

  findReply(callId: string, from: Line): Unit | undefined {
    const candidates = this.#byCall.get(callId);
    if (candidates === undefined || candidates.length < 2) return candidates?.[0];
    const named = readId(from.value.sourceToolAssistantUUID);
    for (const near of [from.parent, named === undefined ? undefined : this.#transcript.lineByUuid(named)]) {
      const unit = near?.unit;
      if (unit?.calls.has(callId)) return unit;
    }
    return lastBefore(candidates, from.at) ?? candidates[0];
  }

  /** The assistant lines, one unit a reply. */
  #replies(): readonly Unit[] {
    const replies: Unit[] = [];
    let previous: Line | undefined;
    for (const line of this.#transcript.lines) {
      if (!isMessage(line)) continue;
      if (line.type === "assistant" && !isApiError(line)) {
        const known = this.#begun(line, previous);
        const unit = known ?? newUnit("reply", line);
        if (known === undefined) replies.push(unit);
        else (unit.lines as Line[]).push(line);
        line.unit = unit;
        this.#addReply(line, unit);
        for (const call of callsIn(line)) this.#addCall(unit, call);
      }
      previous = line;
    }
    return replies;
  }

  /** The reply that a line continues. An id of a message is not enough: some servers give all replies one. */
  #begun(line: Line, previous: Line | undefined): Unit | undefined {
    const id = messageId(line);
    if (id === undefined) return undefined;
    const request = requestId(line);
    const same = request === undefined ? undefined : this.#byRequest.get(readKey(id, request));
    if (same !== undefined && isContinued(same, line, { isSameRequest: true, previous })) return same;
    const last = this.#byMessage.get(id);
    if (last === undefined || (request !== undefined && last.request !== undefined)) return undefined;
    return isContinued(last.unit, line, { isSameRequest: false, previous }) ? last.unit : undefined;
  }

  #addReply(line: Line, unit: Unit): void {
    const id = messageId(line);
    if (id === undefined) return;
    const request = requestId(line);
    if (request !== undefined) this.#byRequest.set(readKey(id, request), unit);
    const last = this.#byMessage.get(id);
    const known = last?.unit === unit ? last.request : undefined;
    this.#byMessage.set(id, { unit, request: request ?? known });
  }

  #addCall(unit: Unit, call: Call): void {
    if (unit.calls === noCalls) unit.calls = new Map();
    (unit.calls as Map<string, Call>).set(call.id, call);
    const known = this.#byCall.get(call.id);
    if (known === undefined) this.#byCall.set(call.id, [unit]);
    else if (known.at(-1) !== unit) known.push(unit);
  }

  /** Adds a line that is no reply. Returns its unit if it is a new one. */
  #addOther(line: Line): Unit | undefined {
    let reply: Unit | undefined;
    for (const callId of resultIds(line)) {
      const unit = this.findReply(callId, line);
      if (unit !== undefined && (reply === undefined || unit.at > reply.at)) reply = unit;
    }
    if (reply !== undefined) {
      if (reply.results === none) reply.results = [line];
      else (reply.results as Line[]).push(line);
      line.unit = reply;
      return undefined;
    }
    const boundary = line.value.isCompactSummary === true ? summaryBoundary(line) : undefined;
    const compaction = boundary?.unit;
    if (compaction?.lines.length === 1) {
      compaction.lines = [...compaction.lines, line];
      line.unit = compaction;
      return undefined;
    }
    const unit = newUnit(isBoundary(line) ? "compaction" : "line", line);
    line.unit = unit;
    return unit;
  }
}

function newUnit(kind: Unit["kind"], line: Line): Unit {
  return {
    at: line.at,
    kind,
    lines: [line],
    results: none,
    calls: noCalls,
    parent: undefined,
    retained: none,
    isPlaced: false,
    hasReply: false,
    next: undefined,
    tail: null,
  };
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

function requestId({ value }: Line): string | undefined {
  return readId(value.requestId);
}

function readKey(id: string, request: string): string {
  return `${id}\0${request}`;
}

/**
 * Whether a line of the same message continues a reply: no prompt is between them and, without an id of the
 * request, neither another reply nor a result that the finished reply was waiting for.
 */
function isContinued(
  unit: Unit,
  line: Line,
  { isSameRequest, previous }: { readonly isSameRequest: boolean; readonly previous: Line | undefined },
): boolean {
  const [first] = unit.lines;
  const last = unit.lines.at(-1);
  let at = line.parent;
  for (let step = 0; at !== undefined && step < maxBetween; step++) {
    if (at.unit === unit) return true;
    if (first !== undefined && at.index < first.index) return isSameRequest;
    if (isPrompt(at)) return false;
    const isEnd =
      at.type === "assistant" || (resultIds(at).length > 0 && last !== undefined && hasReason(last));
    if (!isSameRequest && isEnd && isMessage(at)) return false;
    at = at.parent;
  }
  return isSameRequest || previous?.unit === unit;
}

/** Bounds a search among the lines before a line. */
const maxBetween = 64;

/** The boundary that a summary is of: its parent, but for notes in between. */
function summaryBoundary(summary: Line): Line | undefined {
  let at = summary.parent;
  for (let step = 0; at !== undefined && step < maxBetween; step++) {
    if (isBoundary(at)) return at;
    if (isMessage(at)) return undefined;
    at = at.parent;
  }
  return undefined;
}

/**
 * Places the conversation itself as one path. Each unit follows the one before it on the chain, so that
 * nothing of the chain is lost between the lines of a reply.
 */
function placeConversation(transcript: Transcript): Unit | undefined {
  const chain = transcriptChain(transcript);
  const [first] = chain;
  if (first === undefined) return undefined;
  const earlier = isBoundary(first) ? unitsIn(boundaryHistory(first)) : [];
  const isEarlier = new Set(earlier);
  const shown = unitsIn(chain);
  const path = [...earlier, ...shown.filter((unit) => !isEarlier.has(unit))];
  const compaction = lineUnit(first);
  if (compaction.kind === "compaction") compaction.retained = shown.filter((unit) => isEarlier.has(unit));
  let parent: Unit | undefined;
  for (const unit of path) {
    unit.parent = parent;
    unit.isPlaced = true;
    parent = unit;
  }
  return parent;
}

/** The units of lines, in the order of their first lines. */
function unitsIn(lines: readonly Line[]): readonly Unit[] {
  const units = new Set<Unit>();
  for (const line of lines) units.add(lineUnit(line));
  return Array.from(units);
}

/** The unit of a line that is gathered. */
function lineUnit({ unit }: Line): Unit {
  return unit as Unit;
}

/** The lines before a boundary, oldest first, through earlier compactions. */
function boundaryHistory(boundary: Line): readonly Line[] {
  const lines: Line[] = [];
  const seen = new Set([boundary]);
  for (let at = before(boundary); at !== undefined && !seen.has(at); ) {
    seen.add(at);
    lines.push(at);
    at = before(at);
  }
  return lines.reverse();
}

/** Places a line that is not placed, and those before it up to the first that is: a branch. */
function placeBranch(end: Line): void {
  if (lineUnit(end).isPlaced) return;
  const lines: Line[] = [];
  const seen = new Set<Line>();
  let parent: Unit | undefined;
  for (let at: Line | undefined = end; at !== undefined && !seen.has(at); at = before(at)) {
    const unit = lineUnit(at);
    if (unit.isPlaced) {
      parent = unit;
      break;
    }
    seen.add(at);
    lines.push(at);
  }
  for (const unit of unitsIn(lines.reverse())) {
    unit.parent = parent;
    unit.isPlaced = true;
    parent = unit;
  }
}

/** Sets the units that a compaction retains, if the conversation does not end in it. */
function retainPreserved(unit: Unit, transcript: Transcript): void {
  const [boundary] = unit.lines;
  if (unit.kind !== "compaction" || unit.retained.length > 0 || boundary === undefined) return;
  unit.retained = unitsIn(preservedBy(boundary, transcript)?.lines ?? []);
}

/** Units in the order of the file, but each after its parent. */
function parentsFirst(units: readonly Unit[]): readonly Unit[] {
  if (units.every(({ at, parent }) => parent === undefined || parent.at < at)) return units;
  const out = new Set<Unit>();
  for (const unit of units) {
    const waiting: Unit[] = [];
    for (let at: Unit | undefined = unit; at !== undefined && !out.has(at); at = at.parent) waiting.push(at);
    for (const each of waiting.reverse()) out.add(each);
  }
  return Array.from(out);
}

// The conversation that a transcript ends in: from the last leaf along `parentUuid` to the start, or to the
// last compaction. The rule is that of the Agent SDK's `getSessionMessages`, with which test/adapters
// compares it.

/**
 * The lines from the start of the conversation to its leaf, oldest first; empty without a message. After a
 * compaction the first is its boundary, and the lines that it preserves follow its summary.
 */
export function transcriptChain(transcript: Transcript): readonly Line[] {
  const parents = relinked(transcript);
  const above = (line: Line) => (parents.size > 0 && parents.has(line) ? parents.get(line) : line.parent);
  const leaf = transcriptLeaf(transcript, above);
  const chain: Line[] = [];
  const seen = new LineSet(transcript);
  for (let at = leaf; at !== undefined && !seen.has(at); at = above(at)) {
    seen.add(at);
    chain.push(at);
    if (isBoundary(at)) break;
  }
  chain.reverse();
  const sent = sentBehind(chain, transcript, above);
  if (sent.length === 0) return chain;
  const end = chain.findLastIndex(isMessage) + 1;
  return [...chain.slice(0, end), ...[...chain.slice(end), ...sent].sort((a, b) => a.at - b.at)];
}

/** The line before a line. */
type Above = (line: Line) => Line | undefined;

/**
 * The messages that the user sent while the agent was at work, and that no reply followed: attachments
 * after the last message, which need not be on one path.
 */
function sentBehind(chain: readonly Line[], { lines }: Transcript, above: Above): readonly Line[] {
  const last = chain.findLast(isMessage);
  if (last === undefined || !lines.some(isQueued)) return [];
  const isOnChain = new Set(chain);
  const sent = lines.filter((line) => isQueued(line) && !isOnChain.has(line));
  // Whether only such lines are between a line and the last message.
  const isBehind = new Map<Line | undefined, boolean>([[last, true]]);
  const leadsElsewhere = new Set<Line>();
  for (const line of lines) {
    if (!isMessage(line) || isOnChain.has(line)) continue;
    for (
      let at = above(line);
      at !== undefined && !isOnChain.has(at) && !leadsElsewhere.has(at);
      at = above(at)
    )
      leadsElsewhere.add(at);
  }
  return sent.filter((line) => {
    const walked = new Set<Line>();
    let at: Line | undefined = line;
    while (at !== undefined && !isBehind.has(at) && !isMessage(at) && !walked.has(at)) {
      walked.add(at);
      at = above(at);
    }
    const answer = isBehind.get(at) ?? false;
    for (const each of walked) isBehind.set(each, answer);
    return answer && !leadsElsewhere.has(line);
  });
}

function isQueued({ type, value }: Line): boolean {
  return type === "attachment" && readObject(value.attachment)?.type === "queued_command";
}

/**
 * The parents that compactions change: the preserved lines follow the summary, and the lines after the
 * summary follow the last of them.
 */
function relinked(transcript: Transcript): ReadonlyMap<Line, Line | undefined> {
  const { lines } = transcript;
  const parents = new Map<Line, Line | undefined>();
  const boundaries = lines.filter(isBoundary);
  if (boundaries.length === 0) return parents;
  const children = new Map<Line, Line[]>();
  const addChild = (parent: Line, line: Line) => {
    const known = children.get(parent);
    if (known === undefined) children.set(parent, [line]);
    else known.push(line);
  };
  for (const line of lines) if (line.parent !== undefined) addChild(line.parent, line);
  const link = (line: Line, parent: Line) => {
    parents.set(line, parent);
    addChild(parent, line);
  };
  // Bounds the work for boundaries that move the same lines again and again.
  let budget = 8 * lines.length;
  for (const boundary of boundaries) {
    const preserved = preservedBy(boundary, transcript);
    const anchor = preserved?.anchor === undefined ? undefined : transcript.lineByUuid(preserved.anchor);
    if (preserved === undefined || anchor === undefined) continue;
    let parent = anchor;
    const followers = children.get(anchor) ?? [];
    budget -= preserved.lines.length + followers.length;
    if (budget < 0) break;
    children.set(anchor, []);
    for (const line of preserved.lines) {
      link(line, parent);
      parent = line;
    }
    for (const line of followers) {
      const current = parents.has(line) ? parents.get(line) : line.parent;
      // A line may have been moved since it was listed here.
      if (current === anchor && line !== preserved.lines[0]) link(line, parent);
    }
  }
  return parents;
}

/** The last line that a conversation ends in: a message, or a line after one. */
function transcriptLeaf(transcript: Transcript, above: Above): Line | undefined {
  const { lines, isSidechain } = transcript;
  if (isSidechain) return lines.findLast(isMessage);
  const followed = new LineSet(transcript);
  for (const line of lines) {
    const parent = canEnd(line) ? above(line) : undefined;
    if (parent !== undefined) followed.add(parent);
  }
  const withoutMessage = new LineSet(transcript);
  for (let index = lines.length - 1; index >= 0; index--) {
    const end = lines[index] as Line;
    if (!canEnd(end) || followed.has(end)) continue;
    for (let at: Line | undefined = end; at !== undefined && !withoutMessage.has(at); at = above(at)) {
      if (at.type === "user" || at.type === "assistant") return end;
      withoutMessage.add(at);
    }
  }
  return undefined;
}

/** Whether a conversation can end in a line. */
function canEnd({ type, value }: Line): boolean {
  if (value.teamName || type === "progress") return false;
  return type !== "attachment" || readObject(value.attachment)?.type !== "fork_briefing";
}
