/**
 * A session as a page shows it: the rows of a branch with tool results beside their calls, its timeline, the
 * context of a reply, and the outline of the tree.
 */

import { estimateMessageTokens } from "../../content/estimate/index.js";
import {
  type AssistantMessage,
  type BashExecutionMessage,
  type Context,
  type ContextItem,
  type CustomMessage,
  messageText,
  type SystemMessage,
  type ToolCall,
  type ToolResultMessage,
  toolPairs,
  type Usage,
  type UserMessage,
} from "../../content/index.js";
import { isFrameworkState } from "../../log/internal.js";
import { type ModelPrice, usageCost } from "../../providers/cost/index.js";
import {
  buildSessionContext,
  type SessionEntry,
  toolStarted,
  type UnknownEntry,
} from "../../session/index.js";
import { applyUpdates, entryUpdates, noRow } from "../../session/internal.js";
import type { PageEntry } from "../page-data.js";
import { isTalk, type SessionModel, subagentLink, subagentType } from "./session-model.js";
import { firstLine, isNote, isPrompt, promptText, typeName } from "./text.js";
import { lookVerb } from "./tool-views.js";

/** A call in a row, with its result. */
export interface RowCall {
  readonly call: ToolCall;
  readonly result?: ToolResultMessage;
  readonly resultId?: string;
  /**
   * `none`: no result is on this branch. `pending`: none yet, and the call is in the last message. `aborted`:
   * the message was.
   */
  readonly state: "done" | "failed" | "pending" | "none" | "aborted";
  /** Milliseconds between the start of the call, or its message, and the result. */
  readonly durationMs?: number;
}

/** The other branches at a row. */
interface RowBranches {
  /** The first entries of the branches, in file order. */
  readonly ids: readonly string[];
  /** The index of the branch that the row begins. */
  readonly at: number;
}

/** The type of a row, and its content. */
type RowContent =
  | { readonly kind: "user"; readonly message: UserMessage }
  | ({ readonly kind: "assistant"; readonly more?: readonly Reply[] } & Answer)
  | { readonly kind: "result"; readonly message: ToolResultMessage }
  | { readonly kind: "bash"; readonly message: BashExecutionMessage }
  | { readonly kind: "custom"; readonly message: Pick<CustomMessage, "customType" | "content" | "display"> }
  | { readonly kind: "system"; readonly message: SystemMessage }
  | { readonly kind: "compaction"; readonly entry: SessionEntry & { readonly type: "compaction" } }
  | { readonly kind: "branchSummary"; readonly entry: SessionEntry & { readonly type: "branch_summary" } }
  | { readonly kind: "note"; readonly entry: SessionEntry }
  | { readonly kind: "quiet"; readonly items: readonly QuietItem[] }
  | { readonly kind: "unknown"; readonly entry: UnknownEntry };

interface Answer {
  readonly message: AssistantMessage;
  readonly calls: readonly RowCall[];
}

/** A reply without words whose calls only look: shown in the row of the reply before it. */
export interface Reply extends Answer {
  readonly id: string;
  readonly time: number;
}

/** A message that its user does not see, a record of an extension, or a setting before the first message. */
export interface QuietItem {
  readonly id: string;
  readonly customType: string;
  /** Undefined for a record, which no model gets. */
  readonly content?: CustomMessage["content"];
  readonly data?: unknown;
}

/** A row of a conversation. */
export type Row = RowContent & {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Entries whose content the row shows beside its own, such as results. */
  readonly with: readonly string[];
  readonly branches?: RowBranches;
  readonly label?: string;
  /** A later entry of the path replaced parts of the message. */
  readonly updated?: true;
  /** The same model continues, without a message in between. */
  readonly isContinued?: true;
};

/** Entries that change nothing that a reader sees, and that other views show better. */
const hiddenTypes: ReadonlySet<string> = new Set(["message_update", "part_update", "leaf", "usage"]);

