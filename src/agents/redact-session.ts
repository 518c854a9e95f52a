/** A copy of a session to share: every string redacted, attachments left out, ids and tree as they are. */

import { describe, oneOfOption } from "../core/arguments.js";
import { isRecord } from "../core/shape.js";
import { entryProblem } from "../log/internal.js";
import type { SessionEntry, SessionHeader } from "../session/index.js";
import type { AnyEntry } from "./edited-path.js";
import { redactedValue } from "./shared/redact.js";
import type { ExportableSession, Redaction } from "./types.js";

/** Options of `redactSession`. */
export interface RedactSessionOptions {
  /**
   * Inline images and references to stored attachments: `drop` puts a text in their place. The bytes of an
   * attachment are never redacted. @default "drop"
   */
  readonly attachments?: "drop" | "keep";
}

/** The result of `redactSession`, ready for `SessionStore.adopt` and `exportSession`. */
export interface RedactedSession {
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
export interface SessionRedactor {
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
