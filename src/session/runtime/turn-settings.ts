/** The state of a conversation at a leaf: settings in force, tool calls, the last turn. */

import {
  type AssistantMessage,
  type Context,
  type ContextItem,
  type ToolCall,
  toolPairs,
} from "../../content/index.js";
import { isBroken, isCutCall } from "../../content/internal.js";
import { isRecord } from "../../core/shape.js";
import { type EntryMap, ownEntry, type SessionEntry } from "../../log/internal.js";
import type { ToolState } from "../api/events.js";
import type { TurnOwner } from "../api/turn.js";
import {
  contextAt,
  type EntryRequests,
  keptRange,
  latestCompaction,
  NeedsWholeLog,
} from "../context/build-context.js";
import { type EntryTable, noRow } from "../tree/session-tree.js";

/** The fields of {@link turnSettings}. */
export interface TurnSettings {
  /** The names of the enabled tools. */
  readonly tools?: readonly string[];
  /** Policies by name, such as `{ approval: "on-request", sandbox: "workspace-write" }`. */
  readonly policies?: Readonly<Record<string, unknown>>;
}

/**
 * The entry type for tools and policies of the next turns. The latest entry on the path wins, field by field.
 * A custom entry, so that other readers of the file keep and ignore it.
 *
 * @example
 * ```ts
 * await session.append([turnSettings.draft({ tools: ["read", "bash"], policies: { approval: "never" } })]);
 * ```
 */
export const turnSettings = ownEntry<TurnSettings>("sessile.turn", (data) => {
  if (!isRecord(data)) throw new TypeError("turn settings: expected an object");
  const { tools, policies } = data;
  const names = Array.isArray(tools)
    ? tools.filter((tool): tool is string => typeof tool === "string")
    : undefined;
  return {
    ...(names === undefined ? {} : { tools: names }),
    ...(isRecord(policies) ? { policies } : {}),
  };
});

/**
 * The entry type for the start of a tool call. After a crash it distinguishes a call that may have had
 * effects from one that did not start.
 */
export const toolStarted = ownEntry<{ readonly toolCallId: string }>("sessile.tool_started", (data) => {
  if (!isRecord(data) || typeof data.toolCallId !== "string")
    throw new TypeError("tool started: expected a toolCallId");
  return { toolCallId: data.toolCallId };
});

/** The settings in force for the next turn, from the path to a leaf. */
export interface TurnContext {
  readonly model: Context["model"];
  /** @default "off" */
  readonly thinkingLevel: string;
  readonly tools: readonly string[];
  readonly policies: Readonly<Record<string, unknown>>;
  /** The latest revert that was not undone. */
  readonly revert?: EntryMap["revert"] & { readonly entryId: string };
}

/** A tool call in context, with its state. */
export interface ToolCallState {
  readonly call: ToolCall;
  /** The assistant message with the call. */
  readonly entryId: string;
  /**
   * - `completed`, `error`: it has a result. A call without a result in an aborted or failed reply, or one that
   *   a limit cut, is an `error` too: it may be incomplete, and must not be run.
   * - `running`: it was started and has no result.
   * - `pending`: it was not started, as far as the session knows.
   */
  readonly state: ToolState;
  readonly resultEntryId?: string;
}

/**
 * The state of the last turn. Custom messages, shell commands and summaries do not change it.
 * - `idle`: the session has no turn, or the last one ended with a reply. The user is next.
 * - `awaitingReply`: a user message, or the results of all tool calls, have no reply. Call the model.
 * - `awaitingResults`: the last reply has tool calls without results. Run the pending ones; a running one was
 *   started and may have had effects.
 * - `paused`: the provider continues the last reply. Call the model with the same context.
 * - `cut`: a limit cut the last reply. Ask for the rest, or again with a higher limit. A call that was cut is not
 *   to be run.
 * - `aborted`: the last reply was aborted or failed. Its calls are not to be run.
 * - `refused`: the provider declined to answer. The turn is not sent again to the same model; the user is next,
 *   or another model.
 * - `interruptedReply`: the process that received the reply has ended. `message` has what arrived; `recoverReply`,
 *   or the next `reply`, decides what becomes of it.
 * - `busyElsewhere`: another process, or another handle, has claimed the turn. Its running calls are at work.
 *
 * The last two are only told of the handle's own leaf.
 */
