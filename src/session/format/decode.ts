import { isRecord } from "../../internal/shape.js";
import type { DiagnosticCode } from "../api/diagnostics.js";
import {
  extensionVersion,
  formatVersion,
  type SessionEntry,
  type SessionHeader,
  type UnknownEntry,
} from "../api/entries.js";
import {
  type EntryHead,
  type EntryKey,
  entryIdOf,
  entryKeyOf,
  parseEntryPrefix,
  parseTimestamp,
} from "./entry-prefix.js";
import { entryTypesWith, isEntryType } from "./entry-types.js";
import { type ParseLineOptions, parseLine } from "./line-json.js";
import { headerVersion, migrateEntry } from "./migrate.js";
import { maxShortLine, shortLine } from "./short-line.js";
import { fieldsProblem, headerProblem, normalizeContent, normalizeMessage } from "./validate.js";

/** A problem of one line. */
export interface LineDiagnostic {
  readonly code: DiagnosticCode;
  readonly message: string;
}

/** A decoded line. */
export type DecodedLine =
  | { readonly kind: "blank" }
  | {
      readonly kind: "header";
      readonly header: SessionHeader;
      readonly diagnostics: readonly LineDiagnostic[];
    }
  | {
      readonly kind: "entry";
      readonly head: EntryHead;
      /** The whole entry; absent if only the head was sliced. */
      readonly entry?: SessionEntry | UnknownEntry;
      readonly diagnostics: readonly LineDiagnostic[];
    }
  /** A damaged line. `parsed`: it is JSON, and counts in version 1. */
  | { readonly kind: "bad"; readonly diagnostics: readonly LineDiagnostic[]; readonly parsed: boolean };

/** The place of a line in its log, as far as decoding depends on it. */
export interface DecodeContext {
  /** The first line of its log, the only one that may begin with a byte order mark. */
  readonly isFirst?: boolean;
  /** Of the header before it; undefined before the header. */
  readonly version: number | undefined;
  /** The line's number among the lines that parse, the header being 0. */
  readonly ordinal: number;
  /** The entry before it: the parent in version 1. Default: the entry with the preceding number. */
  readonly previousId?: string | null;
  readonly maxDepth: number;
}

/** Decodes the head of a line: sliced from its canonical prefix, or parsed. */
export function decodeHead(
  bytes: Uint8Array,
  context: DecodeContext,
  start = 0,
  end = bytes.length,
): DecodedLine {
  const head =
    (context.version ?? 0) >= 2 && !context.isFirst ? parseEntryPrefix(bytes, start, end) : undefined;
  // Bodies of structural types are small, and opening needs them at once.
  if (head === undefined || structural.has(head.type)) return decodeLine(bytes.subarray(start, end), context);
  return {
    kind: "entry",
    head: head.role === "hookMessage" ? { ...head, role: "custom" } : head,
    diagnostics: none,
  };
}

const none: readonly LineDiagnostic[] = [];

const structural = entryTypesWith("structural");

/** Decodes a whole line. */
export function decodeLine(bytes: Uint8Array, context: DecodeContext, known?: ParseLineOptions): DecodedLine {
  const read = decodeBody(bytes, context, known);
  if (read.kind !== "entry") return read;
  const { entry, type, role, diagnostics } = read;
  const { id, parentId, timestamp } = entry;
  const head = {
    type,
    id: entryKeyOf(id),
    parentId: parentId === null ? null : entryKeyOf(parentId),
    time: parseTimestamp(timestamp),
    ...(role === undefined ? {} : { role }),
  };
  return { kind: "entry", head, entry, diagnostics };
}

/** A decoded entry with its stored type and role, which an unknown entry lacks. */
export interface DecodedBody {
  readonly kind: "entry";
  readonly entry: SessionEntry | UnknownEntry;
  readonly type: string;
  readonly role: string | undefined;
  readonly diagnostics: readonly LineDiagnostic[];
}

