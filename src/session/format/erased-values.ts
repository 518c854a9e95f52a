/**
 * Values of frameworks without their texts, for the tombstones of adapters' entries: ids, roles and types stay,
 * so that a thread loads, and each call has its result.
 */

import { isRecord } from "../../core/shape.js";

/** The text in place of an erased one. */
export const erasedText = "[erased]";

type Json = Readonly<Record<string, unknown>>;

/** Members that identify or classify: they stay if they are no containers. */
const identifying: ReadonlySet<string> = new Set([
  ...["type", "role", "id", "uuid", "parentUuid", "logicalParentUuid", "leafUuid", "timestamp"],
  ...["callId", "call_id", "toolCallId", "tool_call_id", "tool_use_id", "isError", "is_error", "sessionId"],
  ...["model", "stop_reason"],
]);

/** The same in the lines of a transcript, which have a uuid, and in checkpoints, which have versions. */
const ofLines: ReadonlySet<string> = new Set([
  ...["agentId", "subtype", "isSidechain", "isMeta", "isCompactSummary", "userType", "version"],
  "cwd",
]);
const ofCheckpoints: ReadonlySet<string> = new Set(["ts"]);

/** Numbers of a program, and words of a closed list. */
const counting: ReadonlySet<string> = new Set(["v", "lc", "step", "index"]);
const words: ReadonlyMap<string, readonly string[]> = new Map([
  ["status", ["completed", "in_progress", "incomplete", "failed", "success", "error"]],
  ["source", ["input", "loop", "update", "fork"]],
]);

/** Objects that say which channels changed. Their members are names and numbers of a program. */
const structural: ReadonlySet<string> = new Set(["channel_versions", "versions_seen", "parents"]);

const containers: ReadonlySet<string> = new Set(["message", "kwargs", "data", "output"]);
const lists: ReadonlySet<string> = new Set(["content", "output", "parts", "tool_calls", "messages"]);
const texts: ReadonlySet<string> = new Set(["text", "content", "output"]);
const inputs: ReadonlySet<string> = new Set(["arguments", "args", "input"]);
/** Members of calls and results: a name beside one is that of a tool. */
const ofCalls = [...inputs, "callId", "call_id", "toolCallId", "tool_call_id", "tool_use_id"];

/**
 * A value of a framework without its texts: a message, an item, a line of a transcript, the value of a channel.
 * Idempotent.
 */
export function bareValue(value: unknown): unknown {
  if (typeof value === "string") return erasedText;
  if (typeof value === "number") return 0;
  if (typeof value === "boolean") return false;
  if (Array.isArray(value)) return value.map(bareValue);
  return isRecord(value) ? bareRecord(value) : null;
}

function bareRecord(value: Json): Json {
  const bare: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    const kept = bareMember(value, key, member);
    if (kept !== undefined) bare[key] = kept;
  }
  return bare;
}

function bareMember(owner: Json, key: string, member: unknown): unknown {
  if (key === "name") return ofCalls.some((name) => name in owner) ? textOrNone(member) : undefined;
  if (inputs.has(key)) return typeof member === "string" ? "{}" : {};
  if (texts.has(key) && typeof member === "string") return erasedText;
  if (lists.has(key) && Array.isArray(member)) return bareBlocks(member, texts.has(key));
  if (containers.has(key) && isRecord(member)) return bareRecord(member);
  if (key === "usage" && isRecord(member)) return numbersOf(member);
  if (structural.has(key) && isRecord(member)) return member;
  if (counting.has(key) && typeof member === "number") return member;
  if (words.get(key)?.includes(String(member)) === true) return member;
  const isOwn = "uuid" in owner ? ofLines.has(key) : "channel_versions" in owner && ofCheckpoints.has(key);
  if (!identifying.has(key) && !isOwn) return undefined;
  if (Array.isArray(member)) return member.every((item) => typeof item === "string") ? member : undefined;
  return isRecord(member) ? undefined : member;
}

function textOrNone(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Blocks of text, calls and results, and messages. If none is left, a text takes their place. */
function bareBlocks(blocks: readonly unknown[], isText: boolean): unknown {
  const bare = blocks.filter(isRecord).flatMap((block) => {
    const isKept = [...texts, ...inputs, ...lists, "tool_use_id", "kwargs"].some((key) => key in block);
    return isKept && !("thinking" in block) ? [bareRecord(block)] : [];
  });
  return isText && bare.length === 0 && blocks.length > 0 ? erasedText : bare;
}

function numbersOf(value: Json): Json {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => typeof member === "number"));
}

/** A message of the AI SDK's user interface without its parts and metadata. */
export function bareUiMessage(value: unknown): unknown {
  const { id, role } = isRecord(value) ? value : {};
  return { id, role, parts: [{ type: "text", text: erasedText }] };
}

/** A parcel of an adapter with a bare value; see `frameworks/shared/parcels.ts`. */
export function bareParcel(parcel: unknown, bare: (value: unknown) => unknown = bareValue): Json {
  return { v: bare(parcelValue(parcel)) };
}

/** The value of a parcel, with null for its blobs; undefined if it is no parcel. */
export function parcelValue(parcel: unknown): unknown {
  if (!isRecord(parcel)) return undefined;
  if (typeof parcel.json !== "string") return parcel.v;
  try {
    return JSON.parse(parcel.json);
  } catch {
    return undefined;
  }
}
