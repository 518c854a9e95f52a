/**
 * The table of ownership: for each entry type, those of this library's adapters and imports included, which members
 * are text, and of which entries it is. Tombstones and the plan of an erasure derive from it; only they load it.
 */

import type { AssistantMessage, Message, ToolCall, Usage } from "../content/index.js";
import { isRecord } from "../core/shape.js";
import type { DerivedEntry, EntryMap, EntryType, SessionEntry } from "./entries.js";

/**
 * What a tombstone has of a member: it as it is; nothing; `[erased]`; or what a function makes of it, which must
 * be idempotent.
 */
type MemberRule<V> =
  | "kept"
  | (undefined extends V ? "dropped" : never)
  | (string extends V ? "text" : never)
  | ((value: Exclude<V, undefined>) => V);

/** Entries of which another one is. A path such as `data.entryId` names a member of the other one. */
export type Source =
  /** The entries that a member names: an id, or ids anywhere in it. */
  | { readonly id: string }
  /** The entries that have the resource. */
  | { readonly resource: string }
  /** The entry with the tool call. */
  | { readonly call: string }
  /** The reply or the message that begins with the entry. */
  | { readonly reply: string }
  /** Entries of the type that have the same value there. */
  | { readonly same: string }
  /** The entries that a function names. */
  | { readonly ids: (entry: SessionEntry) => readonly string[] }
  | Relation;

/**
 * - `firstMessage`: messages of a person with none above.
 * - `replyBefore`: the reply above.
 * - `sinceSame`: entries above, up to the one before of the same type.
 * - `above`: all entries above.
 * - `covered`: those that a compaction replaces, and the instructions that it repeats.
 * - `abandoned`: those of the branch that a summary is of.
 * - `anything`: any entry of the session.
 */
export type Relation =
  | "firstMessage"
  | "replyBefore"
  | "sinceSame"
  | "above"
  | "covered"
  | "abandoned"
  | "anything";

/** Of which entries an entry is. */
interface Ownership {
  /** It repeats or describes them, and nothing else needs its text: it is erased with any of them. */
  readonly erasedWith?: readonly Source[];
  /** It may have content of them: it is reported. */
  readonly derived?: { readonly kind: DerivedEntry["kind"]; readonly from: readonly Source[] };
}

interface EntryRow<F> extends Ownership {
  readonly members: { readonly [K in keyof F]-?: MemberRule<F[K]> };
}

type Data = Readonly<Record<string, unknown>>;

/** The text in place of an erased one. */
const erasedText = "[erased]";

/** The row of a custom type. Its data are text, but for what a tombstone keeps. */
interface CustomRow extends Ownership {
  /** The data of a tombstone: ids, and what a reader needs to load. Idempotent. @default none */
  readonly keeps?: (data: Data) => unknown;
  /** Whether it is a message of a person. */
  readonly isOfPerson?: (data: Data) => boolean;
  /** Ids of entries that have its text. */
  readonly holds?: (data: Data) => readonly string[];
  /** The session that a tool call started: it has the text of the call. */
  readonly startedSession?: (data: Data) => { readonly toolCallId: unknown; readonly sessionId: unknown };
  /** It may repeat a text of any other entry: it is reported as a copy if it does. */
  readonly mayQuote?: true;
}

type EntryRows = { readonly [T in EntryType]: EntryRow<EntryMap[T]> };

const noText: CustomRow = { keeps: (data) => data };
const ofImport = { derived: { kind: "import", from: ["anything"] } } as const satisfies CustomRow;

