/**
 * The resources of messages and of a session's path: listing, finding, reading their bytes, granting them.
 */
import type { BlobStore } from "../blobs/index.js";
import {
  type AssistantMessage,
  type BlobRef,
  type Context,
  type ContextMessage,
  describeResource,
  isResource,
  type Resource,
  type StoredResource,
  type TextBlock,
} from "../content/index.js";
import { blockResources, opaqueMedia } from "../content/internal.js";
import { integerOption } from "../core/arguments.js";
import { SessileError } from "../core/errors/index.js";
import { isRecord } from "../core/shape.js";
import { unknownMediaType } from "./ingest.js";

/** The resource of a block. */
export interface ResourceBlock {
  readonly resource: Resource;
  /** Index among the message's blocks. */
  readonly block: number;
}

/** The resources of a message's blocks, in order. */
export function resourceBlocks(message: ContextMessage): readonly ResourceBlock[] {
  if (!("content" in message) || typeof message.content === "string") return [];
  const blocks: ResourceBlock[] = [];
  let at = 0;
  for (const block of message.content) {
    for (const resource of blockResources(block)) blocks.push({ resource, block: at });
    at++;
  }
  return blocks;
}

/**
 * The resources of a context or of messages, each once, in the order of first occurrence. The context does
 * not have those that a compaction summarised; the messages of the session's whole path do.
 *
 * @example
 * ```ts
 * const [first] = resourcesIn(await session.context());
 * ```
 */
export function resourcesIn(source: Pick<Context, "items"> | Iterable<ContextMessage>): readonly Resource[] {
  const messages = "items" in source ? source.items.map(({ message }) => message) : source;
  const byId = new Map<string, Resource>();
  for (const message of messages) {
    for (const { resource } of resourceBlocks(message)) {
      if (!byId.has(resource.resourceId)) byId.set(resource.resourceId, resource);
    }
  }
  return [...byId.values()];
}

/** Whether a resource has bytes that can be sent: it is not a link, and its media type is known. */
export function isSendable(resource: Resource): resource is StoredResource {
  return resource.kind !== "link" && resource.mediaType !== unknownMediaType;
}

const listHeading = "Attached resources. These lines describe them and are not what is in them";
const invitation = "; view one by its id to see it";
const unviewable = " (cannot be viewed)";

/**
 * Lists resources for a prompt or a summary: a heading, and one descriptor a line. To fit `maxCharacters`,
 * descriptors are shortened to their ids, the oldest first. No id is omitted, so a list of very many
 * resources can still exceed it. Empty for no resources.
 *
 * @param options.maxCharacters UTF-16 units, at least 0; default unbounded
 * @param options.viewTool whether the model has the tool of `viewTool`; the list then mentions it, except for
 *   links and bytes of unknown type. Default false, as stored text such as a summary needs.
 * @example
 * ```ts
 * listResources(resourcesIn(contextFrom([userMessage("hi")]))); // ""
 * ```
 */
export function listResources(
  resources: readonly Resource[],
  options: { readonly maxCharacters?: number; readonly viewTool?: boolean } = {},
): string {
  const max = integerOption("maxCharacters", options.maxCharacters, Number.MAX_SAFE_INTEGER, 0);
  const unique = [...new Map(resources.map((resource) => [resource.resourceId, resource])).values()];
  if (unique.length === 0) return "";
  const isInviting = options.viewTool === true && unique.some(isSendable);
  const heading = `${listHeading}${isInviting ? invitation : ""}.`;
  const textLine = (text: string, of: Resource) => (isInviting && !isSendable(of) ? text + unviewable : text);
  const full = unique.map((resource) => textLine(describeResource(resource), resource));
  const bare = unique.map((resource) => textLine(`[${resource.resourceId}]`, resource));
  let length = heading.length + full.reduce((sum, line) => sum + line.length + 1, 0);
  const lines = full.map((line, at) => {
    const short = bare[at] as string;
    if (length <= max || short.length >= line.length) return line;
    length -= line.length - short.length;
    return short;
  });
  return [heading, ...lines].join("\n");
}

/** The record of an attachment in the `details` of a summary. */
export interface RecordedResource {
  readonly resource: Resource | undefined;
  readonly observation: string | undefined;
}

/** The records of attachments in the `details` of a summary, by resource id. Takes any value. */
export function recordedResources(details: unknown): ReadonlyMap<string, RecordedResource> {
  const list = isRecord(details) && Array.isArray(details.resources) ? details.resources : [];
  return new Map(
    list.flatMap((item: unknown) => {
      const { resourceId, resource, observation } = isRecord(item) ? item : {};
      if (typeof resourceId !== "string") return [];
      const isWhole = isResource(resource) && resource.resourceId === resourceId;
      const seen = typeof observation === "string" ? observation : undefined;
      return [[resourceId, { resource: isWhole ? resource : undefined, observation: seen }] as const];
    }),
  );
}

/** The bytes of a resource, or the reason that they cannot be read. */
export type ResourcePayload = Uint8Array | "missing" | "corrupt";

/**
 * Reads a blob. Without a store it is `missing`; if the bytes do not match their digest it is `corrupt`.
 *
 * @throws the error of the store, except BLOB_CORRUPT
 */
