import { type ToolCall, toolCalls } from "sessile/content";
import type { EntryNode, Session, SessionEntry, ToolState, UnknownEntry } from "sessile/session";
import { messageText } from "./message-text.js";
import { headAndTail, oneLine } from "./terminal.js";

/** Options of {@link treeLines}. */
export interface TreeLinesOptions {
  /** Characters of a line. */
  readonly width: number;
  /** With more entries than this, the first and the last of them are shown. Default all. */
  readonly maxEntries?: number;
}

/**
 * A session's tree, one line an entry: id, type or role, label, the tip, tool calls with their state, and the start of its
 * text. A run without branches stays in its column; only where entries share a parent it goes one step to the right.
 */
export async function treeLines(session: Session, options: TreeLinesOptions): Promise<readonly string[]> {
  const { width, maxEntries = Number.POSITIVE_INFINITY } = options;
  const states = await statesByCall(session);
  const places = [...placesOf(session)];
  const lines = await Promise.all(
    headAndTail(places, maxEntries).map(async (place) => {
      if (typeof place === "string") return place;
      const { node, before } = place;
      const marks = [node.role ?? node.type];
      const label = session.tree.label(node.id);
      if (label !== undefined) marks.push(`[${label}]`);
      if (node.id === session.leafId) marks.push("<- tip");
      const text = textOfEntry(await session.entry(node.id), states);
      return before + oneLine(`${node.id} ${marks.join(" ")}: ${text}`, width - before.length);
    }),
  );
  return lines;
}

interface Place {
  readonly node: EntryNode;
  /** What stands before the entry on its line. */
  readonly before: string;
}

/** Deeper branches than this many characters are not moved further to the right. */
const maxIndent = 40;

/** Every entry, each before those that follow it. With a stack, since a session may be a million entries deep. */
function* placesOf({ tree }: Session): Generator<Place> {
  const waiting: (Place & { readonly below: string })[] = [];
  const follow = (id: string | null, below: string) => {
    const children = tree.children(id);
    const branches = children.length > 1 && below.length < maxIndent;
    for (const [index, node] of [...children.entries()].reverse()) {
      const isLast = index === children.length - 1;
      waiting.push({
        node,
        before: branches ? `${below}${isLast ? "└─ " : "├─ "}` : below,
        below: branches ? `${below}${isLast ? "   " : "│  "}` : below,
      });
    }
  };
  follow(null, "");
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    yield next;
    follow(next.node.id, next.below);
  }
}

/** From the least to the furthest. */
const stateOrder: readonly ToolState[] = ["pending", "running", "error", "completed"];

/** Besides the tip, this many branches are asked for their calls; each takes as long as building its context. */
const maxBranches = 32;

/** A session tells the states on one branch, so each branch is asked; the furthest state of a call counts. */
async function statesByCall(session: Session): Promise<ReadonlyMap<string, ToolState>> {
  const tips = [...session.tree.walk()].filter(({ node }) => session.tree.children(node.id).length === 0);
  const leafIds = new Set([session.leafId, ...tips.slice(-maxBranches).map(({ node }) => node.id)]);
  const states = new Map<string, ToolState>();
  for (const leafId of leafIds) {
    for (const { call, entryId, state } of await session.toolStates(leafId)) {
      const key = callKey(entryId, call.id);
      const known = states.get(key);
      if (known === undefined || stateOrder.indexOf(state) > stateOrder.indexOf(known))
        states.set(key, state);
    }
  }
  return states;
}

function callKey(entryId: string, callId: string): string {
  return `${entryId} ${callId}`;
}

function textOfEntry(
  entry: SessionEntry | UnknownEntry | undefined,
  states: ReadonlyMap<string, ToolState>,
): string {
  if (entry === undefined) return "(its line is damaged)";
  switch (entry.type) {
    case "message":
      return [...callsOf(entry, states), messageText(entry.message)].join(" ");
    case "compaction":
    case "branch_summary":
      return entry.summary;
    case "model_change":
      return `${entry.provider}/${entry.modelId}`;
    case "thinking_level_change":
      return entry.thinkingLevel;
    case "label":
      return `${entry.targetId} ${entry.label ? `[${entry.label}]` : "no label"}`;
    case "session_info":
      return entry.name ?? entry.title ?? "";
    case "custom":
      return `${entry.customType} ${JSON.stringify(entry.data) ?? ""}`;
    case "custom_message":
      return entry.customType;
    case "unknown":
      return "(not known to this version)";
    default:
      return "targetId" in entry ? String(entry.targetId) : "";
  }
}

function callsOf(
  entry: SessionEntry & { readonly type: "message" },
  states: ReadonlyMap<string, ToolState>,
): readonly string[] {
  if (entry.message.role !== "assistant") return [];
  return toolCalls(entry.message).map((call) => callText(call, states.get(callKey(entry.id, call.id))));
}

/** A call as its state, name and arguments. The state comes first, since the end of a line may be cut off. */
function callText(call: ToolCall, state: ToolState | undefined): string {
  const values = Object.values((call.arguments ?? {}) as Record<string, unknown>);
  // A call from before the latest compaction is in no context and has no state.
  return `<${state === undefined ? "" : `${state} `}${call.name} ${oneLine(values.join(" "), 24)}>`;
}
