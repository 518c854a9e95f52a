import { isResource } from "../content/index.js";
import {
  anything,
  type Check,
  either,
  fields,
  finite,
  flag,
  isRecord,
  joinPath,
  listOf,
  nonEmptyText,
  nullable,
  oneOf,
  optional,
  type Problem,
  recordOf,
  text,
} from "../internal/shape.js";
import type { EntryType } from "./entries.js";

const usage = fields({
  input: finite,
  output: finite,
  cacheRead: finite,
  cacheWrite: finite,
  cacheWrite1h: optional(finite),
  totalTokens: optional(finite),
  cost: optional(
    fields({ input: finite, output: finite, cacheRead: finite, cacheWrite: finite, total: finite }),
  ),
});

const resource: Check = (value) =>
  isResource(value) ? undefined : { path: "", expected: "a resource descriptor" };

const textBlock = fields({
  type: oneOf("text"),
  text,
  resource: optional(resource),
  textSignature: optional(text),
});

const blocks: Readonly<Record<string, Check>> = {
  text: textBlock,
  image: fields({ type: oneOf("image"), data: text, mimeType: text }),
  thinking: fields({ thinking: text, thinkingSignature: optional(text), redacted: optional(flag) }),
  toolCall: fields({
    id: text,
    name: text,
    arguments: anything,
    namespace: optional(text),
    thoughtSignature: optional(text),
  }),
  opaque: fields({ data: anything }),
};

const blockOf =
  (...types: readonly string[]): Check =>
  (value) => {
    if (!isRecord(value)) return { path: "", expected: "a block" };
    if (!types.includes(value.type as string)) {
      return { path: "type", expected: `one of ${types.map((type) => JSON.stringify(type)).join(", ")}` };
    }
    return blocks[value.type as string]?.(value);
  };

const shown = either(text, listOf(blockOf("text", "image")));

const messages: Readonly<Record<string, Check>> = {
  user: fields({
    content: shown,
    name: optional(text),
    model: optional(fields({ provider: text, modelId: text })),
    variant: optional(text),
    path: optional(fields({ cwd: text, root: optional(text) })),
    timestamp: finite,
  }),
  assistant: fields({
    content: listOf(blockOf("text", "thinking", "toolCall", "opaque")),
    provider: text,
    model: text,
    responseModel: optional(text),
    api: optional(text),
    usage: optional(usage),
    stopReason: optional(text),
    errorMessage: optional(text),
    summary: optional(flag),
    mode: optional(text),
    account: optional(text),
    timestamp: finite,
  }),
  toolResult: fields({
    toolCallId: text,
    toolName: text,
    content: listOf(blockOf("text", "image")),
    usage: optional(usage),
    isError: flag,
    timestamp: finite,
  }),
  bashExecution: fields({
    command: text,
    output: text,
    exitCode: optional(nullable(finite)),
    cancelled: flag,
    truncated: flag,
    fullOutputPath: optional(text),
    excludeFromContext: optional(flag),
    timestamp: finite,
  }),
  custom: fields({ customType: text, content: shown, display: flag, timestamp: finite }),
  system: fields({
    content: either(text, listOf(textBlock)),
    sections: optional(recordOf(nullable(text))),
    toolsAdded: optional(listOf(anything)),
    toolsRemoved: optional(listOf(anything)),
    timestamp: finite,
  }),
};

const message: Check = (value) => {
  if (!isRecord(value)) return { path: "", expected: "a message" };
  const { role } = value;
  const check = typeof role === "string" && Object.hasOwn(messages, role) ? messages[role] : undefined;
  if (check === undefined) return { path: "role", expected: `one of ${Object.keys(messages).join(", ")}` };
  return check(value);
};

const systemMessage: Check = (value) =>
  isRecord(value) && value.role === "system"
    ? messages.system?.(value)
    : { path: "role", expected: '"system"' };

const rule = fields({ permission: text, pattern: text, action: text });
const diff = fields({ file: text, additions: finite, deletions: finite });

const infoFields = {
  name: optional(text),
  title: optional(text),
  slug: optional(text),
  archivedAt: optional(text),
  share: optional(fields({ url: text })),
  permission: optional(listOf(rule)),
  stats: optional(
    fields({ additions: finite, deletions: finite, files: finite, diffs: optional(listOf(diff)) }),
  ),
};

