/** Which agent wrote a file: by its first records, else by its path. */

import { parseCutJson } from "./shared/cut-json.js";
import { type ForeignObject, objectOf, textOf } from "./shared/values.js";
import type { DetectedSession, ForeignFormatName } from "./types.js";

/** Records at the start of a file that are looked at. */
const maxRecords = 20;

/** The marks of a format: records of its own, and places in the agent's home. */
interface Signature {
  readonly format: ForeignFormatName;
  /** Tells the format by one record. */
  readonly record: (value: ForeignObject) => Omit<DetectedSession, "format"> | undefined;
  /** Paths of the agent's home, for files whose content tells nothing. */
  readonly path?: RegExp;
}

/** The formats. The first that knows a record is the one. */
const signatures: readonly Signature[] = [
  {
    format: "sessile",
    record: (value) => (isOwnHeader(value) && "sessile" in value ? { sure: true } : undefined),
  },
  { format: "pi", record: (value) => (isOwnHeader(value) ? { sure: true } : undefined) },
  { format: "codex", record: codexRecord, path: /(?:^|\/)rollout-[^/]{0,255}\.jsonl?(?:\.zst)?$/ },
  {
    format: "opencode",
    record: opencodeRecord,
    path: /(?:^|\/)opencode\.db$|(?:^|\/)storage\/(?:session|message|part)\//,
  },
  {
    format: "gemini",
    record: geminiRecord,
    path: /(?:^|\/)\.gemini\/tmp\/|(?:^|\/)chats\/session-[^/]{0,255}\.json/,
  },
  { format: "claude-code", record: claudeRecord, path: /(?:^|\/)\.claude\/projects\// },
];

/**
 * Tells which agent wrote a file. Never throws.
 *
 * @param head the first bytes of the file; 64 KiB are enough
 * @param path relative to the agent's home; consulted if the bytes tell nothing
 * @example
 * ```ts
 * const line = '{"timestamp":"2026-11-20T09:00:00Z","type":"session_meta","payload":{"id":"0199a0f2"}}';
 * detectSession(new TextEncoder().encode(line))?.format; // "codex"
 * ```
 */
export function detectSession(head: Uint8Array, path?: string): DetectedSession | undefined {
  const records = [...headRecords(head)];
  // Qwen Code has the envelope of Claude Code, with Gemini's parts. It is no format of this library.
  if (records.some(hasParts)) return undefined;
  for (const record of records) {
    for (const { format, record: detect } of signatures) {
      const found = detect(record);
      if (found !== undefined) return { format, ...found };
    }
  }
  if (typeof path !== "string") return undefined;
  const forward = path.replaceAll("\\", "/");
  const named = signatures.find((signature) => signature.path?.test(forward) === true);
  return named === undefined ? undefined : { format: named.format, sure: false };
}

/** The objects at the start of a file: of its lines, or of the whole file. The last may be cut. */
function* headRecords(head: Uint8Array): Generator<ForeignObject> {
  if (!(head instanceof Uint8Array)) return;
  const text = new TextDecoder().decode(head);
  const lines = text.split("\n", maxRecords + 1);
  let found = 0;
  for (const line of lines.slice(0, maxRecords)) {
    const value = objectOf(parseCutJson(line));
    // The first line of an object that is printed over several lines has no member.
    if (value === undefined || Object.keys(value).length === 0) continue;
    found++;
    yield value;
  }
  const whole = found === 0 || lines.length > 1 ? objectOf(parseCutJson(text)) : undefined;
  if (whole !== undefined) yield whole;
}

function isOwnHeader({ type, id, timestamp, cwd, version }: ForeignObject): boolean {
  if (type !== "session" || typeof id !== "string") return false;
  return typeof version === "number" || typeof timestamp === "string" || typeof cwd === "string";
}

const version = (value: unknown) => {
  const agentVersion = textOf(value)?.slice(0, 100);
  return agentVersion === undefined || agentVersion === "" ? {} : { agentVersion };
};

function codexRecord(value: ForeignObject): ReturnType<Signature["record"]> {
  const payload = objectOf(value.payload);
  if (value.type === "session_meta" && payload !== undefined) {
    const variant = "ordinal" in value || "history_mode" in payload ? "paginated" : "legacy";
    return { variant, ...version(payload.cli_version), sure: true };
  }
  const types = ["response_item", "event_msg", "turn_context", "compacted"];
  if (payload !== undefined && types.includes(value.type as string)) return { variant: "legacy", sure: true };
  if (value.record_type === "state") return { variant: "bare", sure: true };
  const { session, items } = value;
  if (Array.isArray(items) && typeof objectOf(session)?.id === "string")
    return { variant: "json", sure: true };
  if ("instructions" in value && typeof value.id === "string" && typeof value.timestamp === "string")
    return { variant: "bare", sure: true };
  return undefined;
}

function opencodeRecord(value: ForeignObject): ReturnType<Signature["record"]> {
  const info = objectOf(value.info);
  if (info !== undefined && isOpencodeId(info.id, "ses_")) {
    return { variant: "export", ...version(info.version), sure: Array.isArray(value.messages) };
  }
  if (isOpencodeId(value.id, "ses_")) return { variant: "storage", ...version(value.version), sure: true };
  const isPart = isOpencodeId(value.sessionID, "ses_") && /^(?:msg|prt)_/.test(String(value.id));
  return isPart ? { variant: "storage", sure: true } : undefined;
}

function isOpencodeId(value: unknown, prefix: string): boolean {
  return typeof value === "string" && value.startsWith(prefix);
}

function geminiRecord(value: ForeignObject): ReturnType<Signature["record"]> {
  const { sessionId, projectHash, startTime, lastUpdated } = value;
  if (typeof sessionId !== "string" || typeof projectHash !== "string") return undefined;
  if (typeof startTime !== "string" && typeof lastUpdated !== "string") return undefined;
  return { variant: "messages" in value ? "json" : "jsonl", sure: true };
}

function hasParts(value: ForeignObject): boolean {
  return "uuid" in value && Array.isArray(objectOf(value.message)?.parts);
}

function claudeRecord(value: ForeignObject): ReturnType<Signature["record"]> {
  const { uuid, sessionId, type } = value;
  if (type === "summary" && typeof value.leafUuid === "string") return { sure: true };
  if (typeof type !== "string") return undefined;
  if (typeof uuid === "string" && typeof sessionId === "string" && "parentUuid" in value)
    return { ...version(value.version), sure: true };
  if (type === "file-history-snapshot" && "snapshot" in value) return { sure: true };
  return typeof sessionId === "string" ? { sure: false } : undefined;
}
