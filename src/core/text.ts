/**
 * Texts of any length in one line. The engine keeps a place for each repetition of an expression, so that an
 * unbounded one over a stored text of some million characters fails: these take long runs in several passes.
 */

const spaces = /\s{1,4096}/g;
/** White space, and characters that are not seen or break a line. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]{1,4096}/gu;

/**
 * Puts a space in place of each run.
 * @param run a global expression that takes several characters at once, but not without a bound
 */
export function collapsed(text: string, run: RegExp): string {
  for (let before = text; ; ) {
    const after = before.replace(run, " ");
    if (after.length === before.length) return after;
    before = after;
  }
}

/** A text in one line: runs of white space become a space, and none is at its ends. */
export function spaced(text: string): string {
  return collapsed(text, spaces).trim();
}

/** {@link spaced} for a text of others: well-formed, and without characters that are not seen. */
export function oneLine(text: string, run: RegExp = unseen): string {
  return collapsed(text.toWellFormed(), run).trim();
}

/** A text without a character at its start and its end, however often it is there. */
export function stripped(text: string, character: string): string {
  let [start, end] = [0, text.length];
  while (start < end && text[start] === character) start++;
  while (end > start && text[end - 1] === character) end--;
  return text.slice(start, end);
}

/** Whether a text is of these characters alone; true for an empty one. */
export function isOf(text: string, character: RegExp): boolean {
  for (const each of text) if (!character.test(each)) return false;
  return true;
}
