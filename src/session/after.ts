import { SessileError } from "../errors/index.js";
import { describe } from "../internal/arguments.js";

/** Throws CONCURRENT_WRITER where an append that is to follow `after` would follow another entry; null is before the first. */
export function assertFollows(after: string | null, actual: string | null): void {
  if (after === actual) return;
  if (after !== null && typeof after !== "string") {
    throw new TypeError(`after: expected an entry id or null, got ${describe(after)}`);
  }
  const details = { expected: after ?? "none", actual: actual ?? "none" };
  const message = `the append is to follow ${details.expected}, and the leaf is ${details.actual}`;
  throw new SessileError("CONCURRENT_WRITER", message, { details });
}