/** The rows on the path to a leaf, oldest first. Linear in the path and the branches at it. */
export function conversationRows(model: SessionModel, leafId: string | null): readonly Row[] {
  const { tree } = model;
  const path = model.pathIds(leafId).flatMap((id) => model.entry(id) ?? []);
  const updates = entryUpdates(path);
  const entries = path.map((entry) => applyUpdates(entry, updates) ?? entry);
  const paired = pairCalls(model, entries);
  let pending: RowBranches | undefined;
  const rows = entries.flatMap((entry, at): readonly Row[] => {
    const content = entryContent(entry, paired);
    pending = branchesAt(model, entry.id) ?? pending;
    if (content === undefined) return [];
    // A note does not begin a branch for readers: the message after it does.
    const branches = content.kind === "note" ? undefined : pending;
    if (content.kind !== "note") pending = undefined;
    const label = tree.label(entry.id);
    const calls = content.kind === "assistant" ? content.calls : [];
    return [
      {
        ...content,
        id: entry.id,
        time: Date.parse(entry.timestamp),
        with: calls.flatMap(({ resultId }) => resultId ?? []),
        ...(branches !== undefined && { branches }),
        ...(label !== undefined && { label }),
        ...(entry !== path[at] && { updated: true as const }),
      },
    ];
  });
  return joinedRows(rows);
}

const maxJoined = 100;

/** Joins replies that only look with the one before them, and quiet rows with each other. */
function joinedRows(rows: readonly Row[]): readonly Row[] {
  const joined: Row[] = [];
  let speaker: string | undefined;
  const firstMessage = rows.findIndex(({ kind }) => kind === "user" || kind === "assistant");
  for (const [at, row] of rows.entries()) {
    const last = joined.at(-1);
    const size = last?.with.length ?? 0;
    const isPlain = row.branches === undefined && row.label === undefined && row.updated === undefined;
    const items = quietItems(row, at < firstMessage);
    if (items !== undefined && isPlain) {
      const before = last?.kind === "quiet" && size < maxJoined ? joined.pop() : undefined;
      const known = before?.kind === "quiet" ? before.items : [];
      joined.push({
        ...{ kind: "quiet", id: before?.id ?? row.id, time: before?.time ?? row.time },
        ...{ with: before === undefined ? [] : [...before.with, row.id], items: [...known, ...items] },
      });
      continue;
    }
    if (row.kind !== "assistant") {
      joined.push(row);
      if (row.kind !== "note") speaker = undefined;
      continue;
    }
    const { provider, model, responseModel = model } = row.message;
    const same = `${provider}/${responseModel}`;
    const isContinued = speaker === same && isPlain;
    speaker = same;
    if (isContinued && last?.kind === "assistant" && size < maxJoined && onlyLooks(row) && endsInLook(last)) {
      const { id, time, message, calls } = row;
      const more = [...(last.more ?? []), { id, time, message, calls }];
      joined[joined.length - 1] = { ...last, more, with: [...last.with, id, ...row.with] };
    } else joined.push(isContinued ? { ...row, isContinued } : row);
  }
  return joined;
}

/** Entries that a reader looks for, though no message has them. */
const notable: ReadonlySet<string> = new Set([
  ...["sessile.api_error", "sessile.unreadable", "sessile.lost", "opencode.error"],
]);

function quietItems(row: Row, isFirst: boolean): readonly QuietItem[] | undefined {
  const { id } = row;
  if (row.kind === "system") return [{ id, ...systemNote(row.message) }];
  if (row.kind === "custom" && !row.message.display) {
    const { customType, content } = row.message;
    return [{ id, customType, content }];
  }
  if (row.kind === "user" && isNote(row.message))
    return [{ id, customType: "sessile.meta_message", content: row.message.content }];
  if (row.kind !== "note") return undefined;
  const setting = isFirst ? settingText(row.entry) : undefined;
  if (setting !== undefined) return [{ id, customType: setting, data: row.entry }];
  if (row.entry.type !== "custom") return undefined;
  const { customType, data } = row.entry;
  return notable.has(customType) ? undefined : [{ id, customType, data }];
}

/** What a session begins with is one line, so that the first message is near the top. */
function settingText(entry: SessionEntry): string | undefined {
  if (entry.type === "model_change") return `model ${entry.provider}/${entry.modelId}`;
  if (entry.type === "thinking_level_change") return `thinking ${entry.thinkingLevel}`;
  return undefined;
}