/** Decodes a whole line without its head, for entries that the tree has already. */
export function decodeBody(
  line: Uint8Array,
  context: DecodeContext,
  known?: ParseLineOptions,
): Exclude<DecodedLine, { kind: "entry" }> | DecodedBody {
  const bytes = context.isFirst ? stripBom(line) : line;
  if (isBlank(bytes)) return { kind: "blank" };
  const short = bytes.length > maxShortLine ? undefined : shortLine(bytes);
  if (short !== undefined) return short;
  const parsed = parseLine(bytes, context.maxDepth, known);
  if (!parsed.ok)
    return { kind: "bad", parsed: false, diagnostics: [{ code: parsed.code, message: parsed.message }] };
  const { value, diagnostics } = parsed;
  const report = (code: DiagnosticCode, message: string) => void diagnostics.push({ code, message });
  if (!isRecord(value)) {
    report("NOT_AN_OBJECT", "the line is JSON, but no object");
    return { kind: "bad", parsed: true, diagnostics };
  }
  if (value.type === "session") return decodeHeader(value, diagnostics);
  const { version = formatVersion, ordinal, previousId } = context;
  // JSON.parse made the object for us, so it is corrected in place: a copy of each doubles the garbage of a
  // load.
  const own: Record<string, unknown> = migrateEntry(value, version, ordinal, report, previousId);
  const { type, id, parentId = null, timestamp } = own;
  if (
    typeof type !== "string" ||
    typeof id !== "string" ||
    id === "" ||
    !(parentId === null || typeof parentId === "string")
  ) {
    report("INVALID_ENTRY", "an entry needs a type, an id and a parentId");
    return { kind: "bad", parsed: true, diagnostics };
  }
  const stamp = typeof timestamp === "string" ? timestamp : "";
  if (own.parentId !== parentId) own.parentId = parentId;
  if (own.timestamp !== stamp) own.timestamp = stamp;
  if (own.crc !== undefined) delete own.crc;
  const role = roleOf(type, own);
  const entry = withKnownContent(own);
  const problem = fieldsProblem(entry);
  if (isEntryType(type) && problem === undefined) {
    // The check above justifies the cast.
    return { kind: "entry", entry: entry as unknown as SessionEntry, type, role, diagnostics };
  }
  if (problem !== undefined) {
    report("INVALID_FIELDS", `${problem.path === "" ? type : problem.path}: expected ${problem.expected}`);
  }
  const raw = parsed.text.endsWith("\r") ? parsed.text.slice(0, -1) : parsed.text;
  const unknown: UnknownEntry = { type: "unknown", entryType: type, id, parentId, timestamp: stamp, raw };
  return { kind: "entry", entry: unknown, type, role, diagnostics };
}

/** The bytes of a log's first line without its byte order mark. */
export function stripBom(line: Uint8Array): Uint8Array {
  return line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? line.subarray(3) : line;
}

/** The key of the entry that a line adds to the tree; undefined if it adds none. */
export function entryKeyOfLine(line: Uint8Array, decoded: DecodedLine, version = 0): EntryKey | undefined {
  if (decoded.kind === "entry") return decoded.head.id;
  // An entry with a damaged body keeps its place in the tree, and with it the history before it.
  return decoded.kind === "bad" && version >= 2 ? parseEntryPrefix(line)?.id : undefined;
}

/**
 * Decodes the lines of a log in order. Tracks the first line (byte order mark), the version, and the number
 * and parent that version 1 gives a line by its position.
 */
export class LineDecoder {
  readonly #maxDepth: number;
  #isFirst = true;
  #version: number | undefined;
  #ordinal = 0;
  #previousId: string | null = null;
  /**
   * Ids before the header. An entry of version 1 with such a number is a duplicate, and the next one does not
   * follow it.
   */
  readonly #idsBeforeHeader = new Set<string>();
  /** Cached: from version 2 on every line after the header has the same context. */
  #placeless: DecodeContext | undefined;

  constructor(maxDepth: number) {
    this.#maxDepth = maxDepth;
  }

