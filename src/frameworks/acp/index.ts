/**
 * The Agent Client Protocol: a session as the prompt of an agent, and sessions for editors, with the reply to
 * `session/load` and rows of `session/list`.
 *
 * @module acp
 */

import type { BlobStore } from "../../blobs/index.js";
import {
  type BlobRef,
  describeResource,
  type ImageBlock,
  type Message,
  messageText,
  type TextBlock,
  type ToolCall,
} from "../../content/index.js";
import { shownBlocks } from "../../content/internal.js";
import type { LimitProfile } from "../../content/limits/index.js";
import { acp as acpLimits } from "../../content/limits/internal.js";
import { oneOfOption } from "../../core/arguments.js";
import { encodeBase64 } from "../../core/base64.js";
import { SessileError } from "../../core/errors/index.js";
import type { RenderTools, Target } from "../../providers/index.js";
import {
  type ContentBlock,
  contentBlock,
  documentTypes,
  imageTypes,
  textCallRules,
  toTranscript,
} from "../../providers/internal.js";
import type { Session, SessionEntry, SessionSummary, UnknownEntry } from "../../session/index.js";
import { applyUpdates, entryUpdates as messageUpdatesOf } from "../../session/internal.js";

export type {
  ContentBlock,
  EmbeddedResource,
  ImageContent,
  ResourceLink,
  TextContent,
} from "../../providers/internal.js";

// The target of prompts for ACP agents.

/**
 * The agent's `agentCapabilities.promptCapabilities`. An absent member means that the agent does not accept
 * that content.
 */
interface PromptCapabilities {
  /** It takes images. */
  readonly image?: boolean;
  /** It takes documents. */
  readonly embeddedContext?: boolean;
}

/** The part of a `session/prompt` that a projection makes. */
export type AcpPrompt = { prompt: ContentBlock[] };

/** Options of {@link acpPrompt}. */
export interface AcpPromptOptions {
  /** The agent's answer to `initialize`. Default text and links only. */
  readonly capabilities?: PromptCapabilities;
  /**
   * `latest`: the user's content since the agent's last message, for a session that the agent itself has.
   * `transcript`: the whole conversation as text, for a session that is new to the agent. Default `latest`.
   */
  readonly history?: "latest" | "transcript";
  /** Limits that replace those of the official SDK. */
  readonly profile?: LimitProfile;
}

/**
 * Projects to the prompt of an ACP agent. The agent keeps its own history and instructions: by default
 * earlier entries are left out, with a loss each. A transcript has all entries: instructions, calls and
 * results as text, attachments in their places.
 *
 * @throws TypeError if `history` is not one of the two
 * @see https://agentclientprotocol.com/protocol/content and
 *   https://agentclientprotocol.com/protocol/initialization#prompt-capabilities (stored copies, read
 *   2026-11-21)
 * @example
 * ```ts
 * const target = acpPrompt({ capabilities: { image: true, embeddedContext: true } });
 * const { value } = await project(contextFrom([userMessage("hi")]), target);
 * value.prompt; // [{ type: "text", text: "hi" }]
 * ```
 */
export function acpPrompt(options: AcpPromptOptions = {}): Target<AcpPrompt> {
  const { capabilities = {}, profile = acpLimits } = options;
  const history = oneOfOption("history", options.history, ["latest", "transcript"]);
  const media = [
    ...(capabilities.image === true ? imageTypes : []),
    ...(capabilities.embeddedContext === true ? documentTypes : []),
  ];
  return {
    name: "acp-prompt",
    model: { provider: "acp", model: "none" },
    accepts: { user: media, toolResult: media },
    rules: { ...(history === "latest" ? { history } : {}), ...textCallRules },
    limits: { profile },
    embedsBase64: true,
    render: (request, tools) => ({
      prompt: [...pieceBlocks(toTranscript(request, history === "transcript"), tools)],
    }),
  };
}

function* pieceBlocks(
  pieces: ReturnType<typeof toTranscript>,
  { trace }: RenderTools,
): Iterable<ContentBlock> {
  for (const { part, text } of pieces) {
    const block = text === undefined ? contentBlock(part) : { type: "text" as const, text };
    yield part === undefined ? block : trace(block, part);
  }
}

// The replay of a session: its conversation as updates, for a client that loads it.

/** The appearance of a tool call. */
interface ToolCallView {
  /** @default the name of the tool */
  readonly title?: string;
  readonly kind?: AcpToolKind;
  readonly locations?: readonly AcpToolLocation[];
}

/** Options of {@link acpReplay}. */
interface AcpReplayOptions {
  /** The store of the images. @default none: images are shown by their descriptions */
  readonly blobs?: BlobStore;
  /** The end of the shown branch. @default the session's leaf */
  readonly leafId?: string | null;
  /** Chooses the appearance of a tool call. @default the name of the tool as its title */
  readonly show?: (call: ToolCall) => ToolCallView;
}

