/**
 * Ids of entries, and digests of values. If a framework has an id that identifies a repeated append, the id
 * of the entry is made of it, so that a repeated append writes nothing, also in another process and after a
 * crash.
 */

import { digest } from "../../blobs/index.js";
import { encodeBase64 } from "../../core/base64.js";
import { encodeUtf8 } from "../../core/bytes.js";

/**
 * An id of parts, such as `c/thread/1`. Injective. Printable ASCII without quotes and backslashes, so that a
 * reader takes it from a line without parsing the line.
 */
export function entryId(...parts: readonly (string | number)[]): string {
  return parts.map((part) => escapePart(String(part))).join("/");
}

/** The parts of an {@link entryId}. */
export function entryIdParts(id: string): readonly string[] {
  return id.split("/").map(unescapePart);
}

function escapePart(part: string): string {
  // Code units, so that ill-formed text keeps its own id.
  return part.replace(
    /[^A-Za-z0-9_.:@|+=,;~-]/g,
    (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function unescapePart(part: string): string {
  return part.replace(/%([0-9a-f]{4})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)));
}

/** The SHA-256 of a text, as 64 hexadecimal digits. */
export function textDigest(text: string): string {
  // Lone surrogates would be replaced, and two texts could have one digest.
  const exact = text.isWellFormed() ? `w${text}` : `i${JSON.stringify(text)}`;
  return digest(encodeUtf8(exact)).slice("sha256:".length);
}

/** The SHA-256 of a value. The order of keys and undefined members do not change it. */
export function valueDigest(value: unknown): string {
  return textDigest(canonicalText(value));
}

/** A text of a value with sorted keys. Bytes are base64; undefined members are omitted. */
export function canonicalText(value: unknown): string {
  if (value === undefined) return "undefined";
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (value instanceof Uint8Array) return `bytes"${encodeBase64(value)}"`;
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  const record = value as Readonly<Record<string, unknown>>;
  const keys = Object.keys(record).filter((key) => record[key] !== undefined);
  return `{${keys
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalText(record[key])}`)
    .join(",")}}`;
}
