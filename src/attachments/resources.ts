import type { BlobStore } from "../blobs/index.js";
import {
  type BlobRef,
  type Context,
  type ContextMessage,
  describeResource,
  isResource,
  type Resource,
  resourceOf,
  type StoredResource,
} from "../content/index.js";
import { SessileError } from "../errors/index.js";
import { integerOption } from "../internal/arguments.js";
import { isRecord } from "../internal/shape.js";
import { unknownMediaType } from "./identify.js";

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
export interface Recorded {
  readonly resource: Resource | undefined;
  readonly observation: string | undefined;
}

export function recordedResources(details: unknown): ReadonlyMap<string, Recorded> {
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
