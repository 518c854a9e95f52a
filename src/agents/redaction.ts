/**
 * Redaction: functions of text that replace secrets, a copy of a session to share, and every string of a
 * value.
 */

import { describe, oneOfOption } from "../core/arguments.js";
import { isRecord } from "../core/shape.js";
import { entryProblem } from "../log/internal.js";
import type { SessionEntry, SessionHeader } from "../session/index.js";
import type { AnyEntry } from "./edited-path.js";
import { secretFinder } from "./find-secrets.js";
import { commonSecrets, homeDirectory, patternRule, type SecretRule } from "./secret-rules.js";
import { parseJson } from "./shared/values.js";
import type { ExportableSession, Redaction } from "./types.js";

/** A redaction of rules. An option `redact` of an import or of `redactSession`. */
export interface SecretRedaction {
  (text: string): string;
  /** The number of replaced secrets by name of the rule, so far. */
  readonly counts: Readonly<Record<string, number>>;
}

const known: ReadonlyMap<string, SecretRule> = new Map(
  [...commonSecrets, homeDirectory].map((rule) => [rule.name, rule]),
);

/**
 * Makes a redaction: a function that puts `[redacted: NAME]` in place of each secret. Secrets are found as
 * they stand; behind escapes of JSON, percent-encoding and references of HTML; split by sequences of a
 * terminal or invisible characters; in base64 and hexadecimal of text; and in base64, hexadecimal and PEM
 * that is wrapped over lines. These may be combined, five deep. It guarantees nothing: only known forms are
 * found. A password in a sentence has no form. A secret that is compressed, encrypted, in UTF-16, in a dump
 * with spaces or in an image stays.
 *
 * @param rules rules; names of them, such as `github-token` or `home-directory`; or expressions of your own,
 *   which are named `custom` and take the time that they take. @default commonSecrets
 * @throws TypeError for an unknown name
 * @example
 * ```ts
 * const redact = secretRedaction([...commonSecrets, "home-directory", /ACME-\d{6}/]);
 * redact("/home/ann has ACME-123456"); // "/home/[redacted: home-directory] has [redacted: custom]"
 * ```
 */
export function secretRedaction(
  rules: readonly (SecretRule | RegExp | string)[] = commonSecrets,
): SecretRedaction {
  if (!Array.isArray(rules)) throw new TypeError(`rules: expected a list, got ${describe(rules)}`);
  const chosen = rules.map(readRule);
  const find = secretFinder(chosen);
  const counts = new Map<string, number>();
  const redact = (text: string): string => {
    const found = find(text);
    if (found.length === 0) return text;
    let out = "";
    let from = 0;
    for (const { start, end, rule } of found) {
      const name = chosen[rule]?.name ?? "custom";
      counts.set(name, (counts.get(name) ?? 0) + 1);
      out += `${text.slice(from, start)}[redacted: ${name}]`;
      from = end;
    }
    return out + text.slice(from);
  };
  const members = { counts: { enumerable: true, get: () => Object.fromEntries(counts) } };
  return Object.defineProperties(redact, members) as SecretRedaction;
}

function readRule(rule: SecretRule | RegExp | string, index: number): SecretRule {
  if (rule instanceof RegExp) return patternRule("custom", rule, "of the caller");
  if (typeof rule === "string") {
    const named = known.get(rule);
    if (named !== undefined) return named;
    throw new TypeError(
      `rules[${index}]: expected one of ${[...known.keys()].join(", ")}, got ${describe(rule)}`,
    );
  }
  if (
    typeof rule?.name === "string" &&
    /^[A-Za-z0-9-]{1,100}$/.test(rule.name) &&
    typeof rule.find === "function"
  ) {
    if (rule.has?.every((text) => /^[\0-\x7f]{2}/.test(text)) !== false) return rule;
  }
  throw new TypeError(`rules[${index}]: expected a rule, an expression or a name, got ${describe(rule)}`);
}

// A copy of a session to share: every string redacted, attachments left out, ids and tree as they are.

/** Options of `redactSession`. */
export interface RedactSessionOptions {
  /**
   * Inline images and references to stored attachments: `drop` puts a text in their place. The bytes of an
   * attachment are never redacted. @default "drop"
   */
  readonly attachments?: "drop" | "keep";
}

/** The result of `redactSession`, ready for `SessionStore.adopt` and `exportSession`. */
interface RedactedSession {
  readonly header: SessionHeader;
  readonly entries: readonly SessionEntry[];
  readonly leafId: string | null;
}

/**
 * Copies a session with a redaction of each string, keys of objects included. A short value of an object or a
 * list is given beside its name, as `"name":"value"`, so that the redaction sees both. Types, times and ids of entries
 * stay, so that the tree is the same; an entry that is invalid after its redaction becomes a custom entry.
 * The original bytes of an import are no longer named: they are not redacted.
 *
 * @param source a `ParsedSession` or an `ImportedSession`
 * @throws TypeError for invalid arguments, and for a session without a header
 * @example
 * ```ts
 * const redact = secretRedaction();
 * const copy = redactSession(parseSession(await readFile("session.jsonl")), redact);
 * await sessions.adopt(copy);
 * ```
 */
