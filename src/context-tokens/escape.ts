/** How every context token begins. */
export const opener = "<<context:";
/** How every context token ends. */
export const closer = ">>>";

/** An opener, escaped any number of times or not. */
export const anyOpener = /<<(\\*)context:/g;
const escapedOpeners = /<<\\(\\*)context:/g;
/** Part of every escaped opener, and rare elsewhere: a text without it has nothing to undo. */
const escapedEnd = "\\context:";

/**
 * Makes text inert: no context token is found in what comes back. Each opener gets a backslash, `<<\context:`, and one that
 * has backslashes already gets one more, so that {@link unescapeContextTokens} gives back any string exactly. Being
 * reversible, it is not idempotent: what was escaped twice has to be unescaped twice. Linear.
 *
 * {@link parseContextTokens} undoes it in the `text` of a segment; the `raw` keeps the backslash, and so does what is stored.
 *
 * @example
 * ```ts
 * escapeContextTokens("<<context:image:/etc/x>>>").length; // 26
 * extractImagePaths(escapeContextTokens("<<context:image:/etc/x>>>")); // []
 * ```
 */
export function escapeContextTokens(text: string): string {
  return text.replace(anyOpener, "<<\\$1context:");
}

/**
 * Undoes {@link escapeContextTokens}: each escaped opener loses one backslash. Total, linear; text without an escaped
 * opener comes back as it is, bare openers included.
 *
 * @example
 * ```ts
 * unescapeContextTokens(escapeContextTokens("a <<context: b")); // "a <<context: b"
 * ```
 */
export function unescapeContextTokens(text: string): string {
  return text.includes(escapedEnd) ? text.replace(escapedOpeners, "<<$1context:") : text;
}