const entries: Readonly<Record<EntryType, Check>> = {
  message: fields({ message }),
  thinking_level_change: fields({ thinkingLevel: text }),
  model_change: fields({ provider: text, modelId: text }),
  compaction: fields({
    summary: text,
    firstKeptEntryId: text,
    tokensBefore: finite,
    fromHook: optional(flag),
    usage: optional(usage),
    systemMessage: optional(systemMessage),
    retain: optional(listOf(text)),
    strategy: optional(text),
    model: optional(fields({ provider: text, modelId: text })),
  }),
  branch_summary: fields({ fromId: text, summary: text, fromHook: optional(flag), usage: optional(usage) }),
  custom: fields({ customType: text }),
  custom_message: fields({ customType: text, content: shown, display: flag }),
  label: fields({ targetId: text, label: optional(text) }),
  session_info: fields(infoFields),
  usage: fields({ kind: text, provider: text, model: text, usage, note: optional(text) }),
  context_edit: fields({
    targetId: text,
    replacement: nullable(fields({ content: either(text, listOf(anything)) })),
  }),
  message_update: fields({ targetId: text, message }),
  part_update: fields({
    targetId: text,
    index: finite,
    part: blockOf("text", "image", "thinking", "toolCall", "opaque"),
  }),
  leaf: fields({ targetId: nullable(text), name: optional(text) }),
  context_pin: fields({ targetId: text, pinned: flag }),
  revert: fields({
    targetId: text,
    partId: optional(text),
    snapshot: optional(text),
    diff: optional(text),
    undone: optional(flag),
  }),
  resource_view: fields({ resourceId: text, reason: optional(text) }),
  resource_observation: fields({ resourceId: text, text }),
};

const base = fields({ id: nonEmptyText, parentId: nullable(text), timestamp: text });

const header = fields({
  type: oneOf("session"),
  id: nonEmptyText,
  version: optional(finite),
  timestamp: optional(text),
  cwd: optional(text),
  parentSession: optional(text),
  sessile: optional(finite),
});

/** What a problem expects in the place of a `__proto__` key. */
export const unsafeKeyExpected = "no such key";

/** Whether this version knows the type. */
export function isEntryType(type: string): type is EntryType {
  return Object.hasOwn(entries, type);
}

/** The first problem of an entry's own fields; undefined for a type that is not known. */
export function fieldsProblem(entry: Readonly<Record<string, unknown>>): Problem | undefined {
  const type = entry.type;
  return typeof type === "string" && isEntryType(type) ? entries[type](entry) : undefined;
}

/** The first problem of a whole entry of a known type. */
export function entryProblem(value: unknown): Problem | undefined {
  if (!isRecord(value)) return { path: "", expected: "an object" };
  if (typeof value.type !== "string" || !isEntryType(value.type))
    return { path: "type", expected: "an entry type" };
  return base(value) ?? entries[value.type](value);
}

/** The first problem of a header. */
export function headerProblem(value: unknown): Problem | undefined {
  return header(value);
}

/** The first problem of a message, its path beginning with `message`. */
export function messageProblem(value: unknown): Problem | undefined {
  const problem = message(value);
  return problem && { path: joinPath("message", problem.path), expected: problem.expected };
}

/**
 * The first place in `value` that JSON cannot hold, or would silently change: numbers that are not finite, functions,
 * symbols, bigints, objects of a class, nesting past `maxDepth`. Members that are undefined are left out, as JSON does.
 */
export function jsonProblem(value: unknown, maxDepth: number): Problem | undefined {
  return jsonProblemAt(value, maxDepth);
}

function jsonProblemAt(value: unknown, depthLeft: number): Problem | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      return Number.isFinite(value) ? undefined : { path: "", expected: "a finite number" };
    case "object":
      break;
    default:
      return { path: "", expected: "a JSON value" };
  }
  if (value === null) return undefined;
  if (depthLeft === 0) return { path: "", expected: "less nesting" };
  if ("toJSON" in value) return { path: "", expected: "no toJSON" };
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const problem = jsonProblemAt(value[i], depthLeft - 1);
      if (problem !== undefined)
        return { path: joinPath(`[${i}]`, problem.path), expected: problem.expected };
    }
    return undefined;
  }
  // A plain object can come from another realm, whose Object.prototype has no prototype either.
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype && Object.getPrototypeOf(prototype) !== null)
    return { path: "", expected: "a plain object" };
  for (const key in value) {
    const member = (value as Record<string, unknown>)[key];
    // Most members are text or numbers: those need no call.
    if (key !== "__proto__") {
      if (typeof member === "string" || member === undefined) continue;
      if (typeof member === "number" && Number.isFinite(member)) continue;
    }
    const problem =
      key === "__proto__" ? { path: "", expected: unsafeKeyExpected } : jsonProblemAt(member, depthLeft - 1);
    // Asked last, since it takes longer than all the rest: what somebody added to Object.prototype is not written.
    if (problem !== undefined && Object.hasOwn(value, key))
      return { path: joinPath(key, problem.path), expected: problem.expected };
  }
  return undefined;
}
