/**
 * Throws EIO where a file that was just written has not as many bytes as the system said it took: a write may report
 * success and lose some, and what is then given a name, or takes another file's place, would be wrong.
 */
export function assertTaken(size: number, written: number): void {
  if (size === written) return;
  const message = `EIO: the file has ${size} bytes, and ${written} were written`;
  throw Object.assign(new Error(message), { code: "EIO" });
}
