/** Redaction of every string in a foreign value, keys of objects included. */

import type { Redaction } from "../types.js";
import { parseJson } from "./values.js";

/** A copy of a JSON value with redacted strings. Its depth is bounded by the reader of the value. */
export function redacted(value: unknown, redact: Redaction): unknown {
  if (typeof value === "string") return redactedText(value, redact);
  if (Array.isArray(value)) return value.map((item) => redacted(item, redact));
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [String(redact(key)), redacted(member, redact)]),
  );
}

/**
 * A redacted text. In JSON, as the arguments of calls and the columns of databases have it, the strings are
 * redacted first: an escape could hide a secret from a pattern.
 */
function redactedText(text: string, redact: Redaction): string {
  const value = /^\s*[[{]/.test(text) ? parseJson(text) : undefined;
  if (typeof value !== "object" || value === null) return String(redact(text));
  const before = JSON.stringify(value);
  const after = JSON.stringify(redacted(value, redact));
  return String(redact(after === before ? text : after));
}