export function redactSession(
  source: ExportableSession,
  redact: Redaction,
  options: RedactSessionOptions = {},
): RedactedSession {
  if (typeof redact !== "function")
    throw new TypeError(`redact: expected a function, got ${describe(redact)}`);
  const { header } = source;
  if (header === undefined) throw new TypeError("source: expected a session with a header, got one without");
  const ids = new Set(source.entries.map(({ id }) => id));
  const redactor = sessionRedactor(ids, redact, options);
  const entries = source.entries.map((entry) => redactor.entry(entry as AnyEntry));
  return { header: redactor.header(header), entries, leafId: source.leafId };
}

/** Redacts a session entry by entry, in the order of its file. */
interface SessionRedactor {
  header(header: SessionHeader): SessionHeader;
  entry(entry: AnyEntry): SessionEntry;
}

/** @param ids of all entries of the session, which stay */
export function sessionRedactor(
  ids: ReadonlySet<string>,
  redact: Redaction,
  options: RedactSessionOptions = {},
): SessionRedactor {
  const drops = oneOfOption("attachments", options.attachments ?? "drop", ["drop", "keep"]) === "drop";

  const replace = (value: unknown): unknown => {
    if (typeof value === "string") return ids.has(value) ? value : undefined;
    return drops && isRecord(value) && isAttachment(value)
      ? { type: "text", text: "[redacted: attachment]" }
      : undefined;
  };
  const copy = (value: unknown) => redactedValue(value, { redact, replace });

  const placed = new Set<string>();
  const redactEntry = (entry: AnyEntry): SessionEntry => {
    const { type, id, timestamp } = entry;
    const parentId = entry.parentId !== null && placed.has(entry.parentId) ? entry.parentId : null;
    placed.add(id);
    const place = { id, parentId, timestamp };
    if (entry.type === "unknown") {
      const data = { text: redact(entry.raw) };
      return { type: "custom", ...place, customType: "sessile.foreign_line", data };
    }
    if (entry.type === "custom" && entry.customType === "sessile.foreign") {
      return {
        type: "custom",
        ...place,
        customType: "sessile.foreign",
        data: withoutFiles(copy(entry.data)),
      };
    }
    const redacted = { ...(copy(entry) as object), type, ...place } as SessionEntry;
    const problem = entryProblem(redacted);
    if (problem === undefined) return redacted;
    const text = `${type}: ${problem.path}: expected ${problem.expected}`;
    return { type: "custom", ...place, customType: "sessile.unreadable", data: { text } };
  };
  return {
    header(header) {
      const { type, id, timestamp } = header;
      return { ...(copy(header) as SessionHeader), type, id, timestamp };
    },
    entry: redactEntry,
  };
}

/** An inline image, or a text block that describes a resource. */
function isAttachment(value: Readonly<Record<string, unknown>>): boolean {
  if (value.type === "image") return typeof value.data === "string";
  return value.type === "text" && isRecord(value.resource);
}

/** The data of the entry that names the original files, without their names and blobs. */
function withoutFiles(data: unknown): unknown {
  if (!isRecord(data)) return {};
  const { v, agent, format, agentVersion } = data;
  return { v, agent, format, ...(agentVersion === undefined ? {} : { agentVersion }), files: [] };
}

// Redaction of every string in a value, keys of objects included. A value is redacted beside its name.

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
interface ValueRedaction {
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
function redactedValue(value: unknown, redaction: ValueRedaction, names: readonly string[] = []): unknown {
  const replaced = redaction.replace?.(value);
  if (replaced !== undefined) return replaced;
  if (typeof value === "string") return redactedText(value, redaction, names);
  if (Array.isArray(value)) {
    const items = value.map((item, index) =>
      redactedValue(item, redaction, nearest([...readName(value[index - 1]), ...names])),
    );
    return withoutSplit(items, redaction);
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

/** Items in which no secret begins in a block of text and ends in a later one: those are one block. */
function withoutSplit(items: readonly unknown[], { redact }: ValueRedaction): readonly unknown[] {
  const out: unknown[] = [];
  for (let at = 0; at < items.length; ) {
    const start = at;
    const texts: string[] = [];
    for (let text = readBlock(items[at]); text !== undefined; text = readBlock(items[++at])) texts.push(text);
    const whole = texts.join("");
    const shown = texts.length > 1 ? String(redact(whole)) : whole;
    if (shown !== whole) out.push({ ...(items[start] as object), text: shown });
    else for (const item of items.slice(start, at)) out.push(item);
    if (texts.length === 0) out.push(items[at++]);
  }
  return out;
}

function readBlock(value: unknown): string | undefined {
  if (!isRecord(value) || value.type !== "text" || value.resource !== undefined) return undefined;
  return typeof value.text === "string" ? value.text : undefined;
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
