import { isRecord } from "../../internal/shape.js";
import type { DiagnosticCode } from "../diagnostics.js";
import {
  extensionVersion,
  formatVersion,
  type SessionEntry,
  type SessionHeader,
  type UnknownEntry,
} from "../entries.js";
import { fieldsProblem, headerProblem, isEntryType } from "../shape.js";
import { type EntryHead, sliceHead, timeOf } from "./head.js";
import { parseLine } from "./json.js";
import { knownContent, knownMessage } from "./messages.js";
import { migrated, versionOf } from "./migrate.js";

/** A problem of one line. */
export interface LineNote {
  readonly code: DiagnosticCode;
  readonly message: string;
}

/** What one line is to the structure of a session. */
export type Decoded =
  | { readonly kind: "blank" }
  | { readonly kind: "header"; readonly header: SessionHeader; readonly notes: readonly LineNote[] }
  | {
      readonly kind: "entry";
      readonly head: EntryHead;
      /** The whole entry; absent where only the head was sliced. */
      readonly entry?: SessionEntry | UnknownEntry;
      readonly notes: readonly LineNote[];
    }
  /** No entry; `parsed` tells whether it was at least JSON, which is what version 1 counts. */
  | { readonly kind: "bad"; readonly notes: readonly LineNote[]; readonly parsed: boolean };

/** How a line is to be read. */
export interface DecodeContext {
  /** Of the header before it; undefined while none was seen. */
  readonly version: number | undefined;
  /** The line's number among the lines that parse, the header being 0. */
  readonly ordinal: number;
  /** The entry before it, which version 1 follows; if absent, the one with the number before. */
  readonly previousId?: string | null;
  readonly maxDepth: number;
}

/** Reads the structure of a line, from its canonical prefix if it has one. */
export function decodeHead(bytes: Uint8Array, context: DecodeContext): Decoded {
  const head = (context.version ?? 0) >= 2 ? sliceHead(bytes) : undefined;
  // Labels, names and moves of the tip are part of the structure: their bodies are wanted at once, and small.
  if (head === undefined || structural.has(head.type)) return decodeLine(bytes, context);
  return { kind: "entry", head: head.role === "hookMessage" ? { ...head, role: "custom" } : head, notes: [] };
}

const structural: ReadonlySet<string> = new Set(["label", "session_info", "leaf"]);

/** Reads a whole line. */
export function decodeLine(bytes: Uint8Array, context: DecodeContext): Decoded {
  if (isBlank(bytes)) return { kind: "blank" };
  const parsed = parseLine(bytes, context.maxDepth);
  if (!parsed.ok)
    return { kind: "bad", parsed: false, notes: [{ code: parsed.code, message: parsed.message }] };
  const { value } = parsed;
  if (!isRecord(value)) {
    return {
      kind: "bad",
      parsed: true,
      notes: [{ code: "NOT_AN_OBJECT", message: "the line is JSON, but no object" }],
    };
  }
  if (value.type === "session") return decodeHeader(value, parsed.notes);
  const notes: LineNote[] = [...parsed.notes];
  const report = (code: DiagnosticCode, message: string) => void notes.push({ code, message });
  const { version = formatVersion, ordinal, previousId } = context;
  const current = migrated(value, version, ordinal, report, previousId);
  const { type, id, parentId = null, timestamp } = current;
  if (
    typeof type !== "string" ||
    typeof id !== "string" ||
    id === "" ||
    !(parentId === null || typeof parentId === "string")
  ) {
    report("INVALID_ENTRY", "an entry needs a type, an id and a parentId");
    return { kind: "bad", parsed: true, notes };
  }
  const stamp = typeof timestamp === "string" ? timestamp : "";
  const place = { id, parentId, timestamp: stamp };
  const raw = parsed.text.endsWith("\r") ? parsed.text.slice(0, -1) : parsed.text;
  const unknown: UnknownEntry = { type: "unknown", entryType: type, ...place, raw };
  const head: EntryHead = { type, id, parentId, time: timeOf(stamp), ...roleOf(type, current) };
  if (!isEntryType(type)) return { kind: "entry", head, entry: unknown, notes };
  const entry = withKnownContent(current);
  const problem = fieldsProblem(entry);
  if (problem !== undefined) {
    report("INVALID_FIELDS", `${problem.path === "" ? type : problem.path}: expected ${problem.expected}`);
    return { kind: "entry", head, entry: unknown, notes };
  }
  const { crc: _crc, type: _type, id: _id, parentId: _parentId, timestamp: _timestamp, ...fields } = entry;
  // The check above is what makes this cast true.
  return { kind: "entry", head, entry: { type, ...place, ...fields } as unknown as SessionEntry, notes };
}

function decodeHeader(value: Readonly<Record<string, unknown>>, notes: readonly LineNote[]): Decoded {
  const problem = headerProblem(value);
  if (problem !== undefined) {
    const message = `header: ${problem.path}: expected ${problem.expected}`;
    return { kind: "bad", parsed: true, notes: [...notes, { code: "INVALID_ENTRY", message }] };
  }
  const header = {
    ...value,
    timestamp: value.timestamp ?? "",
    cwd: value.cwd ?? "",
  } as unknown as SessionHeader;
  return { kind: "header", header, notes };
}

/** Whether this version may append to a session with this header. */
export function isNewer(header: SessionHeader): boolean {
  return versionOf(header) > formatVersion || (header.sessile ?? 1) > extensionVersion;
}

function withKnownContent(entry: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (entry.type === "message") {
    const message = knownMessage(entry.message);
    return message === entry.message ? entry : { ...entry, message };
  }
  if (entry.type === "custom_message") {
    const content = knownContent("custom", entry.content);
    return content === entry.content ? entry : { ...entry, content };
  }
  // One library writes a leaf entry whose only place is its parent.
  if (entry.type === "leaf" && entry.targetId === undefined)
    return { ...entry, targetId: entry.parentId ?? null };
  return entry;
}

function roleOf(type: string, entry: Readonly<Record<string, unknown>>): { role?: string } {
  if (type !== "message" || !isRecord(entry.message) || typeof entry.message.role !== "string") return {};
  return { role: entry.message.role === "hookMessage" ? "custom" : entry.message.role };
}

function isBlank(bytes: Uint8Array): boolean {
  for (const byte of bytes) if (byte !== 0x20 && byte !== 0x0d && byte !== 0x09) return false;
  return true;
}