/** Instructions and tools that a session tells the model, in Markdown. */
export function systemNote(message: SystemMessage): {
  readonly customType: string;
  readonly content: string;
} {
  const {
    sections = {},
    toolsAdded,
    toolsRemoved,
  } = message as {
    readonly sections?: Readonly<Record<string, string | null>>;
    readonly toolsAdded?: readonly unknown[];
    readonly toolsRemoved?: readonly unknown[];
  };
  const instructions = [
    messageText(message),
    ...Object.entries(sections).map(([name, text]) => `[${name}]\n${text ?? "(removed)"}`),
  ].filter((text) => text !== "");
  const tools = [
    ...(toolsAdded === undefined ? [] : [`\`\`\`json\n${JSON.stringify(toolsAdded, null, 2)}\n\`\`\``]),
    ...(toolsRemoved === undefined ? [] : [`Tools removed: ${JSON.stringify(toolsRemoved)}`]),
  ];
  const names = [
    ...(instructions.length > 0 ? ["instructions"] : []),
    ...(tools.length > 0 ? ["tools"] : []),
  ];
  return { customType: names.join(", ") || "note", content: [...instructions, ...tools].join("\n\n") };
}

function isLook({ call, state }: RowCall): boolean {
  return state === "done" && lookVerb(call) !== undefined;
}

function onlyLooks({ message, calls }: Answer): boolean {
  const isWord = (block: AssistantMessage["content"][number]) =>
    block.type !== "toolCall" &&
    block.type !== "thinking" &&
    !(block.type === "text" && block.text.trim() === "");
  const { errorMessage, content } = message;
  return errorMessage === undefined && calls.length > 0 && calls.every(isLook) && !content.some(isWord);
}

function endsInLook({ calls, more }: Answer & { readonly more?: readonly Reply[] }): boolean {
  const last = more?.at(-1)?.calls ?? calls;
  return last.length > 0 && last.every(isLook);
}

interface PairedCalls {
  readonly calls: ReadonlyMap<string, readonly RowCall[]>;
  /** Results that are shown with their calls. */
  readonly shown: ReadonlySet<string>;
}

function pairCalls(model: SessionModel, entries: readonly PageEntry[]): PairedCalls {
  const messages = entries.flatMap((entry) => (entry.type === "message" ? [entry] : []));
  const { pairs } = toolPairs(messages.map(({ message }) => message));
  const calls = new Map<string, RowCall[]>();
  const shown = new Set<string>();
  const lastTalk = messages.findLastIndex(
    ({ message }) => message.role === "assistant" || message.role === "user",
  );
  for (const { call, callAt, result, resultAt } of pairs) {
    const asker = messages[callAt] as (typeof messages)[number];
    const answer = resultAt === undefined ? undefined : messages[resultAt];
    const { message } = asker;
    const isAborted =
      message.role === "assistant" && (message.stopReason === "aborted" || message.stopReason === "error");
    const state =
      result === undefined
        ? isAborted
          ? "aborted"
          : callAt === lastTalk
            ? "pending"
            : "none"
        : result.isError
          ? "failed"
          : "done";
    const started = model.startByToolCallId(call.id) ?? Date.parse(asker.timestamp);
    const durationMs = answer === undefined ? Number.NaN : Date.parse(answer.timestamp) - started;
    const row: RowCall = {
      ...{ call, state },
      ...(result !== undefined && { result }),
      ...(answer !== undefined && { resultId: answer.id }),
      // Equal times are those of records that have none of their own.
      ...(durationMs > 0 && { durationMs }),
    };
    if (answer !== undefined) shown.add(answer.id);
    const known = calls.get(asker.id);
    if (known === undefined) calls.set(asker.id, [row]);
    else known.push(row);
  }
  return { calls, shown };
}

function entryContent(entry: PageEntry, { calls, shown }: PairedCalls): RowContent | undefined {
  if (entry.type === "unknown") return { kind: "unknown", entry };
  if (entry.type === "compaction") return { kind: "compaction", entry };
  if (entry.type === "branch_summary") return { kind: "branchSummary", entry };
  if (entry.type === "custom_message") return { kind: "custom", message: entry };
  // Shown with the call, or nothing to see.
  if (entry.type === "custom" && [toolStarted.customType, subagentType].includes(entry.customType))
    return undefined;
  if (entry.type === "custom" && isFrameworkState(entry.customType)) return undefined;
  if (entry.type !== "message") return hiddenTypes.has(entry.type) ? undefined : { kind: "note", entry };
  const { message } = entry;
  switch (message.role) {
    case "user":
      return { kind: "user", message };
    case "assistant":
      return { kind: "assistant", message, calls: calls.get(entry.id) ?? [] };
    case "toolResult":
      return shown.has(entry.id) ? undefined : { kind: "result", message };
    case "bashExecution":
      return { kind: "bash", message };
    case "custom":
      return { kind: "custom", message };
    case "system":
      return { kind: "system", message };
  }
}