export type TurnState =
  | { readonly state: "idle" }
  | {
      readonly state: "awaitingReply";
      /** The user message, or the last result. */
      readonly entryId: string;
    }
  | {
      readonly state: "awaitingResults";
      /** The assistant message with the calls. */
      readonly entryId: string;
      /** The calls without results, in order. */
      readonly calls: readonly ToolCallState[];
    }
  | {
      readonly state: "paused" | "cut" | "aborted" | "refused";
      /** The assistant message. */
      readonly entryId: string;
    }
  | {
      readonly state: "interruptedReply";
      /** The entry that the reply follows. */
      readonly entryId: string | null;
      readonly replyId: string;
      /** With `stopReason: "aborted"`. */
      readonly message: AssistantMessage;
    }
  | ({
      readonly state: "busyElsewhere";
      /** The reply that streams, for {@link Session.followReply}. */
      readonly replyId?: string;
    } & TurnOwner);

/** The turn context at a row. */
export function* turnSteps(rows: EntryTable, leaf: number): EntryRequests<TurnContext> {
  const path = leaf === noRow ? new Int32Array() : rows.path(leaf);
  if (path[0] !== undefined && rows.isCut(path[0])) throw new NeedsWholeLog();
  const settingKinds = ["custom", "revert", "model_change", "thinking_level_change"];
  const [lastAssistant] = rowsOfKinds(rows, path, ["message/assistant"]).slice(-1);
  const wanted = rowsOfKinds(rows, path, settingKinds, lastAssistant);
  const readBody = yield wanted;
  let settings: Required<TurnSettings> = { tools: [], policies: {} };
  let model: Context["model"] = null;
  let thinkingLevel = "off";
  let revert: TurnContext["revert"];
  for (const row of wanted) {
    const entry = readBody(row);
    if (entry === undefined) continue;
    if (entry.type === "model_change") model = { provider: entry.provider, modelId: entry.modelId };
    else if (entry.type === "thinking_level_change") thinkingLevel = entry.thinkingLevel;
    else if (entry.type === "message" && entry.message.role === "assistant") {
      model = { provider: entry.message.provider, modelId: entry.message.model };
    } else if (entry.type === "revert") revert = entry.undone === true ? undefined : entryRevert(entry);
    else settings = { ...settings, ...turnSettings.read(entry) };
  }
  return { model, thinkingLevel, ...settings, ...(revert === undefined ? {} : { revert }) };
}

/** The state of the last turn at a row. */
export function* turnStateSteps(rows: EntryTable, leaf: number): EntryRequests<TurnState> {
  const at = beforeCompactions(rows, leaf);
  const { items } = yield* contextAt(rows, at);
  const last = items.findLastIndex(({ message: { role } }) => role === "user" || role === "assistant");
  if (last < 0) return { state: "idle" };
  const { entryId, message } = items[last] as ContextItem;
  if (message.role !== "assistant") return { state: "awaitingReply", entryId };
  if (message.refused === true) return { state: "refused", entryId };
  if (isBroken(message)) return { state: "aborted", entryId };
  const calls = (yield* callStates(rows, at, items)).filter((call) => call.entryId === entryId);
  // A request has a call id of a message once: a second call with the id is not to be run.
  const seen = new Set<string>();
  const open = calls.filter(({ call, resultEntryId }) => {
    const isFirst = !seen.has(call.id);
    seen.add(call.id);
    return isFirst && resultEntryId === undefined && !isCutCall(message, call);
  });
  if (open.length > 0) return { state: "awaitingResults", entryId, calls: open };
  const result = items.findLast(({ message: { role } }) => role === "toolResult");
  const isAnswered = calls.some(({ resultEntryId }) => resultEntryId !== undefined);
  if (isAnswered && result !== undefined) return { state: "awaitingReply", entryId: result.entryId };
  if (message.stopReason === "pause") return { state: "paused", entryId };
  return message.stopReason === "length" ? { state: "cut", entryId } : { state: "idle" };
}