/** The entry types. The order of the members is that of a tombstone. */
export const entryOwnership: EntryRows = {
  message: {
    members: { message: erasedMessage, details: bareDetails },
    // The first message of a framework's value has the difference of all of them.
    erasedWith: [{ ids: restOfValue }, { same: "details.digest" }],
    derived: { kind: "tool_result", from: [{ call: "message.toolCallId" }] },
  },
  thinking_level_change: { members: { thinkingLevel: "kept" } },
  model_change: { members: { provider: "kept", modelId: "kept" } },
  compaction: {
    members: {
      summary: "text",
      firstKeptEntryId: "kept",
      tokensBefore: "kept",
      fromHook: "kept",
      usage: lineCounts,
      retain: "kept",
      strategy: "kept",
      inForce: ({ model, thinkingLevel, pins, isObserved }) => ({ model, thinkingLevel, pins, isObserved }),
      model: ({ provider, modelId }) => ({ provider, modelId }),
      details: "dropped",
      systemMessage: "dropped",
    },
    derived: { kind: "compaction", from: ["covered"] },
  },
  branch_summary: {
    members: { fromId: "kept", summary: "text", fromHook: "kept", usage: lineCounts, details: "dropped" },
    derived: { kind: "branch_summary", from: ["abandoned"] },
  },
  // The data have a row by their custom type.
  custom: {
    members: { customType: "kept", data: "dropped" },
    derived: { kind: "custom", from: [{ id: "data" }] },
  },
  custom_message: {
    members: { customType: "kept", content: "text", display: "kept", details: "dropped" },
    derived: { kind: "custom", from: [{ id: "details" }] },
  },
  label: { members: { targetId: "kept", label: "dropped" }, erasedWith: [{ id: "targetId" }] },
  session_info: {
    members: {
      archivedAt: "kept",
      name: "dropped",
      title: "dropped",
      slug: "dropped",
      share: "dropped",
      permission: "dropped",
      stats: "dropped",
    },
    erasedWith: ["firstMessage"],
  },
  usage: {
    members: { kind: "kept", provider: "kept", model: "kept", usage: lineCounts, note: "dropped" },
  },
  context_edit: {
    members: {
      targetId: "kept",
      replacement: (replacement) => replacement && { content: erasedContent(replacement.content) },
    },
    erasedWith: [{ id: "targetId" }],
  },
  message_update: {
    members: { targetId: "kept", message: erasedMessage },
    erasedWith: [{ id: "targetId" }],
  },
  part_update: {
    members: {
      targetId: "kept",
      index: "kept",
      part: (part) => (part.type === "toolCall" ? bareCall(part) : { type: "text", text: erasedText }),
    },
    erasedWith: [{ id: "targetId" }],
  },
  leaf: { members: { targetId: "kept", name: "dropped" }, erasedWith: [{ id: "targetId" }] },
  context_pin: { members: { targetId: "kept", pinned: "kept" } },
  revert: {
    members: { targetId: "kept", partId: "kept", undone: "kept", snapshot: "dropped", diff: "dropped" },
    derived: { kind: "revert", from: [{ id: "targetId" }] },
  },
  resource_view: {
    members: { resourceId: "kept", reason: "dropped" },
    erasedWith: [{ resource: "resourceId" }, "replyBefore"],
  },
  resource_observation: {
    members: { resourceId: "kept", text: "text" },
    derived: { kind: "observation", from: [{ resource: "resourceId" }] },
  },
};

const ofMemory = { derived: { kind: "memory", from: ["above"] } } as const satisfies CustomRow;

