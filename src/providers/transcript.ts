/**
 * Text forms for content that a target has no format for. These bytes are part of prompt caches, like those
 * of placeholders.ts.
 */

import type { CallPart, NeutralRequest, Part, ResultPart, Turn, UserPart } from "./request.js";
import type { TargetRules } from "./target.js";

/** The rules of targets with calls as text: ids and arguments are not rewritten. */
export const textCallRules = {
  takesReasoning: false,
  callId: { character: /[^\p{Cs}\p{Cc}]/u, maxLength: 1000 },
  objectArguments: false,
  userFirst: false,
} as const satisfies TargetRules;

/** A tool call as text on one line: tool, id and arguments. */
export function callText({ name, id, arguments: input }: CallPart): string {
  const json = (JSON.stringify(input) ?? "").replace(jsonLineBreaks, escapedUnit);
  return `[call of ${inHeading(name)}, ${inHeading(id)}]\n${json}`.trimEnd();
}

/** The heading before the parts of a tool result. */
export function resultHeading({
  name,
  callId,
  isError,
}: Pick<ResultPart, "name" | "callId" | "isError">): string {
  return `[${isError ? "error" : "result"} of ${inHeading(name)}, ${inHeading(callId)}]`;
}

/** Characters that could end a heading or its line, and invisible ones. */
const unsafeInHeading = /[\\[\],\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** A name or an id as part of a heading. Injective: different names stay different. */
function inHeading(name: string): string {
  return name.replace(unsafeInHeading, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** Line breaks that `JSON.stringify` does not escape. */
const jsonLineBreaks = /[\x7f-\x9f\u2028\u2029]/g;

function escapedUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/**
 * Characters that a reader does not see before a bracket. Excludes line breaks, so that the search is linear.
 */
const unseen = String.raw`[\t\x00-\x08\x0e-\x1b\x1f\x7f\p{Zs}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]`;

/** The words of headings in either case, and with the long s, which reads as an s. */
const headingWords = "user|assistant|system|tool|instructions|call|result|error|what follows".replace(
  /[a-z]/g,
  (letter) => `[${letter}${letter.toUpperCase()}${letter === "s" ? "\u017f" : ""}]`,
);

/**
 * A line start, by any convention, that reads like a heading, with or without backslashes before it. Without
 * the flag `i`: with `u` that flag treats the long s as a word character, so that `[userſ` would not match.
 */
const imitation = new RegExp(String.raw`\[${unseen}{0,8}(?:${headingWords})\b`, "gu");
const unseenCharacter = new RegExp(unseen, "u");
// biome-ignore lint/suspicious/noControlCharactersInRegex: they break lines
const lineBreak = /[\n\r\u2028\u2029\v\f\x1c-\x1e\x85]/;

/** Whether a bracket is the first of its line that a reader sees, but for backslashes. */
function isFirst(text: string, bracket: number): boolean {
  let at = bracket;
  while (at > 0 && text[at - 1] === "\\") at--;
  while (at > 0) {
    const isPair = at > 1 && (text.codePointAt(at - 2) as number) > 0xffff;
    const before = text.slice(isPair ? at - 2 : at - 1, at);
    if (!unseenCharacter.test(before)) return lineBreak.test(before);
    at -= before.length;
  }
  return true;
}

/**
 * Escapes a text for a position below a heading: adds a backslash before each bracket that could start a
 * heading. Injective, because an escaped bracket gets another backslash.
 */
export function asContent(text: string): string {
  return text.replace(imitation, (found, at: number) => (isFirst(text, at) ? `\\${found}` : found));
}

/** The heading of instructions, if they have no other place. */
export const instructionsHeading = "[instructions]";

/** The opening of a conversation that is sent as one prompt. */
const transcriptOpening =
  "[What follows is a conversation from its beginning. Go on from its end, as the assistant.]";

/** The headings of the turns in such a conversation. */
const roleHeadings: Readonly<Record<Turn["role"], string>> = { user: "[user]", assistant: "[assistant]" };

/** A piece of a transcript: a text, or a part that is sent unchanged. */
export type TranscriptPiece =
  | { readonly text: string; readonly part?: Part }
  | { readonly text?: undefined; readonly part: UserPart };

/**
 * Writes a request for a target that accepts only user content. Without headings, for a single turn: the
 * user's parts. With headings: a conversation in which instructions, calls and results are text. The start
 * does not change when the conversation grows. No text, name or id can produce a line that reads as a
 * heading.
 */
export function toTranscript({ system, turns }: NeutralRequest, headed: boolean): readonly TranscriptPiece[] {
  if (!headed) return turns.flatMap((turn) => (turn.role === "user" ? turn.parts.map(partPiece) : []));
  const pieces: TranscriptPiece[] = [{ text: transcriptOpening }];
  for (const part of system) pieces.push({ text: `${instructionsHeading}\n${asContent(part.text)}`, part });
  for (const turn of turns) for (const piece of turnPieces(turn)) pieces.push(piece);
  return pieces;
}

function turnPieces(turn: Turn): readonly TranscriptPiece[] {
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

/** Adds a heading before the first part, or in its text. */
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

/** A part below a heading. A link stays a part, for targets that can represent links. */
function below(part: UserPart): TranscriptPiece {
  return part.type === "text" && part.link === undefined ? { text: asContent(part.text), part } : { part };
}

function partPiece(part: UserPart): TranscriptPiece {
  return { part };
}