/** The row before all compactions after the last message: they may drop that message from the context. */
function beforeCompactions(rows: EntryTable, leaf: number): number {
  const compaction = rows.kindCode("compaction");
  const roles = ["user", "assistant", "toolResult"] as const;
  const messages = new Set(roles.map((role) => rows.kindCode(`message/${role}`)));
  let before = leaf;
  for (let row = leaf; row !== noRow && !messages.has(rows.kindAt(row)); row = rows.parent(row)) {
    if (rows.isCut(row)) throw new NeedsWholeLog();
    if (rows.kindAt(row) === compaction) before = rows.parent(row);
  }
  return before;
}

/** Every tool call in context at a row, in order, with its state. */
export function* toolStateSteps(rows: EntryTable, leaf: number): EntryRequests<readonly ToolCallState[]> {
  const { items } = yield* contextAt(rows, leaf);
  return yield* callStates(rows, leaf, items);
}

function* callStates(
  rows: EntryTable,
  leaf: number,
  items: readonly ContextItem[],
): EntryRequests<readonly ToolCallState[]> {
  const path = leaf === noRow ? new Int32Array() : rows.path(leaf);
  const { compaction, compactionAt } = yield* latestCompaction(rows, path);
  const { earliest } = keptRange(rows, path, compaction, compactionAt);
  const customRows = rowsOfKinds(rows, path.subarray(earliest), ["custom"]);
  const findBody = yield customRows;
  const place = new Int32Array(rows.size);
  path.forEach((row, index) => {
    place[row] = index;
  });
  const startedAt = new Map<string, number>();
  for (const row of customRows) {
    const entry = findBody(row);
    const started = entry && toolStarted.read(entry);
    if (started !== undefined) startedAt.set(started.toolCallId, place[row] as number);
  }
  const { pairs } = toolPairs(items.map((item) => item.message));
  return pairs.map(({ call, callAt, result, resultAt }) => {
    const entryId = (items[callAt] as ContextItem).entryId;
    if (result === undefined || resultAt === undefined) {
      const asked = (items[callAt] as ContextItem).message;
      const isLost = asked.role === "assistant" && (isBroken(asked) || isCutCall(asked, call));
      if (isLost) return { call, entryId, state: "error" };
      // Some providers reuse ids in later turns: a start before the call belongs to another call.
      const calledAt = place[rows.row(entryId)] as number;
      return { call, entryId, state: (startedAt.get(call.id) ?? -1) > calledAt ? "running" : "pending" };
    }
    const resultEntryId = (items[resultAt] as ContextItem).entryId;
    return { call, entryId, state: result.isError ? "error" : "completed", resultEntryId };
  });
}

function entryRevert(entry: SessionEntry & { readonly type: "revert" }): NonNullable<TurnContext["revert"]> {
  const { type: _type, id: entryId, parentId: _parent, timestamp: _time, prior: _prior, ...rest } = entry;
  const { merges: _merges, ...fields } = rest;
  return { entryId, ...fields };
}

/** The rows of a path that are of these kinds, and one more, in path order. */
function rowsOfKinds(rows: EntryTable, path: Int32Array, kinds: readonly string[], also = noRow): number[] {
  const codes = new Set(kinds.map((kind) => rows.kindCode(kind)));
  codes.delete(-1);
  return Array.from(path.filter((row) => row === also || codes.has(rows.kindAt(row))));
}
