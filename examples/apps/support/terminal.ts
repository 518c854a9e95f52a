/** Characters of a line; a guess where the output is no terminal. */
export function terminalWidth(): number {
  return process.stdout.columns ?? 110;
}

/** The first and last of a list that is too long, and between them how many were left out. */
export function headAndTail<T>(list: readonly T[], max: number): readonly (T | string)[] {
  if (list.length <= max) return list;
  const half = Math.floor(max / 2);
  return [...list.slice(0, half), `… ${list.length - 2 * half} left out …`, ...list.slice(-half)];
}

/** Text from anywhere as one line of a terminal: no control characters, no line breaks, at most this long. */
export function oneLine(text: string, width: number): string {
  // What is far behind the end of the line need not be looked at.
  const line = text
    .slice(0, 8 * width)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  const characters = Array.from(line);
  return characters.length <= width ? line : `${characters.slice(0, Math.max(0, width - 1)).join("")}…`;
}