  /** The next line is the log's first. */
  get isFirst(): boolean {
    return this.#isFirst;
  }

  /** Of the header; undefined before it: those lines are decoded as the current version. */
  get version(): number | undefined {
    return this.#version;
  }

  /** The context of the next line. */
  get context(): DecodeContext {
    if (this.#placeless !== undefined) return this.#placeless;
    return {
      isFirst: this.#isFirst,
      version: this.#version,
      ordinal: this.#ordinal,
      previousId: this.#previousId,
      maxDepth: this.#maxDepth,
    };
  }

  /** Decodes the next line in whole. */
  decode(line: Uint8Array, known?: ParseLineOptions): DecodedLine {
    const decoded = decodeLine(line, this.context, known);
    this.advance(decoded);
    return decoded;
  }

  /** Advances past a line that was decoded with {@link context}. */
  advance(decoded: DecodedLine): void {
    this.#isFirst = false;
    if (decoded.kind === "blank") return;
    // Version 1 counts every line that parses, so a bad one must not move the ids of those after it.
    if (decoded.kind !== "bad" || decoded.parsed) this.#ordinal++;
    if (decoded.kind === "header" && this.#version === undefined) {
      this.#version = headerVersion(decoded.header);
      if (this.#version >= 2)
        this.#placeless = { version: this.#version, ordinal: 0, maxDepth: this.#maxDepth };
    }
    if (decoded.kind !== "entry" || this.#placeless !== undefined) return;
    const id = entryIdOf(decoded.head.id);
    if (this.#idsBeforeHeader.has(id)) return;
    if (this.#version === undefined) this.#idsBeforeHeader.add(id);
    this.#previousId = id;
  }

  /** Advances past a line that is too long to decode. */
  skip(): void {
    this.#isFirst = false;
  }
}

function decodeHeader(
  value: Readonly<Record<string, unknown>>,
  diagnostics: readonly LineDiagnostic[],
): Exclude<DecodedLine, { kind: "entry" }> {
  const problem = headerProblem(value);
  if (problem !== undefined) {
    const message = `header: ${problem.path}: expected ${problem.expected}`;
    return { kind: "bad", parsed: true, diagnostics: [...diagnostics, { code: "INVALID_ENTRY", message }] };
  }
  const header = {
    ...value,
    timestamp: value.timestamp ?? "",
    cwd: value.cwd ?? "",
  } as unknown as SessionHeader;
  return { kind: "header", header, diagnostics };
}

/** Whether this version may append to a session with this header. */
export function isNewer(header: SessionHeader): boolean {
  return headerVersion(header) > formatVersion || (header.sessile ?? 1) > extensionVersion;
}

/** The entry with its content normalised by {@link normalizeMessage}; the same object if nothing changes. */
function withKnownContent(entry: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (entry.type === "message") {
    const message = normalizeMessage(entry.message);
    return message === entry.message ? entry : { ...entry, message };
  }
  if (entry.type === "custom_message") {
    const content = normalizeContent("custom", entry.content);
    return content === entry.content ? entry : { ...entry, content };
  }
  if (entry.type === "compaction" && entry.systemMessage !== undefined) {
    const systemMessage = normalizeMessage(entry.systemMessage);
    return systemMessage === entry.systemMessage ? entry : { ...entry, systemMessage };
  }
  // One library writes a leaf entry whose only place is its parent.
  if (entry.type === "leaf" && entry.targetId === undefined)
    return { ...entry, targetId: entry.parentId ?? null };
  return entry;
}

function roleOf(type: string, entry: Readonly<Record<string, unknown>>): string | undefined {
  if (type !== "message" || !isRecord(entry.message) || typeof entry.message.role !== "string")
    return undefined;
  return entry.message.role === "hookMessage" ? "custom" : entry.message.role;
}

function isBlank(bytes: Uint8Array): boolean {
  for (const byte of bytes) if (byte !== 0x20 && byte !== 0x0d && byte !== 0x09) return false;
  return true;
}