/**
 * Yields the conversation from the root to a leaf as updates of `session/update`, for the reply to
 * `session/load`. Messages that a compaction replaced are shown; system messages and hidden messages are not.
 * Updates of messages are applied. A call without a result is failed. Holds the bytes of one image at a time.
 * Answer the request after the last update is sent.
 * @throws SessileError ENTRY_NOT_FOUND; STORAGE_FAILED from `blobs`
 * @example
 * ```ts
 * import * as acp from "@agentclientprotocol/sdk";
 *
 * const app = acp.agent({ name: "agent" }).onRequest("session/load", async ({ params, client }) => {
 *   const session = await sessions.open(params.sessionId);
 *   for await (const update of acpReplay(session, { blobs }))
 *     await client.notify("session/update", { sessionId: params.sessionId, update });
 *   await session.close();
 *   return {};
 * });
 * ```
 */
export async function* acpReplay(
  session: Session,
  options: AcpReplayOptions = {},
): AsyncGenerator<AcpUpdate, void, undefined> {
  const path = await session.path(options.leafId);
  const updates = messageUpdatesOf(path);
  const entries = path.map((entry) => applyUpdates(entry, updates) ?? entry);
  const calls = new OpenCalls(entries);
  for (const entry of entries) {
    const message = shownMessage(entry);
    if (message !== undefined) yield* updatesByMessageId(entry.id, message, calls, options);
  }
}

/** The message of an entry, if clients show it. */
function shownMessage(entry: SessionEntry | UnknownEntry): Message | undefined {
  if (entry.type === "message") return entry.message;
  if (entry.type !== "custom_message") return undefined;
  const { customType, content, display } = entry;
  return { role: "custom", customType, content, display, timestamp: Date.parse(entry.timestamp) };
}

async function* updatesByMessageId(
  messageId: string,
  message: Message,
  calls: OpenCalls,
  options: AcpReplayOptions,
): AsyncGenerator<AcpUpdate, void, undefined> {
  switch (message.role) {
    case "user":
      for await (const content of readContent(message.content, options.blobs))
        yield { sessionUpdate: "user_message_chunk", messageId, content };
      return;
    case "custom":
      if (!message.display) return;
      for await (const content of readContent(message.content, options.blobs))
        yield { sessionUpdate: "agent_message_chunk", messageId, content };
      return;
    case "assistant":
      for (const block of message.content) {
        if (block.type === "toolCall") {
          const { toolCallId, isAnswered } = calls.open(block);
          yield toolCallUpdate(toolCallId, block, options.show?.(block) ?? {});
          if (!isAnswered) yield { sessionUpdate: "tool_call_update", toolCallId, status: "failed" };
        } else if (block.type === "text" || block.type === "image" || block.type === "opaque") {
          const shown = block.type === "opaque" ? shownBlocks(block) : [block];
          for await (const content of readContent(shown, options.blobs))
            yield { sessionUpdate: "agent_message_chunk", messageId, content };
        } else if (block.type === "thinking" && block.redacted !== true && block.thinking !== "") {
          const content = textContent(block.thinking);
          yield { sessionUpdate: "agent_thought_chunk", messageId, content };
        }
      }
      return;
    case "toolResult": {
      const { toolCallId: id, toolName: name } = message;
      const found = calls.close(id);
      // A result without its call on the path gets one.
      const missing: ToolCall = { type: "toolCall", id, name, arguments: {} };
      const toolCallId = found?.toolCallId ?? calls.unique(id);
      if (found === undefined) yield toolCallUpdate(toolCallId, missing, {});
      const content: AcpToolContent[] = [];
      for await (const block of readContent(message.content, options.blobs))
        content.push({ type: "content", content: block });
      const status = message.isError ? "failed" : "completed";
      const rawOutput = message.details ?? messageText(message);
      yield { sessionUpdate: "tool_call_update", toolCallId, status, content, rawOutput };
      return;
    }
    case "bashExecution": {
      const { command, output, exitCode, cancelled } = message;
      const call: ToolCall = { type: "toolCall", id: messageId, name: "bash", arguments: { command } };
      const toolCallId = calls.unique(messageId);
      yield toolCallUpdate(toolCallId, call, { title: command, kind: "execute" });
      const content: AcpToolContent[] =
        output === "" ? [] : [{ type: "content", content: textContent(output) }];
      const status = cancelled || exitCode !== 0 ? "failed" : "completed";
      const rawOutput = { output, exitCode: exitCode ?? null };
      yield { sessionUpdate: "tool_call_update", toolCallId, status, content, rawOutput };
      return;
    }
    case "system":
      return;
  }
}

function toolCallUpdate(toolCallId: string, call: ToolCall, view: ToolCallView): AcpUpdate {
  const { title = call.name, kind, locations } = view;
  return {
    sessionUpdate: "tool_call",
    toolCallId,
    title,
    ...(kind === undefined ? {} : { kind }),
    ...(locations === undefined ? {} : { locations: [...locations] }),
    status: "pending",
    rawInput: call.arguments,
  };
}

/**
 * The calls on a path. A client knows a call by its id alone, so that a second call of one id gets another
 * id.
 */
class OpenCalls {
  /** Pending results, by the id of their calls. */
  readonly #results = new Map<string, number>();
  readonly #open = new Map<string, { toolCallId: string }[]>();
  readonly #used = new Set<string>();