function branchesAt(model: SessionModel, id: string): RowBranches | undefined {
  const { table } = model;
  const own = table.row(id);
  let row = table.firstChild(table.parent(own));
  if (table.nextSibling(row) === noRow) return undefined;
  const ids: string[] = [];
  for (; row !== noRow; row = table.nextSibling(row)) {
    if (model.isBranch(row)) ids.push(table.id(row));
  }
  return ids.length < 2 || !model.isBranch(own) ? undefined : { ids, at: ids.indexOf(id) };
}

// The timeline of a branch: tokens in context, costs, compactions and errors by turn of the model.

/** One reply of a model. */
export interface TimelinePoint {
  readonly entryId: string;
  /** Index among the rows of the conversation. */
  readonly row: number;
  /** Tokens of the request; undefined if the reply reports none. */
  readonly context: number | undefined;
  /** The part of `context` that came from a cache. */
  readonly cached: number;
  readonly output: number;
  /** US dollars; undefined without a price. */
  readonly cost: number | undefined;
  readonly failed: boolean;
  /** Calls of tools that failed. */
  readonly failedCalls: number;
}

/** A compaction, before the point with that index. */
interface TimelineCompaction {
  readonly entryId: string;
  /** Index among the rows of the conversation. */
  readonly row: number;
  readonly point: number;
  readonly tokensBefore: number;
}

/** The content of a timeline. */
export interface Timeline {
  readonly points: readonly TimelinePoint[];
  readonly compactions: readonly TimelineCompaction[];
  readonly maxContext: number;
  /** Of the branch; replies without a price count nothing. */
  readonly cost: number;
  readonly maxCost: number;
}

/** The timeline of a conversation's rows. */
export function rowTimeline(rows: readonly Row[], prices?: readonly ModelPrice[]): Timeline {
  const points: TimelinePoint[] = [];
  const compactions: TimelineCompaction[] = [];
  rows.forEach((row, at) => {
    if (row.kind === "compaction") {
      const { tokensBefore } = row.entry;
      compactions.push({ entryId: row.id, row: at, point: points.length, tokensBefore });
    }
    if (row.kind !== "assistant") return;
    for (const { id, message, calls } of [row, ...(row.more ?? [])]) {
      const { usage, stopReason } = message;
      points.push({
        entryId: id,
        row: at,
        context: contextTokens(usage),
        cached: usage?.cacheRead ?? 0,
        output: usage?.output ?? 0,
        cost: costOfReply(message, prices),
        failed: stopReason === "error",
        failedCalls: calls.filter(({ state }) => state === "failed").length,
      });
    }
  });
  const costs = points.map(({ cost }) => cost ?? 0);
  return {
    points,
    compactions,
    maxContext: points.reduce((most, { context = 0 }) => Math.max(most, context), 0),
    cost: costs.reduce((sum, cost) => sum + cost, 0),
    maxCost: costs.reduce((most, cost) => Math.max(most, cost), 0),
  };
}

/** The tokens of a reply's request; undefined if it reports none, as a failed one. */
export function contextTokens(usage: Usage | undefined): number | undefined {
  if (usage === undefined) return undefined;
  const tokens = usage.input + usage.cacheRead + usage.cacheWrite;
  return Number.isFinite(tokens) && tokens > 0 ? tokens : undefined;
}

/** The cost of a reply: the recorded one, else by the price of its model. */
export function costOfReply(message: AssistantMessage, prices?: readonly ModelPrice[]): number | undefined {
  const { usage } = message;
  if (usage === undefined) return undefined;
  const recorded = usage.cost?.total;
  if (prices === undefined && recorded !== undefined && recorded > 0) return recorded;
  const priced = usageCost(usage, message, prices === undefined ? {} : { prices });
  return priced?.total ?? (recorded !== undefined && recorded > 0 ? recorded : undefined);
}

/**
 * Groups points by their places among the rows, into at most so many columns. `from` and `to` are parts of the
 * whole; a column ends where the next one begins.
 */
export function timelineColumns(
  points: readonly TimelinePoint[],
  rows: number,
  most: number,
): readonly { readonly from: number; readonly to: number; readonly points: readonly TimelinePoint[] }[] {
  const count = Math.min(rows, most);
  const groups = new Map<number, TimelinePoint[]>();
  for (const point of points) {
    const at = Math.floor((point.row / rows) * count);
    const group = groups.get(at);
    if (group === undefined) groups.set(at, [point]);
    else group.push(point);
  }
  const starts = [...groups.keys(), count];
  return Array.from(groups, ([at, group], index) => ({
    ...{ from: at / count, to: (starts[index + 1] ?? count) / count, points: group },
  }));
}

