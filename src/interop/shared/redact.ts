/** Redaction of every string in a foreign value, keys of objects included. */

import type { Redaction } from "../types.js";

/** A copy of a JSON value with redacted strings. Its depth is bounded by the reader of the value. */
export function redacted(value: unknown, redact: Redaction): unknown {
  if (typeof value === "string") return redactedText(value, redact);
  if (Array.isArray(value)) return value.map((item) => redacted(item, redact));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [redactedText(key, redact), redacted(member, redact)]),
  );
}

/**
 * A redacted text. JSON within a string, as databases and calls have it, is redacted string by string, so that
 * it stays JSON.
 */
export function redactedText(text: string, redact: Redaction): string {
  return String(redact(text));
}
