/**
 * Tombstones: entries whose bodies were erased. A tombstone keeps type, id, parent and time, and the fields
 * that the tree and tool pairs need. Texts become a placeholder, so that every context stays valid.
 */

import type { AssistantMessage, Message, ToolCall, Usage } from "../../content/index.js";
import { encodeUtf8 } from "../../internal/bytes.js";
import { isRecord } from "../../internal/shape.js";
import {
  type EntryMap,
  type Erasure,
  formatVersion,
  type SessionEntry,
  type UnknownEntry,
} from "../api/entries.js";
import { decodeLine } from "./decode.js";
import { entryIdOf, parseEntryPrefix, printTimestamp } from "./entry-prefix.js";
import { appendChecksum, parseLine } from "./line-json.js";
import { defaultLimits } from "./line-splitter.js";

/** The text in place of an erased one. */
const erasedText = "[erased]";

const { maxDepth } = defaultLimits;

/** The erasure that a value of JSON records; undefined if it is no tombstone. */
export function erasureOf(entry: unknown): Erasure | undefined {
  if (!isRecord(entry) || !isRecord(entry.erased)) return undefined;
  const { at, reason } = entry.erased;
  return typeof at === "string" && typeof reason === "string" ? { at, reason } : undefined;
}

/** The parts of a body that are erased: all of it, or the names of a session alone. */
export type ErasedPart = "body" | "names";

/** The erasure that a stored line records; undefined if it is no tombstone, or has more than one. */
export function erasureOfLine(
  line: Uint8Array,
): { readonly erasure: Erasure; readonly part: ErasedPart } | undefined {
  const parsed = parseLine(line, maxDepth, { unchecked: true });
  const erasure = parsed.ok ? erasureOf(parsed.value) : undefined;
  if (!parsed.ok || erasure === undefined) return undefined;
  const text = JSON.stringify(parsed.value);
  const parts = ["body", "names"] as const;
  const part = parts.find((each) => printedTombstone(line, erasure, each) === text);
  return part && { erasure, part };
}

/**
 * The tombstone of a stored line, without a line feed; undefined if there is nothing left to erase. A line
 * that is no entry, such as a torn one, becomes an empty line.
 */
export function tombstoneLine(line: Uint8Array, erased: Erasure, part: ErasedPart): Uint8Array | undefined {
  if (line.length === 0) return undefined;
  const text = printedTombstone(line, erased, part);
  if (text === undefined) return new Uint8Array();
  const bytes = encodeUtf8(appendChecksum(text));
  return isEqual(bytes, line) ? undefined : bytes;
}

function printedTombstone(line: Uint8Array, erased: Erasure, part: ErasedPart): string | undefined {
  const decoded = decodeLine(line, { version: formatVersion, ordinal: 0, maxDepth }, { unchecked: true });
  if (decoded.kind === "entry" && decoded.entry !== undefined) {
    const { entry } = decoded;
    if (entry.type === "unknown") return unknownTombstone(entry, decoded.head.role, erased);
    const isComplete = isBare(entry, part);
    return JSON.stringify(tombstoneOf(entry, (isComplete && erasureOf(entry)) || erased, part));
  }
  // The entry stays in the tree without its body, as a damaged line does.
  const head = parseEntryPrefix(line);
  if (head === undefined) return undefined;
  const { type, role } = head;
  const id = entryIdOf(head.id);
  const parentId = head.parentId === null ? null : entryIdOf(head.parentId);
  const message = role === undefined ? {} : { message: { role } };
  return JSON.stringify({ type, id, parentId, timestamp: printTimestamp(head.time), ...message, erased });
}

/** Whether an entry has no more than its tombstone: an erasure that is repeated keeps its first record. */
function isBare(entry: SessionEntry, part: ErasedPart): boolean {
  const known = erasureOf(entry);
  if (known === undefined) return false;
  return JSON.stringify(tombstoneOf(entry, known, part)) === JSON.stringify(entry);
}

function unknownTombstone(
  { entryType: type, id, parentId, timestamp, raw }: UnknownEntry,
  role: string | undefined,
  erased: Erasure,
): string {
  const message = role === undefined ? {} : { message: { role } };
  const place = { type, id, parentId, timestamp, ...message };
  const parsed = parseLine(encodeUtf8(raw), maxDepth, { unchecked: true });
  const known = parsed.ok ? erasureOf(parsed.value) : undefined;
  return JSON.stringify({ ...place, erased: known ?? erased });
}

