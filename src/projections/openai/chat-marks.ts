/**
 * What is kept beside a text or a call of Chat Completions so that it goes back as it came. None of it is JSON: pi reads JSON
 * there as something to send along.
 */

/** On a text: it is a refusal. */
export const refusalMark = "refusal";

/** On a call: it is one of a custom tool, whose text is the argument `input`. */
export const customMark = "custom";

const rawPrefix = "arguments:";

/** On a call: its arguments as the model wrote them. */
export function rawMark(text: string): string {
  return rawPrefix + text;
}

/** The arguments that a mark holds. */
export function rawIn(mark: string | undefined): string | undefined {
  return mark?.startsWith(rawPrefix) === true ? mark.slice(rawPrefix.length) : undefined;
}