// The context of a reply: the messages that the model saw, and those of the branch that it did not.

/** An item of a context, with its origin in the session. */
export interface SeenItem {
  /** The entry that it comes from. */
  readonly entryId: string;
  readonly origin: ContextItem["origin"];
  /** The entry that replaced its content. */
  readonly editedBy?: string;
  /** The entry that pinned it. */
  readonly pinnedBy?: string;
  readonly message: ContextItem["message"];
  /** Estimated. */
  readonly tokens: number;
}

/** The context of a reply. */
export interface SeenContext {
  /** The entry at which the context was built. */
  readonly leafId: string | null;
  readonly context: Context;
  readonly items: readonly SeenItem[];
  /** The sum of the items' estimates. */
  readonly estimated: number;
  /** The tokens that the reply itself reports for its request, with tools and instructions. */
  readonly reported: number | undefined;
  /** Messages of the path that are not in the context, oldest first. */
  readonly forgotten: readonly string[];
  /** The compaction in force, if any. */
  readonly compactionId: string | undefined;
}

/**
 * Builds the context that a model saw: before a reply, the one at its parent; at any other entry, the one
 * that the next reply would see.
 */
export function seenContext(model: SessionModel, entryId: string): SeenContext {
  const entry = model.entry(entryId);
  const isReply = entry?.type === "message" && entry.message.role === "assistant";
  const leafId = isReply ? model.parentId(entryId) : entryId;
  const context = buildSessionContext(model, leafId);
  const path = model.pathIds(leafId);
  const by = modelChanges(model, path);
  const pins = new Set(context.pins);
  const items = context.items.map(({ entryId, origin, message, edited }): SeenItem => {
    const editedBy = edited === true ? (by.edits.get(entryId) ?? entryId) : undefined;
    const pinnedBy = pins.has(entryId) ? (by.pins.get(entryId) ?? entryId) : undefined;
    return {
      ...{ entryId, origin, message, tokens: estimateMessageTokens(message) },
      ...(editedBy !== undefined && { editedBy }),
      ...(pinnedBy !== undefined && { pinnedBy }),
    };
  });
  const seen = new Set(items.map(({ entryId }) => entryId));
  return {
    ...{ leafId, context, items },
    estimated: items.reduce((sum, { tokens }) => sum + tokens, 0),
    reported: isReply && entry.message.role === "assistant" ? contextTokens(entry.message.usage) : undefined,
    forgotten: path.filter((id) => model.entry(id)?.type === "message" && !seen.has(id)),
    compactionId: path.findLast((id) => model.entry(id)?.type === "compaction"),
  };
}

/** The last edit and the last pin of each entry on a path. */
function modelChanges(model: SessionModel, path: readonly string[]) {
  const [edits, pins] = [new Map<string, string>(), new Map<string, string>()];
  for (const id of path) {
    const entry = model.entry(id);
    if (entry?.type === "context_edit") edits.set(entry.targetId, id);
    if (entry?.type === "context_pin" && entry.pinned) pins.set(entry.targetId, id);
  }
  return { edits, pins };
}

// The outline beside a conversation: the tree with its branches, labels, compactions and leaf.

/** A line of the outline. */
export interface OutlineLine {
  readonly id: string;
  /** The number of branch points above. */
  readonly depth: number;
  readonly kind: "user" | "assistant" | "compaction" | "branchSummary" | "error" | "subagent" | "other";
  readonly text: string;
  readonly label?: string;
  /** The session that a line of kind `subagent` is about. */
  readonly session?: string;
  /** It begins one of several branches. */
  readonly startsBranch: boolean;
  readonly isLeaf: boolean;
}

/**
 * The lines of the whole tree, parents before their children. The short outline has prompts, summaries,
 * labels, errors, and the first entry of each branch; the long one every entry.
 */
