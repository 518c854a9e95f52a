// The adapter between useChat and a session, in both directions. It knows neither HTTP nor models.
//
// Ids: a chat's id is the session's id, and a message's id is the id of its entry. An edited message keeps
// its id in the browser; here its versions are siblings: `id`, `id.2`, `id.3`. A reply of several steps is
// one message in the browser and several entries here; it has the id of the first.
import type { FileUIPart, UIMessage } from "ai";
import { ingest, resourcesIn } from "sessile/attachments";
import type { BlobStore } from "sessile/blobs";
import {
  type AssistantMessage,
  type MessagePart,
  messageText,
  type Resource,
  resourceOf,
  type ToolResultMessage,
  type UserMessage,
  userMessage,
} from "sessile/content";
import { SessileError } from "sessile/errors";
import { limitProfiles } from "sessile/limits";
import type { Session, SessionEntry } from "sessile/session";
import { closeOpenCalls } from "../support/tools.js";

type Part = UIMessage["parts"][number];

/** The part of a request of `DefaultChatTransport` that a turn needs. */
export interface ChatTurn {
  /** The message to answer. */
  readonly message: Pick<UIMessage, "id" | "parts">;
  /** The ids of the messages before it, as the browser shows them, oldest first. */
  readonly before: readonly string[];
  /** Whether the message replaces an earlier version of itself. */
  readonly isEdit: boolean;
}

/**
 * Moves the leaf to the message to answer, and stores the message first if it is new. Once this resolves the
 * message is durable. A request that comes twice, such as a retry, stores nothing and is answered again. A
 * tab that did not see the newest messages gets a branch: the message follows the one that the tab shows.
 */
export async function storeTurn(
  session: Session,
  { message, before, isEdit }: ChatTurn,
  { blobs, signal }: { readonly blobs: Pick<BlobStore, "put">; readonly signal: AbortSignal },
): Promise<void> {
  const { tree } = session;
  const stored = versions(session, message.id);
  const latest = stored.at(-1);
  if (latest !== undefined && tree.node(latest)?.role !== "user") {
    throw invalid("id", "the id of a message of the user");
  }
  if (latest !== undefined && !isEdit) return session.branch(latest);
  const said = await storeParts(session, message.parts, { blobs, signal });
  const seen = before.flatMap((id) => versions(session, id).at(-1) ?? []).at(-1);
  if (latest !== undefined) session.branch(tree.node(latest)?.parentId ?? null);
  else if (seen !== undefined) session.branch(lastEntryOf(session, seen));
  // A process that died left calls without results; a result has to stand before the next message.
  await closeOpenCalls(session);
  const id = latest === undefined ? message.id : `${message.id}.${stored.length + 1}`;
  await session.append([{ type: "message", id, message: said }], { signal });
}

/**
 * The messages from the root to the leaf as `useChat` shows them. Files are addresses below `filesUrl`. A call
 * without a result is pending while a turn runs; otherwise a crash interrupted it.
 */
export async function chatMessages(
  session: Session,
  { filesUrl, isRunning }: { readonly filesUrl: string; readonly isRunning: boolean },
): Promise<UIMessage[]> {
  const messages: UIMessage[] = [];
  for (const entry of await session.path()) {
    if (entry.type !== "message") continue;
    const { message } = entry;
    const last = messages.at(-1);
    const lastReply = messages.findLast(({ role }) => role === "assistant");
    if (message.role === "user") {
      messages.push({ id: messageId(entry), role: "user", parts: userParts(message, filesUrl) });
    } else if (message.role === "assistant" && last?.role === "assistant") {
      last.parts.push(...assistantParts(message, isRunning));
    } else if (message.role === "assistant") {
      messages.push({ id: messageId(entry), role: "assistant", parts: assistantParts(message, isRunning) });
    } else if (message.role === "toolResult" && lastReply !== undefined) {
      lastReply.parts = lastReply.parts.map((part) => withResult(part, message));
    }
  }
  return messages;
}

/** The output of a tool, as the browser gets it live and in the history. */
export function resultParts(result: ToolResultMessage) {
  const text = messageText(result);
  return result.isError
    ? ({ state: "output-error", errorText: text } as const)
    : ({ state: "output-available", output: text } as const);
}