/** The custom types that this library writes. A type without a row does not compile: see {@link ownEntry}. */
export const customOwnership = {
  "sessile.turn": {},
  "sessile.tool_started": noText,
  "sessile.turn_taken": noText,
  // The message that it becomes has its text.
  "sessile.steering": {
    keeps: ({ messageId }) => ({ messageId }),
    isOfPerson: () => true,
    holds: ({ messageId }) => [String(messageId)],
    erasedWith: [{ id: "data.messageId" }],
  },
  "sessile.subagent": {
    keeps: (data) => data,
    startedSession: ({ toolCallId, sessionId }) => ({ toolCallId, sessionId }),
  },
  "sessile.lost": noText,
  "sessile.removed": noText,
  "sessile.memory": ofMemory,
  "sessile.memory.prompt": ofMemory,
  // Imports: the original files, whose blobs have every text of it, and lines of them; entries that repeat others.
  "sessile.foreign": ofImport,
  "sessile.foreign_line": ofImport,
  "sessile.queued": ofImport,
  "sessile.user_event": ofImport,
  "sessile.instructions": {},
  "sessile.api_error": {},
  "sessile.command": {},
  "sessile.unreadable": {},
  "opencode.error": {},
  // A value of a framework that means no message.
  "sessile.value": {
    keeps: ({ of, id, value }) => ({
      ...defined({ of, id: textOrNone(id) }),
      value: bareParcel(value, of === "ai-sdk" ? bareUiMessage : bareValue),
    }),
    isOfPerson: ({ value }) => {
      const { role } = asRecord(parcelValue(value));
      return role === "user";
    },
    // A message after an edit of an earlier one is another entry.
    erasedWith: [{ same: "data.digest" }],
    derived: { kind: "custom", from: [{ ids: transcriptIds }] },
    mayQuote: true,
  },
  "sessile.ai-sdk.key": noText,
  "sessile.ai-sdk.ui": {
    keeps: ({ messageId, entryId, noStep }) => defined({ messageId, entryId, noStep }),
    erasedWith: [{ reply: "data.entryId" }],
  },
  "sessile.openai-agents.key": noText,
  "sessile.openai-agents.clear": noText,
  "sessile.openai-agents.operation": noText,
  "sessile.claude-agent.key": noText,
  "sessile.claude-agent.summary": { erasedWith: ["sinceSame"] },
  "sessile.langgraph.key": noText,
  "sessile.langgraph.value": { keeps: bareChannelValue, mayQuote: true },
  // All that they have are ids of values.
  "sessile.langgraph.checkpoint": {
    keeps: (data) => data,
    holds: ({ metadata, values }) => stringsIn([metadata, values]),
  },
  "sessile.langgraph.write": { keeps: (data) => data, holds: ({ value }) => stringsIn(value) },
} as const satisfies Readonly<Record<string, CustomRow>>;

/** A custom type of this library. */
export type OwnCustomType = keyof typeof customOwnership;

/** Whether entries of a type are what an adapter of a framework keeps beside messages. */
export function isFrameworkState(customType: string): boolean {
  return /^sessile\.(?:ai-sdk|openai-agents|claude-agent|langgraph)\./.test(customType);
}

/** The row of an entry's type; that of all custom entries for another program's type. */
export function readOwnership(entry: SessionEntry): Ownership & Partial<CustomRow> {
  return (entry.type === "custom" && customTypeCustomRow(entry.customType)) || entryOwnership[entry.type];
}

function customTypeCustomRow(customType: string): CustomRow | undefined {
  return Object.hasOwn(customOwnership, customType)
    ? customOwnership[customType as OwnCustomType]
    : undefined;
}

/** The fields of an entry's type as a tombstone has them. */
export function bareFields(entry: SessionEntry): Data {
  const rules = entryOwnership[entry.type].members as Readonly<Record<string, MemberRule<unknown>>>;
  const bare: Record<string, unknown> = {};
  for (const [name, rule] of Object.entries(rules)) {
    const value = (entry as unknown as Data)[name];
    if (value === undefined || rule === "dropped") continue;
    if (rule === "kept") bare[name] = value;
    else bare[name] = rule === "text" ? erasedText : rule(value);
  }
  const keeps = entry.type === "custom" ? customTypeCustomRow(entry.customType)?.keeps : undefined;
  const data = keeps && entry.type === "custom" && isRecord(entry.data) ? keeps(entry.data) : undefined;
  return defined({ ...bare, data });
}

/** The member at a path such as `data.entryId`. */
export function memberAt(entry: SessionEntry, path: string): unknown {
  let value: unknown = entry;
  for (const key of path.split("."))
    value = isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}

/** Every string in a value. */
export function stringsIn(value: unknown): readonly string[] {
  const found: string[] = [];
  for (const open = [value]; open.length > 0; ) {
    const next = open.pop();
    if (typeof next === "string") found.push(next);
    else if (typeof next === "object" && next !== null)
      for (const member of Object.values(next)) open.push(member);
  }
  return found;
}

