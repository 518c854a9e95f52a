/**
 * The conversation that a transcript ends in: from the last leaf along `parentUuid` to the start, or to the
 * last compaction. The rule is that of the Agent SDK's `getSessionMessages`, with which test/adapters
 * compares it.
 */

import { readObject } from "../shared/values.js";
import { isBoundary, isMessage, type Line, LineSet, preservedBy, type Transcript } from "./lines.js";

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