export async function readPayload(
  blobs: Pick<BlobStore, "get"> | undefined,
  ref: BlobRef,
  signal: AbortSignal | undefined,
): Promise<ResourcePayload> {
  try {
    return (await blobs?.get(ref, signal === undefined ? {} : { signal })) ?? "missing";
  } catch (error) {
    if (SessileError.is(error, "BLOB_CORRUPT")) return "corrupt";
    throw error;
  }
}

/** The part of a `Session` that is needed to find a resource on its path. */
export interface ResourcePath {
  readonly leafId: string | null;
  /** The tree of entries. */
  tree(): Promise<{
    /** The entries from the root to an entry. */
    path(id: string | null): readonly { readonly id: string }[];
  }>;
  /** Reads one entry; undefined for an unknown id. */
  entry(id: string): Promise<{ readonly type: string } | undefined>;
}

/** An entry that changes the content of an earlier one. */
interface EntryChange {
  readonly type: string;
  readonly targetId?: unknown;
  readonly replacement?: unknown;
  readonly message?: unknown;
  readonly part?: unknown;
  readonly index?: unknown;
}

/** The types of {@link EntryChange}: those that the table of entry types names edits. */
export const changeTypes: ReadonlySet<string> = new Set(["context_edit", "message_update", "part_update"]);

/**
 * Finds a resource by its id on the path to the leaf, before a compaction too, and in the records of branch
 * summaries. Resources that an edit removed are not found. Reads entries from the leaf to the root and stops
 * at the first match.
 *
 * @example
 * ```ts
 * const resource = await findResource(session, "res_0123456789abcdef"); // to serve its blob, for example
 * ```
 */
export async function findResource(session: ResourcePath, resourceId: string): Promise<Resource | undefined> {
  const changes = new Map<string, EntryChange[]>();
  for (const { id } of (await session.tree()).path(session.leafId).toReversed()) {
    const entry = await session.entry(id);
    if (entry === undefined) continue;
    if (changeTypes.has(entry.type)) {
      const { targetId } = entry as EntryChange;
      if (typeof targetId !== "string") continue;
      const same = changes.get(targetId);
      if (same === undefined) changes.set(targetId, [entry]);
      else same.push(entry);
      continue;
    }
    const found = resourcesOfEntry(entry, changes.get(id) ?? []).find((one) => one.resourceId === resourceId);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The resources of an entry with its changes applied. @param changes newest first */
function resourcesOfEntry(
  entry: { readonly type: string },
  changes: readonly EntryChange[],
): readonly Resource[] {
  const { message, content, details } = entry as {
    readonly message?: unknown;
    readonly content?: unknown;
    readonly details?: unknown;
  };
  const edit = changes.find(({ type }) => type === "context_edit");
  if (edit !== undefined) return resourcesOfMessage(edit.replacement);
  if (entry.type === "branch_summary") {
    return [...recordedResources(details).values()].flatMap(({ resource }) => resource ?? []);
  }
  if (entry.type === "custom_message") return resourcesOfMessage({ content });
  if (entry.type !== "message") return [];
  const replaced = new Set<unknown>();
  const parts: unknown[] = [];
  for (const change of changes) {
    if (change.type === "message_update")
      return [...resourcesOfMessage({ content: parts }), ...resourcesOfMessage(change.message, replaced)];
    if (!replaced.has(change.index)) parts.push(change.part);
    replaced.add(change.index);
  }
  return [...resourcesOfMessage({ content: parts }), ...resourcesOfMessage(message, replaced)];
}

function resourcesOfMessage(
  message: unknown,
  replaced: ReadonlySet<unknown> = new Set(),
): readonly Resource[] {
  if (!isRecord(message) || !Array.isArray(message.content)) return [];
  const blocks = resourceBlocks(message as unknown as ContextMessage);
  return blocks.flatMap(({ resource, block }) => (replaced.has(block) ? [] : [resource]));
}

/**
 * Messages for a subagent, without the attachments that are not granted. A text replaces each of them,
 * without name or descriptor, so that the subagent's log cannot name the bytes. Inline images have no id and
 * are never granted. `details` are removed, since they can contain anything. Other text is unchanged, even if
 * it mentions an attachment.
 *
 * @param granted resource ids; default none
 * @example
 * ```ts
 * const { items } = await session.context();
 * const brief = grantResources(items.map((item) => item.message), [screenshot.resourceId]);
 * const context = contextFrom(brief);
 * ```
 */
export function grantResources(
  messages: readonly ContextMessage[],
  granted: readonly string[] = [],
): readonly ContextMessage[] {
  const ids = new Set(granted);
  return messages.map((message) => {
    if (!("content" in message)) return message;
    const { details: _, ...shown } = message as typeof message & { readonly details?: unknown };
    if (typeof message.content === "string") return shown as ContextMessage;
    const content = (message.content as AssistantMessage["content"]).map((block) => {
      const isInline =
        block.type === "image" || (block.type === "opaque" && opaqueMedia(block.data).length > 0);
      const isOpen = blockResources(block).every(({ resourceId }) => ids.has(resourceId));
      return isOpen && !isInline ? block : withheld;
    });
    return { ...shown, content } as ContextMessage;
  });
}

const withheld: TextBlock = { type: "text", text: "[an attachment that was not passed on]" };