/** Entries of a transcript's lines that a line names, but for those before it. */
function transcriptIds(entry: SessionEntry): readonly string[] {
  const line = asRecord(parcelValue(memberAt(entry, "data.value")));
  const { uuid: _uuid, parentUuid: _parent, logicalParentUuid: _logical, ...rest } = line;
  return stringsIn(rest).flatMap((text) => (/^[\w-]{8,64}$/.test(text) ? [`u/${text}`] : []));
}

/** A list has ids of its items. Bytes have any form: JSON, which each serializer reads, takes their place. */
function bareChannelValue(data: Data): unknown {
  if (Array.isArray(data.list)) return data;
  if (data.bytes !== undefined) return { type: "json", value: { v: erasedText } };
  return { type: data.type, value: bareParcel(data.value) };
}

/** The message without its content. Calls and results keep their ids, so that they stay pairs. */
function erasedMessage(message: Message): Message {
  const { role, timestamp } = message;
  switch (role) {
    case "user":
      return { role, content: erasedText, timestamp };
    case "system":
      return { role, content: erasedText, timestamp };
    case "assistant": {
      const { api, provider, model, usage, stopReason, refused, summary } = message;
      const content = erasedContent(message.content) as AssistantMessage["content"];
      const counts = usage && lineCounts(usage);
      const ending = { stopReason, refused, summary, timestamp };
      return defined({ role, content, api, provider, model, usage: counts, ...ending });
    }
    case "toolResult": {
      const { toolCallId, toolName, isError, usage } = message;
      const content = [{ type: "text", text: erasedText }] as const;
      const counts = usage && lineCounts(usage);
      return defined({ role, toolCallId, toolName, content, usage: counts, isError, timestamp });
    }
    case "bashExecution": {
      const { exitCode, cancelled, truncated, excludeFromContext } = message;
      const bare = { role, command: erasedText, output: "", exitCode, cancelled, truncated };
      return defined({ ...bare, excludeFromContext, timestamp });
    }
    case "custom": {
      const { customType, display } = message;
      return { role, customType, content: erasedText, display, timestamp };
    }
  }
}

/** A text for all blocks but calls, which keep their places. */
function erasedContent(content: string | readonly unknown[]): string | readonly unknown[] {
  if (typeof content === "string") return erasedText;
  const calls = content.filter(isCall).map(bareCall);
  return calls.length > 0 && calls.length === content.length
    ? calls
    : [{ type: "text", text: erasedText }, ...calls];
}

/** Whether a block is a tool call. */
export function isCall(block: unknown): block is ToolCall {
  return isRecord(block) && block.type === "toolCall" && typeof block.id === "string";
}

function bareCall({ id, name, namespace }: ToolCall): ToolCall {
  return defined({ type: "toolCall", id, name, arguments: {}, namespace });
}

function lineCounts(usage: Usage): Usage {
  const { input, output, cacheRead, cacheWrite, cacheWrite1h, totalTokens, cost } = usage;
  const numbers = { input, output, cacheRead, cacheWrite, cacheWrite1h, totalTokens };
  if (cost === undefined) return defined(numbers);
  const { input: sent, output: made, cacheRead: read, cacheWrite: written, total } = cost;
  const sums = { input: sent, output: made, cacheRead: read, cacheWrite: written, total };
  return defined({ ...numbers, cost: sums });
}

