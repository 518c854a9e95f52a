import type { CallPart, NeutralRequest, Part, ResultPart, ShownPart, Turn } from "./turns.js";

/** What targets say in words for which they have no form. Prompt caches live on these bytes, as on those of words.ts. */

/** A call as a text: its tool, its id and its arguments. */
export function callText({ name, id, arguments: input }: CallPart): string {
  return `[call of ${name}, ${id}]\n${JSON.stringify(input) ?? ""}`.trimEnd();
}

/** What stands before the parts of a result. */
export function resultHeading({
  name,
  callId,
  isError,
}: Pick<ResultPart, "name" | "callId" | "isError">): string {
  return `[${isError ? "error" : "result"} of ${name}, ${callId}]`;
}

/** Before instructions, where there is no other place for them. */
export const instructionsHeading = "[instructions]";

/** Before a conversation that is told to an agent as one prompt. */
const transcriptOpening =
  "[What follows is a conversation from its beginning. Go on from its end, as the assistant.]";

/** Before what each side says in such a conversation. */
const roleHeadings: Readonly<Record<Turn["role"], string>> = { user: "[user]", assistant: "[assistant]" };

/** A piece of a conversation that is told: a text, or something that is shown as it is. */
export type TranscriptPiece =
  | { readonly text: string; readonly part?: Part }
  | { readonly text?: undefined; readonly part: ShownPart };

/**
 * A request for a target that takes only what a user says. Without headings what the user's turns show, for a request that is
 * the latest turn alone; with them a conversation, in which instructions, calls and results are words. What stands at the
 * beginning does not change when more is said.
 */
export function transcriptOf({ system, turns }: NeutralRequest, headed: boolean): readonly TranscriptPiece[] {
  if (!headed) return turns.flatMap((turn) => (turn.role === "user" ? turn.parts.map(shown) : []));
  const pieces: TranscriptPiece[] = [{ text: transcriptOpening }];
  for (const part of system) pieces.push({ text: `${instructionsHeading}\n${part.text}`, part });
  for (const turn of turns) for (const piece of told(turn)) pieces.push(piece);
  return pieces;
}

function told(turn: Turn): readonly TranscriptPiece[] {
  const heading = roleHeadings[turn.role];
  if (turn.role === "user") {
    const results = turn.results.flatMap((result) => under(resultHeading(result), result, result.parts));
    return [...results, ...under(heading, undefined, turn.parts)];
  }
  const pieces: TranscriptPiece[] = [];
  for (const part of turn.parts) {
    if (part.type === "text") pieces.push({ text: `${heading}\n${part.text}`, part });
    if (part.type === "call") pieces.push({ text: callText(part), part });
  }
  return pieces;
}

/** Parts with a heading before the first, in its text where it has one. */
function under(
  heading: string,
  owner: ResultPart | undefined,
  parts: readonly ShownPart[],
): readonly TranscriptPiece[] {
  const [first, ...rest] = parts;
  if (first === undefined) return [];
  if (first.type === "text" && first.link === undefined) {
    return [{ text: `${heading}\n${first.text}`, part: owner ?? first }, ...rest.map(shown)];
  }
  return [{ text: heading, part: owner ?? first }, ...parts.map(shown)];
}

function shown(part: ShownPart): TranscriptPiece {
  return { part };
}