  constructor(entries: readonly (SessionEntry | UnknownEntry)[]) {
    for (const entry of entries) {
      if (entry.type !== "message" || entry.message.role !== "toolResult") continue;
      const { toolCallId } = entry.message;
      this.#results.set(toolCallId, (this.#results.get(toolCallId) ?? 0) + 1);
    }
  }

  /**
   * Opens a call. Whether it is answered: a later result has its id, and no call before it needs that one.
   */
  open({ id }: ToolCall): { readonly toolCallId: string; readonly isAnswered: boolean } {
    const toolCallId = this.unique(id);
    const open = this.#open.get(id) ?? [];
    const isAnswered = (this.#results.get(id) ?? 0) > open.length;
    if (isAnswered) {
      open.push({ toolCallId });
      this.#open.set(id, open);
    }
    return { toolCallId, isAnswered };
  }

  /** An id that no call of the replay has. */
  unique(id: string): string {
    let toolCallId = id;
    for (let count = 2; this.#used.has(toolCallId); count++) toolCallId = `${id}#${count}`;
    this.#used.add(toolCallId);
    return toolCallId;
  }

  /** Closes the oldest open call of this id. */
  close(id: string): { readonly toolCallId: string } | undefined {
    this.#results.set(id, (this.#results.get(id) ?? 1) - 1);
    return this.#open.get(id)?.shift();
  }
}

async function* readContent(
  content: string | readonly (TextBlock | ImageBlock)[],
  blobs: BlobStore | undefined,
): AsyncGenerator<AcpContent, void, undefined> {
  const blocks = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  for (const block of blocks) {
    if (block.type === "image") yield { type: "image", data: block.data, mimeType: block.mimeType };
    else if (block.resource !== undefined) yield await attachmentContent(block.resource, blobs);
    else if (block.text !== "") yield textContent(block.text);
  }
}

/** An image with its bytes, a link as a link, and any other attachment as its description. */
async function attachmentContent(
  resource: NonNullable<TextBlock["resource"]>,
  blobs: BlobStore | undefined,
): Promise<AcpContent> {
  if (resource.kind === "link") {
    const { uri, name } = resource;
    return { type: "resource_link", uri, name: name || uri };
  }
  const bytes = resource.kind === "image" ? await blobBytes(blobs, resource.blob) : undefined;
  if (bytes === undefined) return textContent(describeResource(resource));
  return { type: "image", data: encodeBase64(bytes), mimeType: resource.mediaType };
}

/** The bytes of a blob; undefined for one that is absent or corrupt. */
async function blobBytes(blobs: BlobStore | undefined, ref: BlobRef): Promise<Uint8Array | undefined> {
  try {
    return await blobs?.get(ref);
  } catch (error) {
    if (SessileError.is(error, "BLOB_CORRUPT")) return undefined;
    throw error;
  }
}

function textContent(text: string): AcpContent {
  return { type: "text", text };
}

// The shapes of the Agent Client Protocol: updates of a replay, and rows of `session/list`. Tests compare
// them with the types of `@agentclientprotocol/sdk` 2.4.0.

/** A content block. */
type AcpContent =
  | { type: "text"; text: string }
  | { type: "image"; data: string; mimeType: string }
  | { type: "resource_link"; uri: string; name: string };

/** A part of a tool's result. */
type AcpToolContent = { type: "content"; content: AcpContent };

/** A kind of tool, which clients show as an icon. */
type AcpToolKind =
  | "read"
  | "edit"
  | "delete"
  | "move"
  | "search"
  | "execute"
  | "think"
  | "fetch"
  | "switch_mode"
  | "other";

/** A file that a tool works on. */
type AcpToolLocation = {
  path: string;
  /** From 0. */
  line?: number;
};

/** The `update` of a `session/update` notification. */
export type AcpUpdate =
  | {
      sessionUpdate: "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk";
      /** The id of the entry. */
      messageId: string;
      content: AcpContent;
    }
  | {
      sessionUpdate: "tool_call";
      toolCallId: string;
      title: string;
      kind?: AcpToolKind;
      locations?: AcpToolLocation[];
      status: "pending";
      rawInput: unknown;
    }
  | {
      sessionUpdate: "tool_call_update";
      toolCallId: string;
      status: "completed" | "failed";
      content?: AcpToolContent[];
      rawOutput?: unknown;
    };

/** A session as a client lists it. */
type AcpSessionInfo = {
  sessionId: string;
  cwd: string;
  title?: string;
  /** ISO 8601. */
  updatedAt: string;
};

/**
 * A session of a store's list as a row of `session/list`. The title is the session's title or name, else the
 * start of the first message. The reply's `nextCursor` is the `cursor` of the last summary.
 */
export function acpSessionInfo(summary: SessionSummary): AcpSessionInfo {
  const { id, cwd, modified, firstMessage } = summary;
  const title = summary.title || summary.name || firstMessage;
  return { sessionId: id, cwd, ...(title ? { title } : {}), updatedAt: modified };
}
