import { SessileError } from "../errors/index.js";

/** The error of a log without a header, of which so many lines were read. */
export function unopenable(path: string, lines: number): SessileError {
  if (lines === 0) {
    const message = `the session ${path} is empty: delete it, or restore it from a copy`;
    return new SessileError("EMPTY", message, { details: { path } });
  }
  const message = `no line of ${path} is a session header: put one in front of it to open it`;
  return new SessileError("NO_HEADER", message, { details: { path, lines } });
}
