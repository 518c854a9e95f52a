/**
 * Throws EIO where a file that was just written has not as many bytes as the system said it took: a write may report
 * success and lose some, and what is then given a name, or takes another file's place, would be wrong.
 */
export function assertTaken(size: number, written: number): void {
  if (size === written) return;
  const message = `EIO: the file has ${size} bytes, and ${written} were written`;
  throw Object.assign(new Error(message), { code: "EIO" });
}

/** The bytes that a write took. Throws EIO if there are none: it would be tried forever. */
export function progress(count: number): number {
  if (count > 0) return count;
  throw Object.assign(new Error("EIO: a write took no bytes"), { code: "EIO" });
}

/** The error of a temporary name that another file has. */
export function existsError(path: string): Error {
  return Object.assign(new Error(`EEXIST: ${path} is there already`), { code: "EEXIST" });
}
