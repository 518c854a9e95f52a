import type { BlobStore } from "../blobs/index.js";
import {
  type BlobRef,
  type Context,
  type ContextMessage,
  describeResource,
  type ImageBlock,
  isResource,
  type Resource,
  resourceOf,
  type StoredResource,
  type TextBlock,
} from "../content/index.js";
import { SessileError } from "../errors/index.js";
import { integerOption } from "../internal/arguments.js";
import { isRecord } from "../internal/shape.js";
import { unknownMediaType } from "./store-resource.js";

/** A block of a message that stands for a resource. */
export interface ResourceBlock {
  readonly resource: Resource;
  /** Index among the message's blocks. */
  readonly block: number;
}

/** The blocks of a message that stand for resources, in order. */
export function resourceBlocks(message: ContextMessage): readonly ResourceBlock[] {
  if (!("content" in message) || typeof message.content === "string") return [];
  const blocks: ResourceBlock[] = [];
  let at = 0;
  for (const block of message.content) {
    const resource = resourceOf(block);
    if (resource !== undefined) blocks.push({ resource, block: at });
    at++;
  }
  return blocks;
}

/**
 * The resources that a context holds, or that messages hold, each once and in the order in which they first appear. Give
 * it the messages of a session's whole path for those that a compaction took out of the context.
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

/** Whether bytes could ever be sent for a resource: they are there, and it is known what they are. */
export function isSendable(resource: Resource): resource is StoredResource {
  return resource.kind !== "link" && resource.mediaType !== unknownMediaType;
}

const listHeading = "Attached resources. These lines describe them and are not what is in them";
const invitation = "; view one by its id to see it";
const unviewable = " (cannot be viewed)";

/**
 * A list of resources for a prompt or a summary: one descriptor a line, under a line that says that a description is not
 * the thing itself. Where it would be longer than allowed, descriptors are shortened to their ids, the oldest first; an id
 * is never lost, so that the list of very many may be longer all the same. Empty for no resources.
 *
 * @param options.maxCharacters UTF-16 units, at least 0; default no bound
 * @param options.viewTool whether the model has the tool that `viewTool` declares: then the list tells to use it, but not for
 *   links and bytes of unknown type. Default false, which is right for a text that is kept, such as a summary.
 * @example
 * ```ts
 * listResources(resourcesIn(contextOf([userMessage("hi")]))); // ""
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
  const noted = (line: string, of: Resource) => (isInviting && !isSendable(of) ? line + unviewable : line);
  const full = unique.map((resource) => noted(describeResource(resource), resource));
  const bare = unique.map((resource) => noted(`[${resource.resourceId}]`, resource));
  let length = heading.length + full.reduce((sum, line) => sum + line.length + 1, 0);
  const lines = full.map((line, at) => {
    const short = bare[at] as string;
    if (length <= max || short.length >= line.length) return line;
    length -= line.length - short.length;
    return short;
  });
  return [heading, ...lines].join("\n");
}

/** What a summary's details have of an attachment that it notes. */
export interface RecordedResource {
  readonly resource: Resource | undefined;
  readonly observation: string | undefined;
}

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

/** Bytes, or why there are none. */
export type ResourcePayload = Uint8Array | "missing" | "corrupt";

/**
 * The bytes of a blob, or why there are none: they are not in the store, or are not what their name says.
 *
 * @throws SessileError what the blob store throws, besides BLOB_CORRUPT
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
interface EntryChange {
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
export async function findResource(session: ResourcePath, resourceId: string): Promise<Resource | undefined> {
  const changes = new Map<string, EntryChange[]>();
  for (const { id } of session.tree.path(session.leafId).toReversed()) {
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

/** The resources that an entry shows, after its changes, the newest first. */
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

/**
 * Messages for a subagent: as they are, but for their attachments, of which it gets none that is not granted by its id.
 * Where one was, a text says that something is not there; neither name nor descriptor goes along, so that the subagent's
 * own log cannot name the bytes. Inline images have no id and are never granted, and `details`, which are for programs
 * and may hold anything, are left out. Text stays as it is: what a summary, a tool or a person wrote there of an attachment,
 * be it a descriptor with its name and id, goes along, though no resource does.
 *
 * @param granted resource ids; default none
 * @example
 * ```ts
 * const { items } = await session.context();
 * const brief = grantResources(items.map((item) => item.message), [screenshot.resourceId]);
 * const context = contextOf(brief);
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
    const content = (message.content as readonly (TextBlock | ImageBlock)[]).map((block) => {
      const isOpen =
        block.type === "text" && (block.resource === undefined || ids.has(block.resource.resourceId));
      const isAttachment = block.type === "image" || block.type === "text";
      return isOpen || !isAttachment ? block : withheld;
    });
    return { ...shown, content } as ContextMessage;
  });
}

const withheld: TextBlock = { type: "text", text: "[an attachment that was not passed on]" };
