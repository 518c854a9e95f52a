import { type ContextMessage, resourceOf, type StoredResource, toolCalls } from "sessile/content";
import type { EntryNode, Session, SessionEntry, UnknownEntry } from "sessile/session";
import { messageText } from "../support/message-text.js";

/** An entry as the page shows it. */
export interface EntrySummary {
  readonly id: string;
  readonly parentId: string | null;
  readonly type: string;
  readonly role?: string;
  /** What it says in words; descriptors of attachments are not words. */
  readonly text?: string;
  readonly calls?: readonly { readonly name: string }[];
  readonly resources?: readonly ResourceSummary[];
  readonly label?: string;
}

type ResourceSummary = Pick<
  StoredResource,
  "resourceId" | "kind" | "name" | "mediaType" | "size" | "width" | "height" | "blob"
>;

/** An entry of a session; of one that is damaged its place alone. */
export function summaryOf(
  session: Session,
  { id, parentId, type }: Pick<EntryNode, "id" | "parentId" | "type">,
  entry: SessionEntry | UnknownEntry | undefined,
): EntrySummary {
  const label = session.tree.label(id);
  return { id, parentId, type, ...factsOf(entry), ...(label === undefined ? {} : { label }) };
}

function factsOf(entry: SessionEntry | UnknownEntry | undefined): Partial<EntrySummary> {
  if (entry?.type === "compaction" || entry?.type === "branch_summary") return { text: entry.summary };
  if (entry?.type !== "message") return {};
  const { message } = entry;
  const calls = message.role === "assistant" ? toolCalls(message).map(({ name }) => ({ name })) : [];
  const resources = storedResources(message).map(resourceSummary);
  const { role } = message;
  return {
    ...(role === "user" || role === "assistant" || role === "toolResult" ? { role } : {}),
    text: messageText(withoutResources(message)),
    ...(calls.length === 0 ? {} : { calls }),
    ...(resources.length === 0 ? {} : { resources }),
  };
}

/** The resources of a message that have bytes. */
export function storedResources(message: ContextMessage): readonly StoredResource[] {
  if (!("content" in message) || typeof message.content === "string") return [];
  return message.content.flatMap((block) => {
    const resource = resourceOf(block);
    return resource === undefined || resource.kind === "link" ? [] : [resource];
  });
}

function resourceSummary(resource: StoredResource): ResourceSummary {
  const { resourceId, kind, name, mediaType, size, width, height, blob } = resource;
  return {
    resourceId,
    kind,
    ...(name === undefined ? {} : { name }),
    mediaType,
    size,
    ...(width === undefined ? {} : { width }),
    ...(height === undefined ? {} : { height }),
    blob,
  };
}

function withoutResources(message: ContextMessage): ContextMessage {
  if (message.role !== "user" && message.role !== "toolResult") return message;
  if (typeof message.content === "string") return message;
  return { ...message, content: message.content.filter((block) => resourceOf(block) === undefined) };
}