/** The tombstone of an entry. */
function tombstoneOf(entry: SessionEntry, erased: Erasure, part: ErasedPart = "body"): SessionEntry {
  const { type, id, parentId, timestamp } = entry;
  const place = { type, id, parentId, timestamp };
  if (part === "names" && entry.type === "session_info") {
    const { archivedAt, share, permission, stats } = entry;
    return defined({ ...place, archivedAt, share, permission, stats, erased });
  }
  const bodyOf = bodies[type] as (entry: SessionEntry) => object;
  return defined({ ...place, ...bodyOf(entry), erased });
}

function defined(entry: object): SessionEntry {
  const members = Object.entries(entry).filter(([, value]) => value !== undefined);
  return Object.fromEntries(members) as unknown as SessionEntry;
}

type Bodies = { readonly [T in keyof EntryMap]: (entry: EntryMap[T]) => EntryMap[T] };

/** The fields of each type that a tombstone keeps. */
const bodies: Bodies = {
  message: ({ message }) => ({ message: erasedMessage(message) }),
  thinking_level_change: ({ thinkingLevel }) => ({ thinkingLevel }),
  model_change: ({ provider, modelId }) => ({ provider, modelId }),
  compaction: ({ firstKeptEntryId, tokensBefore, fromHook, usage, retain, strategy, model }) =>
    compact({
      summary: erasedText,
      firstKeptEntryId,
      tokensBefore,
      fromHook,
      usage: usage && countsOf(usage),
      retain,
      strategy,
      model: model && { provider: model.provider, modelId: model.modelId },
    }),
  branch_summary: ({ fromId, fromHook, usage }) =>
    compact({ fromId, summary: erasedText, fromHook, usage: usage && countsOf(usage) }),
  custom: ({ customType }) => ({ customType }),
  custom_message: ({ customType, display }) => ({ customType, content: erasedText, display }),
  label: ({ targetId }) => ({ targetId }),
  session_info: ({ archivedAt }) => compact({ archivedAt }),
  usage: ({ kind, provider, model, usage }) => ({ kind, provider, model, usage: countsOf(usage) }),
  context_edit: ({ targetId, replacement }) => ({
    targetId,
    replacement: replacement && { content: erasedContent(replacement.content) },
  }),
  message_update: ({ targetId, message }) => ({ targetId, message: erasedMessage(message) }),
  part_update: ({ targetId, index, part }) => ({
    targetId,
    index,
    part: part.type === "toolCall" ? bareCall(part) : { type: "text", text: erasedText },
  }),
  leaf: ({ targetId }) => ({ targetId }),
  context_pin: ({ targetId, pinned }) => ({ targetId, pinned }),
  revert: ({ targetId, partId, undone }) => compact({ targetId, partId, undone }),
  resource_view: ({ resourceId }) => ({ resourceId }),
  resource_observation: ({ resourceId }) => ({ resourceId, text: erasedText }),
};

/** The message without its content. Calls and results keep their ids, so that they stay pairs. */
function erasedMessage(message: Message): Message {
  const { role, timestamp } = message;
  switch (role) {
    case "user":
      return { role, content: erasedText, timestamp };
    case "system":
      return { role, content: erasedText, timestamp };
    case "assistant": {
      const { api, provider, model, usage, stopReason, summary } = message;
      const content = erasedContent(message.content) as AssistantMessage["content"];
      const counts = usage && countsOf(usage);
      return compact({ role, content, api, provider, model, usage: counts, stopReason, summary, timestamp });
    }
    case "toolResult": {
      const { toolCallId, toolName, isError, usage } = message;
      const content = [{ type: "text", text: erasedText }] as const;
      const counts = usage && countsOf(usage);
      return compact({ role, toolCallId, toolName, content, usage: counts, isError, timestamp });
    }
    case "bashExecution": {
      const { exitCode, cancelled, truncated, excludeFromContext } = message;
      const command = erasedText;
      return compact({
        role,
        command,
        output: "",
        exitCode,
        cancelled,
        truncated,
        excludeFromContext,
        timestamp,
      });
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

function isCall(block: unknown): block is ToolCall {
  return isRecord(block) && block.type === "toolCall" && typeof block.id === "string";
}

function bareCall({ id, name, namespace }: ToolCall): ToolCall {
  return compact({ type: "toolCall", id, name, arguments: {}, namespace });
}

function countsOf(usage: Usage): Usage {
  const { input, output, cacheRead, cacheWrite, cacheWrite1h, totalTokens, cost } = usage;
  const numbers = { input, output, cacheRead, cacheWrite, cacheWrite1h, totalTokens };
  if (cost === undefined) return compact(numbers);
  const { input: sent, output: made, cacheRead: read, cacheWrite: written, total } = cost;
  return compact({
    ...numbers,
    cost: { input: sent, output: made, cacheRead: read, cacheWrite: written, total },
  });
}

/** The object without absent members. */
function compact<T extends object>(value: { readonly [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T;
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}
