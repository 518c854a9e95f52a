import { coveredTag } from "../internal/covered-notes.js";

/** The tags between which a request for a summary puts what is data. */
export const requestTags = {
  conversation: "conversation",
  previous: "previous-summary",
  focus: "additional-focus",
  context: "injected-context",
} as const;

/** Tags that close a summary, and are found there again. */
const summaryTags = ["read-files", "modified-files", coveredTag];
/** What a line of a serialised conversation begins with. */
const roles = ["User", "Assistant", "Tool", "Earlier summary", "Summary of", "Message of"];

/** Looks like the one that it replaces, and is none. */
const bracket = "‹";
/** Some characters may stand between the bracket and the name, and a model still reads a tag. */
const tagStart = (names: readonly string[]) => new RegExp(`<(?=[^a-z<>]{0,8}(?:${names.join("|")}))`, "gi");
const requestTag = tagStart(Object.values(requestTags));
const anyTag = tagStart([...Object.values(requestTags), ...summaryTags]);
const roleMark = new RegExp(`^\\[(?=(?:${roles.join("|")})\\b)`, "gm");

/**
 * A text that can stand between the tags of a request: its brackets that would open or close one are replaced by a sign that
 * looks like them, and lone surrogates by U+FFFD. As long as it was.
 */
export function withoutTags(text: string): string {
  return text.toWellFormed().replace(requestTag, bracket);
}

/** {@link withoutTags} for what somebody said: it cannot speak in another's role either, or add to the lists of files. */
export function asSaid(text: string): string {
  return text.toWellFormed().replace(anyTag, bracket).replace(roleMark, bracket);
}
