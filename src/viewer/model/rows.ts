/** The rows of a conversation: the path to a leaf, with tool results beside their calls. */

import type {
  AssistantMessage,
  BashExecutionMessage,
  CustomMessage,
  SystemMessage,
  ToolCall,
  ToolResultMessage,
  UserMessage,
} from "../../content/index.js";
import { toolPairs } from "../../content/index.js";
import { type SessionEntry, toolStarted, type UnknownEntry } from "../../session/index.js";
import { applyUpdates, entryUpdates, noRow } from "../../session/internal.js";
import type { PageEntry } from "../page-data.js";
import { type SessionModel, subagentType } from "./session-model.js";

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
export interface RowBranches {
  /** The first entries of the branches, in file order. */
  readonly ids: readonly string[];
  /** The index of the branch that the row begins. */
  readonly at: number;
}

/** The type of a row, and its content. */
export type RowContent =
  | { readonly kind: "user"; readonly message: UserMessage }
  | { readonly kind: "assistant"; readonly message: AssistantMessage; readonly calls: readonly RowCall[] }
  | { readonly kind: "result"; readonly message: ToolResultMessage }
  | { readonly kind: "bash"; readonly message: BashExecutionMessage }
  | { readonly kind: "custom"; readonly message: Pick<CustomMessage, "customType" | "content" | "display"> }
  | { readonly kind: "system"; readonly message: SystemMessage }
  | { readonly kind: "compaction"; readonly entry: SessionEntry & { readonly type: "compaction" } }
  | { readonly kind: "branchSummary"; readonly entry: SessionEntry & { readonly type: "branch_summary" } }
  | { readonly kind: "note"; readonly entry: SessionEntry }
  | { readonly kind: "unknown"; readonly entry: UnknownEntry };

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
  return entries.flatMap((entry, at) => {
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
  // Shown with the call.
  if (entry.type === "custom" && [toolStarted.customType, subagentType].includes(entry.customType))
    return undefined;
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
