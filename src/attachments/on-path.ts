import type { ContextMessage, Resource } from "../content/index.js";
import { isRecord } from "../internal/shape.js";
import { recordedResources, resourceBlocks } from "./resources.js";

/** What a session has to be for a resource to be found on its path: a `Session` is one. */
export interface ResourcePath {
  readonly leafId: string | null;
  /** Gives the entries from the root to an entry. */
  readonly tree: {
    /** From the root to an entry. */
    readonly path: (id: string | null) => readonly { readonly id: string }[];
  };
  /** One entry; undefined if there is none. */
  entry(id: string): Promise<{ readonly type: string } | undefined>;
}

/** A change that an entry makes to what an earlier one shows. */
interface Change {
  readonly type: string;
  readonly targetId?: unknown;
  readonly replacement?: unknown;
  readonly message?: unknown;
  readonly part?: unknown;
  readonly index?: unknown;
}

const changeTypes: ReadonlySet<string> = new Set(["context_edit", "message_update", "part_update"]);

/**
 * A resource by its id, on the path to the tip, before a compaction too, and among those that the summary of a left branch
 * records. What an edit took out is not found. Reads the path from the tip on, until it is found.
 */
export async function resourceOnPath(
  session: ResourcePath,
  resourceId: string,
): Promise<Resource | undefined> {
  const changes = new Map<string, Change[]>();
  for (const { id } of session.tree.path(session.leafId).toReversed()) {
    const entry = await session.entry(id);
    if (entry === undefined) continue;
    if (changeTypes.has(entry.type)) {
      const { targetId } = entry as Change;
      if (typeof targetId !== "string") continue;
      const same = changes.get(targetId);
      if (same === undefined) changes.set(targetId, [entry]);
      else same.push(entry);
      continue;
    }
    const found = shownBy(entry, changes.get(id) ?? []).find((one) => one.resourceId === resourceId);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The resources that an entry shows, after its changes, the newest first. */
function shownBy(entry: { readonly type: string }, changes: readonly Change[]): readonly Resource[] {
  const { message, content, details } = entry as {
    readonly message?: unknown;
    readonly content?: unknown;
    readonly details?: unknown;
  };
  const edit = changes.find(({ type }) => type === "context_edit");
  if (edit !== undefined) return resourcesOf(edit.replacement);
  if (entry.type === "branch_summary") {
    return [...recordedResources(details).values()].flatMap(({ resource }) => resource ?? []);
  }
  if (entry.type === "custom_message") return resourcesOf({ content });
  if (entry.type !== "message") return [];
  const replaced = new Set<unknown>();
  const parts: unknown[] = [];
  for (const change of changes) {
    if (change.type === "message_update")
      return [...resourcesOf({ content: parts }), ...resourcesOf(change.message, replaced)];
    if (!replaced.has(change.index)) parts.push(change.part);
    replaced.add(change.index);
  }
  return [...resourcesOf({ content: parts }), ...resourcesOf(message, replaced)];
}

function resourcesOf(message: unknown, replaced: ReadonlySet<unknown> = new Set()): readonly Resource[] {
  if (!isRecord(message) || !Array.isArray(message.content)) return [];
  const blocks = resourceBlocks(message as unknown as ContextMessage);
  return blocks.flatMap(({ resource, block }) => (replaced.has(block) ? [] : [resource]));
}
