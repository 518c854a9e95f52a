/** Redaction of every string in a value, keys of objects included. A value is redacted beside its name. */

import type { Redaction } from "../types.js";
import { parseJson } from "./values.js";

/** Members that name the value of another member of their object. */
const nameMembers = "name key variable header field param parameter option setting property attribute".split(
  " ",
);
/** Members that describe a field of a form to a person or a browser: they may have several words. */
const labelMembers = "label element placeholder selector locator id".split(" ");
/** Members whose name says nothing: the object, or another member of it, names their value. */
const valueMembers = new Set(
  "value values val v text content data default input newValue string key token secret".split(" "),
);
/** A longer text is no name, and no value that only its name makes a secret. */
const maxNameLength = 100;
const maxNamedLength = 4096;
/** The nearest names count: structures such as rich text have `content` in `content`, at any depth. */
const maxNames = 8;

/** How a value is redacted. */
export interface ValueRedaction {
  readonly redact: Redaction;
  /** Replaces a value in whole; undefined leaves it to the redaction. */
  readonly replace?: (value: unknown) => unknown;
}

/** A copy of a JSON value with redacted strings. Its depth is bounded by the reader of the value. */
export function redacted(value: unknown, redact: Redaction): unknown {
  return redactedValue(value, { redact });
}

/**
 * A copy of a JSON value with redacted strings, each read beside the names that it has: its key and that
 * of its object, the key of its array, the item before it, or the name in another member.
 */
export function redactedValue(
  value: unknown,
  redaction: ValueRedaction,
  names: readonly string[] = [],
): unknown {
  const replaced = redaction.replace?.(value);
  if (replaced !== undefined) return replaced;
  if (typeof value === "string") return redactedText(value, redaction, names);
  if (Array.isArray(value)) {
    return value.map((item, index) =>
      redactedValue(item, redaction, nearest([...readName(value[index - 1]), ...names])),
    );
  }
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  const members = Object.entries(value);
  const memberByKey = (key: string): unknown =>
    Object.hasOwn(value, key) ? (value as Readonly<Record<string, unknown>>)[key] : undefined;
  const others = [
    ...nameMembers.flatMap((key) => readName(memberByKey(key))),
    ...labelMembers.flatMap((key) => readLabel(memberByKey(key))),
  ];
  return Object.fromEntries(
    members.map(([key, member]) => {
      const context = valueMembers.has(key) ? [...others.filter((name) => name !== member), ...names] : [];
      const own = [key, ...context, ...context.map((name) => `${name}_${key}`), ...names.slice(0, 1)];
      const shown = String(redaction.redact(key));
      // A key that is a secret itself is no name.
      return [shown, redactedValue(member, redaction, nearest(shown === key ? own : context))];
    }),
  );
}

function nearest(names: readonly string[]): readonly string[] {
  return [...new Set(names)].filter((name) => name.length <= maxNameLength).slice(0, maxNames);
}

/** The words of a label, together and each. */
function readLabel(value: unknown): readonly string[] {
  if (typeof value !== "string" || value.length > maxNameLength) return [];
  const words = value.split(/[^\w-]/).filter((word) => word !== "");
  return words.length > 0 ? [words.join("_"), ...words] : [];
}

function readName(value: unknown): readonly string[] {
  return typeof value === "string" && value.length <= maxNameLength && !/\s/.test(value) ? [value] : [];
}

/**
 * A redacted text. In JSON, as the arguments of calls and the columns of databases have it, the strings are
 * redacted first: an escape could hide a secret from a pattern.
 */
function redactedText(text: string, redaction: ValueRedaction, names: readonly string[]): string {
  const { redact } = redaction;
  const value = /^[[{]/.test(text.trimStart()) ? parseJson(text) : undefined;
  if (typeof value === "object" && value !== null) {
    const before = JSON.stringify(value);
    const after = JSON.stringify(redactedValue(value, redaction, names));
    return String(redact(after === before ? text : after));
  }
  if (text.length > maxNamedLength) return String(redact(text));
  for (const name of names) {
    const [start, end] = [`"${name}":"`, '"'];
    const pair = String(redact(start + text + end));
    const isNameKept = pair.startsWith(start) && pair.endsWith(end) && pair.length > start.length;
    if (isNameKept && pair !== start + text + end) return pair.slice(start.length, -end.length);
  }
  return String(redact(text));
}