export function outlineLines(model: SessionModel, detail: "short" | "long"): readonly OutlineLine[] {
  const { tree, table, leafId } = model;
  const depths = new Int32Array(table.size);
  /** Rows that began a branch, with no part of the conversation so far. */
  const pending = new Uint8Array(table.size);
  const lines: OutlineLine[] = [];
  for (const { row, isOneOfSeveral } of walkBranches(model)) {
    const parent = table.parent(row);
    const isFirst = isOneOfSeveral && model.isBranch(row);
    const depth = (parent === noRow ? 0 : (depths[parent] ?? 0)) + (isFirst ? 1 : 0);
    depths[row] = depth;
    const begins = isFirst || (parent !== noRow && pending[parent] === 1);
    const startsBranch = begins && isTalk(table, row);
    pending[row] = begins && !startsBranch ? 1 : 0;
    const id = table.id(row);
    const entry = model.entry(id);
    if (entry === undefined) continue;
    const kind = entryKind(entry);
    const label = tree.label(id);
    const isLeaf = id === leafId;
    const isNotable = kind !== "other" && kind !== "assistant";
    if (detail === "short" && !isNotable && label === undefined && !startsBranch && !isLeaf) continue;
    const session = subagentLink(entry)?.sessionId;
    lines.push({
      ...{ id, depth, kind, text: describeEntry(entry), startsBranch, isLeaf },
      ...(label !== undefined && { label }),
      ...(session !== undefined && { session }),
    });
  }
  return lines;
}

/** Every row, parents before their children, and whether its parent has several branches. */
function* walkBranches(
  model: SessionModel,
): Generator<{ readonly row: number; readonly isOneOfSeveral: boolean }, void, undefined> {
  const { table } = model;
  const hasSeveral = (parent: number): boolean => {
    let count = 0;
    for (let row = table.firstChild(parent); row !== noRow && count < 2; row = table.nextSibling(row)) {
      if (model.isBranch(row)) count++;
    }
    return count > 1;
  };
  const next = (row: number): number => {
    const child = table.firstChild(row);
    if (child !== noRow) return child;
    for (let at = row; at !== noRow; at = table.parent(at)) {
      const sibling = table.nextSibling(at);
      if (sibling !== noRow) return sibling;
    }
    return noRow;
  };
  const several = new Map<number, boolean>();
  for (let row = table.firstChild(noRow); row !== noRow; row = next(row)) {
    const parent = table.parent(row);
    const isOneOfSeveral = several.get(parent) ?? hasSeveral(parent);
    several.set(parent, isOneOfSeveral);
    yield { row, isOneOfSeveral };
  }
}

function entryKind(entry: PageEntry): OutlineLine["kind"] {
  if (entry.type === "compaction") return "compaction";
  if (entry.type === "branch_summary") return "branchSummary";
  if (subagentLink(entry) !== undefined) return "subagent";
  if (entry.type !== "message") return "other";
  const { message } = entry;
  // The output of a command is no prompt.
  if (message.role === "user") return isPrompt(message) ? "user" : "other";
  if (message.role !== "assistant") return "other";
  return message.stopReason === "error" ? "error" : "assistant";
}

const roleNames = { bashExecution: "shell", system: "system" } as const;

/** An entry in one line. */
function describeEntry(entry: PageEntry): string {
  switch (entry.type) {
    case "message": {
      const { message } = entry;
      if (message.role === "user") return firstLine(promptText(message));
      if (message.role === "toolResult") {
        const text = `${message.toolName}: ${firstLine(messageText(message, { attachments: true }))}`;
        return message.isError ? `failed ${text}` : text;
      }
      if (message.role !== "assistant") {
        const role = message.role === "custom" ? typeName(message.customType) : roleNames[message.role];
        return `${role}: ${firstLine(messageText(message, { attachments: true }))}`;
      }
      if (message.stopReason === "error") return firstLine(message.errorMessage ?? "error");
      const said = firstLine(messageText(message, { attachments: true }));
      const names = message.content.flatMap((block) => (block.type === "toolCall" ? [block.name] : []));
      return said === "" ? firstLine(names.join(", ")) : said;
    }
    case "compaction":
      return "Compaction";
    case "branch_summary":
      return "Summary of another branch";
    case "model_change":
      return `model ${firstLine(entry.modelId)}`;
    case "thinking_level_change":
      return `thinking ${firstLine(entry.thinkingLevel)}`;
    case "custom":
      return subagentLink(entry) === undefined ? firstLine(typeName(entry.customType)) : "Subagent";
    case "session_info":
      return `named ${firstLine(entry.title ?? entry.name ?? "")}`;
    case "custom_message":
      return firstLine(typeName(entry.customType));
    case "label":
      return `label ${firstLine(entry.label ?? "cleared")}`;
    case "unknown":
      return `${firstLine(entry.entryType)} (unknown type)`;
    default:
      return entry.type.replaceAll("_", " ");
  }
}
