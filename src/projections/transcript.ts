import type { CallPart, NeutralRequest, Part, ResultPart, Turn, UserPart } from "./request.js";

/**
 * What targets say in words for which they have no form. Prompt caches live on these bytes, as on those of
 * words.ts.
 */

/** A call as a text: its tool, its id and its arguments, on one line. */
export function callText({ name, id, arguments: input }: CallPart): string {
  const json = (JSON.stringify(input) ?? "").replace(jsonLineBreaks, escapedUnit);
  return `[call of ${inHeading(name)}, ${inHeading(id)}]\n${json}`.trimEnd();
}

/** What stands before the parts of a result. */
export function resultHeading({
  name,
  callId,
  isError,
}: Pick<ResultPart, "name" | "callId" | "isError">): string {
  return `[${isError ? "error" : "result"} of ${inHeading(name)}, ${inHeading(callId)}]`;
}

/** What would end a heading or its line, and what nobody sees. */
const unsafeInHeading = /[\\[\],\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** A name or an id as part of a heading; different ones stay different. */
function inHeading(name: string): string {
  return name.replace(unsafeInHeading, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** Line breaks that `JSON.stringify` leaves as they are. */
const jsonLineBreaks = /[\x7f-\x9f\u2028\u2029]/g;

function escapedUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** What no reader sees before a bracket. Line breaks are none of it, so that a search takes linear time. */
const unseen = String.raw`[\t\x00-\x08\x0e-\x1b\x1f\x7f\p{Zs}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]`;

/** Words of headings in either case, and with the long s, which reads as one. */
const headingWords = "user|assistant|system|tool|instructions|call|result|error|what follows".replace(
  /[a-z]/g,
  (letter) => `[${letter}${letter.toUpperCase()}${letter === "s" ? "\u017f" : ""}]`,
);

/**
 * Where a line begins, by any convention, that reads like a heading, with or without backslashes before it.
 * Without the flag `i`: with `u` it takes the long s for a letter of a word, so that `[userſ` would be no
 * heading.
 */
const imitations = new RegExp(
  String.raw`(?:^|(?<=[\v\f\x1c-\x1e\x85]))(${unseen}*\\*)(?=\[${unseen}{0,8}(?:${headingWords})\b)`,
  "gmu",
);

/**
 * A text that can stand below a heading: a backslash is put before each bracket that would make one of a
 * line. Different texts stay different, since a line that has the backslash already gets another one.
 */
export function asContent(text: string): string {
  return text.replace(imitations, "$1\\");
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
  | { readonly text?: undefined; readonly part: UserPart };

/**
 * A request for a target that takes only what a user says. Without headings what the user's turns show, for a
 * request that is the latest turn alone; with them a conversation, in which instructions, calls and results
 * are words. What stands at the beginning does not change when more is said. No text, name or id in it can
 * make a line that reads as a heading.
 */
export function transcriptOf({ system, turns }: NeutralRequest, headed: boolean): readonly TranscriptPiece[] {
  if (!headed) return turns.flatMap((turn) => (turn.role === "user" ? turn.parts.map(shown) : []));
  const pieces: TranscriptPiece[] = [{ text: transcriptOpening }];
  for (const part of system) pieces.push({ text: `${instructionsHeading}\n${asContent(part.text)}`, part });
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
    if (part.type === "text") pieces.push({ text: `${heading}\n${asContent(part.text)}`, part });
    if (part.type === "call") pieces.push({ text: callText(part), part });
  }
  return pieces;
}

/** Parts with a heading before the first, in its text where it has one. */
function under(
  heading: string,
  owner: ResultPart | undefined,
  parts: readonly UserPart[],
): readonly TranscriptPiece[] {
  const [first, ...rest] = parts;
  if (first === undefined) return [];
  if (first.type === "text" && first.link === undefined) {
    return [{ text: `${heading}\n${asContent(first.text)}`, part: owner ?? first }, ...rest.map(below)];
  }
  return [{ text: heading, part: owner ?? first }, ...parts.map(below)];
}

/** A part that stands below a heading. A link stays a part, for targets that can point to one. */
function below(part: UserPart): TranscriptPiece {
  return part.type === "text" && part.link === undefined ? { text: asContent(part.text), part } : { part };
}

function shown(part: UserPart): TranscriptPiece {
  return { part };
}