/** The resource with this id in any branch; undefined if there is none. */
export async function resourceById(session: Session, resourceId: string): Promise<Resource | undefined> {
  for (const { node } of session.tree.walk()) {
    const entry = node.type === "message" ? await session.entry(node.id) : undefined;
    const found = entry?.type === "message" ? resourcesIn([entry.message]) : [];
    const resource = found.find((one) => one.resourceId === resourceId);
    if (resource !== undefined) return resource;
  }
  return undefined;
}

// From the browser to the session.

/** Files come as data URLs; one that the session has comes as its address in an edit. Nothing is fetched. */
async function storeParts(
  session: Session,
  parts: readonly Part[],
  { blobs, signal }: { readonly blobs: Pick<BlobStore, "put">; readonly signal: AbortSignal },
): Promise<UserMessage> {
  const files = parts.filter((part) => part.type === "file");
  const added = files.filter(({ url }) => url.startsWith("data:"));
  const sources = added.map(({ url, filename }) => ({
    dataUrl: url,
    ...(filename === undefined ? {} : { name: filename }),
  }));
  const stored = await ingest(sources, { blobs, limits: limitProfiles.anthropic, signal });
  const resources = new Map<FileUIPart, Resource>(added.map((file, at) => [file, stored[at] as Resource]));
  for (const file of files) {
    if (resources.has(file)) continue;
    const known = await resourceById(session, file.url.split("/").at(-1) ?? "");
    if (known === undefined) throw invalid("url", "a data URL, or a file of this chat");
    resources.set(file, known);
  }
  return userMessage(
    ...parts.flatMap((part): MessagePart[] => {
      if (part.type === "text") return [part.text];
      return part.type === "file" ? [resources.get(part) as Resource] : [];
    }),
  );
}

function invalid(path: string, expected: string): SessileError<"INVALID_MESSAGE"> {
  return new SessileError("INVALID_MESSAGE", `${path}: expected ${expected}`, {
    details: { path, expected },
  });
}

/** The entries of a message that was edited, oldest first. */
function versions({ tree }: Session, id: string): readonly string[] {
  const found: string[] = [];
  for (let key = id; tree.has(key); key = `${id}.${found.length + 1}`) found.push(key);
  return found;
}

/** Entries that are no part of a message. */
const besides: ReadonlySet<string> = new Set(["leaf", "label", "session_info"]);

/** The last entry of the message that begins with this one: calls, results and steps follow the first. */
function lastEntryOf({ tree }: Session, id: string): string {
  let last = id;
  const open = tree.node(id)?.role === "user" ? [] : [id];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const child of tree.children(at)) {
      if (child.role === "user") continue;
      if (!besides.has(child.type)) last = child.id;
      open.push(child.id);
    }
  }
  return last;
}

// From the session to the browser.

function messageId({ id }: SessionEntry): string {
  return id.replace(/\.\d+$/, "");
}

function userParts({ content }: UserMessage, filesUrl: string): Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((block): Part => {
    if (block.type === "image") {
      return { type: "file", mediaType: block.mimeType, url: `data:${block.mimeType};base64,${block.data}` };
    }
    const resource = resourceOf(block);
    if (resource === undefined || resource.kind === "link") return { type: "text", text: block.text };
    const { mediaType, resourceId, name } = resource;
    return {
      type: "file",
      mediaType,
      url: `${filesUrl}/${resourceId}`,
      ...(name === undefined ? {} : { filename: name }),
    };
  });
}

/** The parts of one step. A result replaces the part of its call. */
function assistantParts({ content }: AssistantMessage, isRunning: boolean): Part[] {
  const open = isRunning
    ? ({ state: "input-available" } as const)
    : ({ state: "output-error", errorText: "Interrupted." } as const);
  const parts = content.flatMap((block): Part[] => {
    if (block.type === "text") return [{ type: "text", text: block.text, state: "done" }];
    if (block.type === "thinking" && block.thinking !== "") {
      return [{ type: "reasoning", text: block.thinking, state: "done" }];
    }
    if (block.type !== "toolCall") return [];
    return [{ type: `tool-${block.name}`, toolCallId: block.id, input: block.arguments, ...open }];
  });
  return [{ type: "step-start" }, ...parts];
}

function withResult(part: Part, result: ToolResultMessage): Part {
  if (!("toolCallId" in part) || part.toolCallId !== result.toolCallId) return part;
  const { type, toolCallId, input } = part;
  return { type, toolCallId, input, ...resultParts(result) } as Part;
}