/** The object without absent members. */
export function defined<T extends object>(value: { readonly [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T;
}

// Values of frameworks without their texts: ids, roles and types stay, so that a thread loads, and each call has
// its result.

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

function bareRecord(value: Data): Data {
  const bare: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    const kept = bareMember(value, key, member);
    if (kept !== undefined) bare[key] = kept;
  }
  return bare;
}

function bareMember(owner: Data, key: string, member: unknown): unknown {
  if (key === "name") return ofCalls.some((name) => name in owner) ? textOrNone(member) : undefined;
  if (inputs.has(key)) return typeof member === "string" ? "{}" : {};
  if (texts.has(key) && typeof member === "string") return erasedText;
  if (lists.has(key) && Array.isArray(member)) return bareBlocks(member, texts.has(key));
  if (containers.has(key) && isRecord(member)) return bareRecord(member);
  if (key === "usage" && isRecord(member)) return readNumbers(member);
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

function readNumbers(value: Data): Data {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => typeof member === "number"));
}

/** A message of the AI SDK's user interface without its parts and metadata. */
function bareUiMessage(value: unknown): unknown {
  const { id, role } = asRecord(value);
  return { id, role, parts: [{ type: "text", text: erasedText }] };
}

// Details of messages that a framework saved; see `frameworks/shared/message-values.ts`.

/** What is stored beside the first message of a framework's value. */
interface ValueDetails extends Data {
  /** The adapter. */
  readonly of: string;
  /** The entries of the value, if there are several: the others have its id with a number. */
  readonly count?: number;
}

/** The details of a framework's value; undefined for other details, and those of other entries. */
export function valueDetails(entry: SessionEntry): ValueDetails | undefined {
  const details = entry.type === "message" ? entry.details : undefined;
  return isRecord(details) && typeof details.of === "string" ? (details as ValueDetails) : undefined;
}

/** The ids of the entries of a framework's value that follow its first one. */
export function restOfValue(entry: SessionEntry): readonly string[] {
  const { count = 1 } = valueDetails(entry) ?? {};
  if (!Number.isSafeInteger(count)) return [];
  return Array.from({ length: Math.min(count, maxValueEntries) - 1 }, (_, at) => `${entry.id}.${at + 1}`);
}

const maxValueEntries = 100_000;

/** Details without text: of a framework's value what a reader needs to load it, of others nothing. */
function bareDetails(details: unknown): unknown {
  if (!isRecord(details) || typeof details.of !== "string") return undefined;
  const { of, count, id, difference } = details;
  const bare = bareDifference(parcelValue(difference), "");
  return defined({ of, count, id: textOrNone(id), difference: bare && { v: bare } });
}

/** The ids and roles that a difference sets, in the form of a difference. */
function bareDifference(patch: unknown, name: string): Data | undefined {
  const members = Array.isArray(patch) && patch.length === 2 ? patch[0] : patch;
  if (!isRecord(members) || (name !== "" && !containers.has(name))) return undefined;
  const owner = Object.fromEntries(
    Object.entries(members).flatMap(([key, node]) =>
      Array.isArray(node) && node.length === 1 ? [[key, node[0]]] : [],
    ),
  );
  const bare: Record<string, unknown> = {};
  for (const [key, node] of Object.entries(members)) {
    const isName = identifying.has(key) || ("uuid" in owner && ofLines.has(key));
    const isDropped = Array.isArray(node) && node.length === 0;
    const kept = isDropped
      ? node
      : isName && Object.hasOwn(owner, key) && !isContainer(owner[key])
        ? [owner[key]]
        : bareDifference(node, key);
    if (kept !== undefined) bare[key] = kept;
  }
  return Object.keys(bare).length === 0 ? undefined : bare;
}

function isContainer(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

function asRecord(value: unknown): Data {
  return isRecord(value) ? value : {};
}

/** A parcel of an adapter with a bare value; see `frameworks/shared/parcels.ts`. */
function bareParcel(parcel: unknown, bare: (value: unknown) => unknown = bareValue): Data {
  return { v: bare(parcelValue(parcel)) };
}

/** The value of a parcel, with null for its blobs; undefined if it is no parcel. */
function parcelValue(parcel: unknown): unknown {
  if (!isRecord(parcel)) return undefined;
  if (typeof parcel.json !== "string") return parcel.v;
  try {
    return JSON.parse(parcel.json);
  } catch {
    return undefined;
  }
}
