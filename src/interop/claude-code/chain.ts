/**
 * The conversation that a transcript ends in: from the last leaf along `parentUuid` to the start, or to the
 * last compaction. The rule is that of the Agent SDK's `getSessionMessages`, with which test/adapters compares it.
 */

import { objectOf } from "../shared/values.js";
import { isBoundary, isMessage, type Line, preservedBy, type Transcript } from "./lines.js";

/**
 * The lines from the start of the conversation to its leaf, oldest first; empty without a message. After a
 * compaction the first is its boundary, and the lines that it preserves follow its summary.
 */
export function chainOf(transcript: Transcript): readonly Line[] {
  const parents = relinked(transcript);
  const leaf = leafOf(transcript, parents);
  const chain: Line[] = [];
  const seen = new Set<string>();
  for (let at = leaf; at !== undefined && !seen.has(at.uuid); at = parentOf(at, transcript, parents)) {
    seen.add(at.uuid);
    chain.push(at);
    if (isBoundary(at)) break;
  }
  chain.reverse();
  const sent = sentBehind(chain, transcript, parents);
  const end = chain.findLastIndex(isMessage) + 1;
  return [...chain.slice(0, end), ...[...chain.slice(end), ...sent].sort((a, b) => a.at - b.at)];
}

/**
 * The messages that the person sent while the agent was at work, and that no reply followed: attachments behind
 * the last message, which need not be on one path.
 */
function sentBehind(chain: readonly Line[], transcript: Transcript, parents: Parents): readonly Line[] {
  const { lines } = transcript;
  const isOnChain = new Set(chain);
  const sent = Array.from(lines.values()).filter((line) => isQueued(line) && !isOnChain.has(line));
  const last = chain.findLast(isMessage);
  if (sent.length === 0 || last === undefined) return [];
  const above = (line: Line) => parentOf(line, transcript, parents);
  // Whether only such lines are between a line and the last message.
  const isBehind = new Map<Line | undefined, boolean>([[last, true]]);
  const leadsElsewhere = new Set<Line>();
  for (const line of lines.values()) {
    if (!isMessage(line) || isOnChain.has(line)) continue;
    for (
      let at = above(line);
      at !== undefined && !isOnChain.has(at) && !leadsElsewhere.has(at);
      at = above(at)
    )
      leadsElsewhere.add(at);
  }
  return sent.filter((line) => {
    const walked: Line[] = [];
    let at: Line | undefined = line;
    const seen = new Set<Line>();
    while (at !== undefined && !isBehind.has(at) && !isMessage(at) && !seen.has(at)) {
      seen.add(at);
      walked.push(at);
      at = above(at);
    }
    const answer = isBehind.get(at) ?? false;
    for (const each of walked) isBehind.set(each, answer);
    return answer && !leadsElsewhere.has(line);
  });
}

function isQueued({ type, value }: Line): boolean {
  return type === "attachment" && objectOf(value.attachment)?.type === "queued_command";
}

type Parents = ReadonlyMap<string, string | undefined>;

function parentOf(line: Line, { lines }: Transcript, parents: Parents): Line | undefined {
  const uuid = parents.has(line.uuid) ? parents.get(line.uuid) : line.parentUuid;
  return uuid === undefined ? undefined : lines.get(uuid);
}

/**
 * The parents that compactions change: the preserved lines follow the summary, and what followed the summary
 * follows the last of them. Lines with another parent than in the file.
 */
function relinked({ lines }: Transcript): Parents {
  const parents = new Map<string, string | undefined>();
  const boundaries = Array.from(lines.values()).filter(isBoundary);
  if (boundaries.length === 0) return parents;
  const children = new Map<string, Line[]>();
  const addChild = (parent: string, line: Line) => {
    const known = children.get(parent);
    if (known === undefined) children.set(parent, [line]);
    else known.push(line);
  };
  for (const line of lines.values()) if (line.parentUuid !== undefined) addChild(line.parentUuid, line);
  const link = (line: Line, parent: string) => {
    parents.set(line.uuid, parent);
    addChild(parent, line);
  };
  // Bounds the work for boundaries that move the same lines again and again.
  let budget = 8 * lines.size;
  for (const boundary of boundaries) {
    const preserved = preservedBy(boundary, lines);
    const anchor = preserved?.anchor;
    if (preserved === undefined || anchor === undefined) continue;
    const { uuids } = preserved;
    let parent = anchor;
    const followers = children.get(anchor) ?? [];
    budget -= uuids.length + followers.length;
    if (budget < 0) break;
    children.set(anchor, []);
    for (const uuid of uuids) {
      link(lines.get(uuid) as Line, parent);
      parent = uuid;
    }
    const last = uuids.at(-1) as string;
    for (const line of followers) {
      const current = parents.has(line.uuid) ? parents.get(line.uuid) : line.parentUuid;
      // A line may have been moved since it was listed here.
      if (current === anchor && line.uuid !== uuids[0]) link(line, last);
    }
  }
  return parents;
}

/** The last line that a conversation ends in: a message, or a line behind one. */
function leafOf(transcript: Transcript, parents: Parents): Line | undefined {
  const { lines, isSidechain } = transcript;
  const inOrder = Array.from(lines.values()).sort((a, b) => a.at - b.at);
  if (isSidechain) return inOrder.findLast(isMessage);
  const followed = new Set<string>();
  for (const line of inOrder) {
    const parent = canEnd(line) ? parentOf(line, transcript, parents) : undefined;
    if (parent !== undefined) followed.add(parent.uuid);
  }
  const withoutMessage = new Set<string>();
  for (const end of inOrder.reverse()) {
    if (!canEnd(end) || followed.has(end.uuid)) continue;
    for (let at: Line | undefined = end; at !== undefined && !withoutMessage.has(at.uuid); ) {
      if (at.type === "user" || at.type === "assistant") return end;
      withoutMessage.add(at.uuid);
      at = parentOf(at, transcript, parents);
    }
  }
  return undefined;
}

/** Whether a conversation can end in a line. */
function canEnd({ type, value }: Line): boolean {
  if (value.teamName || type === "progress") return false;
  return type !== "attachment" || objectOf(value.attachment)?.type !== "fork_briefing";
}
