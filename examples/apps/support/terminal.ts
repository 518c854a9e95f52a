/** Characters of a line; a guess if the output is not a terminal. */
export function terminalWidth(): number {
  return process.stdout.columns ?? 110;
}

/** The first and last items of a long list, with the number of omitted ones between them. */
export function headAndTail<T>(list: readonly T[], max: number): readonly (T | string)[] {
  if (list.length <= max) return list;
  const half = Math.floor(max / 2);
  return [...list.slice(0, half), `… ${list.length - 2 * half} left out …`, ...list.slice(-half)];
}

/**
 * Untrusted text as one line of a terminal: no control characters or line breaks, at most `width` characters.
 */
export function oneLine(text: string, width: number): string {
  // Text far behind the end of the line is not needed.
  const line = text
    .slice(0, 8 * width)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  const characters = Array.from(line);
  return characters.length <= width ? line : `${characters.slice(0, Math.max(0, width - 1)).join("")}…`;
}
