/** The outline beside a conversation: the tree with its branches, labels, compactions and leaf. */

import { messageText } from "../../content/index.js";
import { noRow } from "../../session/internal.js";
import type { PageEntry } from "../page-data.js";
import { isTalk, type SessionModel, subagentLink } from "./session-model.js";
import { firstLine, promptText } from "./text.js";

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
  if (message.role === "user") return "user";
  if (message.role !== "assistant") return "other";
  return message.stopReason === "error" ? "error" : "assistant";
}

/** An entry in one line. */
function describeEntry(entry: PageEntry): string {
  switch (entry.type) {
    case "message": {
      const { message } = entry;
      if (message.role === "user") return firstLine(promptText(message));
      if (message.role === "toolResult") {
        const text = `${message.toolName}: ${firstLine(messageText(message))}`;
        return message.isError ? `failed ${text}` : text;
      }
      if (message.role !== "assistant") return `${message.role}: ${firstLine(messageText(message))}`;
      if (message.stopReason === "error") return firstLine(message.errorMessage ?? "error");
      const said = firstLine(messageText(message));
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
      return subagentLink(entry) === undefined ? firstLine(entry.customType) : "Subagent";
    case "custom_message":
      return firstLine(entry.customType);
    case "label":
      return `label ${firstLine(entry.label ?? "cleared")}`;
    case "unknown":
      return `${firstLine(entry.entryType)} (unknown type)`;
    default:
      return entry.type.replaceAll("_", " ");
  }
}
