/**
 * The words that a person asked first, for a title: a transcript begins with what the program adds, such as
 * commands of its own, files of an editor and notes. The rules are those of the Agent SDK's `listSessions`
 * (0.3.330, 2026-11-28), with which test/adapters compares them.
 */

import { arrayOf, type ForeignObject, objectOf, textOf } from "./values.js";

/** A text that the program wrote: a tag first, or the note of an interruption. */
const written = /^(?:<[a-z][\w-]{0,200}[\s>]|\[Request interrupted by user)/;

/**
 * The words of the first prompt among the records of a transcript; a shell command with an exclamation mark.
 * If nobody asked anything, the name of the first command. Undefined without both.
 */
export function firstPrompt(records: Iterable<ForeignObject>): string | undefined {
  let command: string | undefined;
  for (const record of records) {
    for (const text of textsOf(record)) {
      const trimmed = text.trim();
      const name = between(trimmed, "<command-name>", "</command-name>");
      const input = between(trimmed, "<bash-input>", "</bash-input>");
      if (name !== undefined) command ??= name.trim() || undefined;
      else if (input !== undefined) return `! ${input.trim()}`;
      else if (trimmed !== "" && !written.test(trimmed)) return trimmed;
    }
  }
  return command;
}

/** The texts of a message that the user may have written. */
function textsOf({ type, isMeta, isCompactSummary, isSidechain, message }: ForeignObject): readonly string[] {
  if (type !== "user" || isMeta === true || isCompactSummary === true || isSidechain === true) return [];
  const content = objectOf(message)?.content;
  if (typeof content === "string") return [content.toWellFormed()];
  const blocks = arrayOf(content).map(objectOf);
  if (blocks.some((block) => block?.type === "tool_result")) return [];
  return blocks.flatMap((block) => (block?.type === "text" ? (textOf(block.text) ?? []) : []));
}

/** The text between two others; undefined if one is not there. */
function between(text: string, open: string, close: string): string | undefined {
  const at = text.indexOf(open);
  const end = at < 0 ? -1 : text.indexOf(close, at + open.length);
  return end < 0 ? undefined : text.slice(at + open.length, end);
}
