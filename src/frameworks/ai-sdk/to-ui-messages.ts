/** A session of messages as messages of `useChat`: one message a reply, with its steps, calls and results. */

import {
  type AssistantMessage,
  blockResource,
  describeResource,
  type ImageBlock,
  type Message,
  messageText,
  type OpaqueBlock,
  type StoredResource,
  type TextBlock,
  type ToolResultMessage,
} from "../../content/index.js";
import { shownBlocks, withAddresses } from "../../content/internal.js";
import { parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import type { SessionEntry, UnknownEntry } from "../../session/index.js";
import {
  changedParts,
  signatureMetadata,
  type UiMessage,
  type UiNote,
  type UiPart,
  uiNote,
} from "./ui-message.js";

/** Options of {@link toUIMessages}. */
export interface ToUIMessagesOptions {
  /** The address of an attachment. @default an attachment is its descriptor, as text */
  readonly fileUrl?: (file: StoredResource) => string | Promise<string>;
  /**
   * Whether the last reply still runs: its calls without results are `input-available`. Otherwise a call
   * without a result was interrupted, and is `output-error`. @default false
   */
  readonly running?: boolean;
}

/** The error of a call that a crash or an abort left without a result. */
const interrupted = "Interrupted.";

/** A message that is being built. */
interface Shown {
  readonly id: string;
  readonly role: UiMessage["role"];
  readonly note: UiNote | undefined;
  readonly parts: UiPart[];
  /** Whether it is a reply or a message of the user, rather than something displayed beside them. */
  readonly isTurn?: true;
  /** Whether the next step begins without a step-start, after a steering message. */
  noStep?: boolean;
}

/**
 * Shows the path to a leaf as `useChat` shows it: also the part that a compaction replaced, without system
 * messages and hidden ones. A message has the id that a page gave it, else that of its first entry. The
 * messages are valid for `validateUIMessages`, and `convertToModelMessages` makes a request of them.
 *
 * @param path such as `await session.path()`; of another branch, `await session.path(leafId)`
 * @example
 * ```ts
 * const messages = await toUIMessages(await session.path(), {
 *   fileUrl: ({ resourceId }) => `/files/${resourceId}`,
 * });
 * ```
 */
export async function toUIMessages<M extends UiMessage = UiMessage>(
  path: Iterable<SessionEntry | UnknownEntry>,
  options: ToUIMessagesOptions = {},
): Promise<M[]> {
  return (await shownMessages([...path], options)) as M[];
}

/** {@link toUIMessages} of entries. `showsSystem`: the entries are of one message, which may be of the system. */
export async function shownMessages(
  entries: readonly (SessionEntry | UnknownEntry)[],
  options: ToUIMessagesOptions & { readonly showsSystem?: boolean },
): Promise<UiMessage[]> {
  const notes = new Map<string, UiNote>();
  for (const entry of entries) {
    const note = uiNote.read(entry);
    if (note !== undefined) notes.set(note.entryId, note);
  }
  const messages = updatedMessages(entries, options.showsSystem);
  const shown: Shown[] = [];
  const results = new Map<UiPart, ToolResultMessage>();
  for (const entry of entries) {
    const message = messages.get(entry.id);
    if (message === undefined) continue;
    const note = notes.get(entry.id);
    const last = shown.at(-1);
    if (message.role === "assistant") {
      const parts = await assistantParts(message, options);
      if (note === undefined && last?.role === "assistant") {
        if (last.noStep !== true) last.parts.push({ type: "step-start" });
        last.noStep = false;
        for (const part of parts) last.parts.push(part);
      } else {
        const step = note?.noStep === true ? [] : [{ type: "step-start" }];
        const id = note?.messageId ?? entry.id;
        shown.push({ id, role: "assistant", note, parts: [...step, ...parts], isTurn: true });
      }
    } else if (message.role === "toolResult") {
      const call = openCall(shown, message.toolCallId, results);
      if (call === undefined) continue;
      results.set(call, message);
      Object.assign(call, await resultFields(message, options));
    } else {
      const role = message.role === "system" ? "system" : "user";
      const parts = await otherParts(message, options);
      if (note?.steering === true && last?.role === "assistant") {
        const said = changedParts(parts, note.parts ?? [], () => false);
        last.parts.push({ type: "steering-message", id: note.messageId, parts: said });
        last.noStep = note.noStep === true;
        continue;
      }
      const turn = message.role === "user" ? ({ isTurn: true } as const) : {};
      shown.push({ id: note?.messageId ?? entry.id, role, note, parts, ...turn });
    }
  }
  const running = options.running === true ? shown.findLast(({ isTurn }) => isTurn) : undefined;
  return shown.map((one) => finished(one, results, one === running));
}

/** The messages that are shown, by their entries, after updates. */
export function updatedMessages(
  entries: readonly (SessionEntry | UnknownEntry)[],
  showsSystem = false,
): ReadonlyMap<string, Message> {
  const messages = new Map<string, Message>();
  const noted = new Set(entries.flatMap((entry) => uiNote.read(entry)?.entryId ?? []));
  for (const entry of entries) {
    if (entry.type === "message" && isShown(entry.message, showsSystem || noted.has(entry.id)))
      messages.set(entry.id, entry.message);
    else if (entry.type === "custom_message" && entry.display) {
      const { customType, content, display } = entry;
      messages.set(entry.id, { role: "custom", customType, content, display, timestamp: 0 });
    } else if (entry.type === "message_update" && messages.has(entry.targetId))
      messages.set(entry.targetId, entry.message);
    else if (entry.type === "part_update") {
      const target = messages.get(entry.targetId);
      if (target === undefined || !("content" in target) || typeof target.content === "string") continue;
      const content: unknown[] = [...target.content];
      content[Math.min(entry.index, content.length)] = entry.part;
      messages.set(entry.targetId, { ...target, content } as Message);
    }
  }
  return messages;
}

function isShown(message: Message, isNoted: boolean): boolean {
  if (message.role === "system") return isNoted;
  if (message.role === "custom") return message.display;
  return message.role !== "bashExecution" || message.excludeFromContext !== true;
}

/** The call that a result answers: the latest one without a result. */
function openCall(
  shown: readonly Shown[],
  toolCallId: string,
  results: ReadonlyMap<UiPart, ToolResultMessage>,
): UiPart | undefined {
  const reply = shown.findLast(({ role }) => role === "assistant");
  return reply?.parts.findLast(
    (part) => part.toolCallId === toolCallId && isOpen(part) && !results.has(part),
  );
}

function isOpen(part: UiPart): boolean {
  return part.state === "input-available";
}

function finished(
  { id, role, note, parts }: Shown,
  results: ReadonlyMap<UiPart, ToolResultMessage>,
  isRunning: boolean,
): UiMessage {
  const open = parts.map((part) => isOpen(part) && !results.has(part));
  const base = parts.map((part, at) =>
    open[at] === true && !isRunning ? { ...part, state: "output-error", errorText: interrupted } : part,
  );
  const changed = changedParts(base, note?.parts ?? [], (at) => open[at] === true);
  return { id, role, ...(note?.metadata === undefined ? {} : { metadata: note.metadata }), parts: changed };
}

/** The parts of a message that is neither a reply nor a result. */
async function otherParts(message: Message, options: ToUIMessagesOptions): Promise<UiPart[]> {
  if (!("content" in message) || typeof message.content === "string")
    return [{ type: "text", text: messageText(message) }];
  const blocks = message.content as readonly (TextBlock | ImageBlock)[];
  return Promise.all(blocks.map((block) => visiblePart(block, options)));
}

/** Text, or a file. */
async function visiblePart(block: TextBlock | ImageBlock, { fileUrl }: ToUIMessagesOptions): Promise<UiPart> {
  if (block.type === "image")
    return { type: "file", mediaType: block.mimeType, url: `data:${block.mimeType};base64,${block.data}` };
  const resource = blockResource(block);
  if (resource === undefined) return { type: "text", text: block.text };
  if (resource.kind === "link" || fileUrl === undefined)
    return { type: "text", text: describeResource(resource) };
  const { mediaType, name } = resource;
  const url = await fileUrl(resource);
  return { type: "file", mediaType, ...(name === undefined ? {} : { filename: name }), url };
}

/** The parts of one step of a reply. */
export async function assistantParts(
  { content, api }: Pick<AssistantMessage, "content" | "api">,
  options: ToUIMessagesOptions,
): Promise<UiPart[]> {
  const parts: UiPart[] = [];
  for (const block of content) {
    switch (block.type) {
      case "text": {
        const part = await visiblePart(block, options);
        const metadata = signatureMetadata(block.textSignature);
        if (part.type === "text") part.state = "done";
        const { citations } = block.providerFields ?? {};
        // Those of other makers have another form.
        if (api?.startsWith("ai-sdk/") === true && Array.isArray(citations)) part.citations = citations;
        parts.push(metadata === undefined ? part : { ...part, providerMetadata: metadata });
        break;
      }
      case "thinking": {
        const metadata = signatureMetadata(block.thinkingSignature);
        // Nothing of it can be shown, or be sent by the AI SDK.
        if (block.redacted === true && block.thinking === "" && metadata === undefined) break;
        const signed = metadata === undefined ? {} : { providerMetadata: metadata };
        parts.push({ type: "reasoning", text: block.thinking, state: "done", ...signed });
        break;
      }
      case "toolCall": {
        const { id: toolCallId, name, arguments: input } = block;
        const metadata = signatureMetadata(block.thoughtSignature);
        const signed = metadata === undefined ? {} : { callProviderMetadata: metadata };
        parts.push({ type: `tool-${name}`, toolCallId, state: "input-available", input, ...signed });
        break;
      }
      case "image":
        parts.push(await visiblePart(block, options));
        break;
      case "opaque": {
        const isStored = (block.resources ?? []).length > 0;
        // Without addresses of files a descriptor stands for one.
        const isHidden = isStored && options.fileUrl === undefined && isFile(block.data);
        if (isHidden || !addOpaque(parts, await opaqueData(block, options), isStored))
          for (const each of shownBlocks(block)) parts.push(await visiblePart(each, options));
        break;
      }
    }
  }
  return parts;
}

function isFile(data: unknown): boolean {
  return isRecord(data) && (data.type === "file" || data.type === "reasoning-file");
}

/** The data of a provider's block, with addresses in place of its media. Without addresses it has no media. */
async function opaqueData(block: OpaqueBlock, { fileUrl }: ToUIMessagesOptions): Promise<unknown> {
  const { data, resources = [] } = block;
  if (resources.length === 0) return data;
  const urls = new Map<string, string>();
  if (fileUrl !== undefined) for (const each of resources) urls.set(each.resourceId, await fileUrl(each));
  return withAddresses(data, (id) => urls.get(id) ?? "");
}

/**
 * Parts of the user interface, which are stored unchanged, and parts of the AI SDK's own messages. Returns
 * whether the data is one.
 *
 * @param isStored whether the data has addresses in place of base64
 */
function addOpaque(parts: UiPart[], data: unknown, isStored: boolean): boolean {
  if (!isRecord(data) || typeof data.type !== "string") return false;
  const { type } = data;
  if (type === "tool-call" && typeof data.toolCallId === "string" && typeof data.toolName === "string") {
    const { toolCallId, toolName, input, providerExecuted, providerOptions } = data;
    parts.push({
      type: `tool-${toolName}`,
      toolCallId,
      state: "input-available",
      input,
      ...(providerExecuted === undefined ? {} : { providerExecuted }),
      ...(isRecord(providerOptions) ? { callProviderMetadata: providerOptions } : {}),
    });
  } else if (type === "tool-result" && isRecord(data.output)) {
    const call = parts.findLast((part) => part.toolCallId === data.toolCallId && isOpen(part));
    const about = isRecord(data.providerOptions) ? { resultProviderMetadata: data.providerOptions } : {};
    if (call !== undefined) Object.assign(call, providerResult(data.output), about);
  } else if (type === "custom" && typeof data.kind === "string") {
    const { providerOptions, ...rest } = data;
    const about = isRecord(providerOptions) ? { providerMetadata: providerOptions } : {};
    parts.push({ ...rest, type, ...about });
  } else if (isFile(data) && typeof data.data === "string" && typeof data.mediaType === "string") {
    const { mediaType, filename, data: content, providerOptions } = data;
    const named = typeof filename === "string" ? { filename } : {};
    const url = isStored ? content : `data:${mediaType};base64,${content}`;
    const signed = isRecord(providerOptions) ? { providerMetadata: providerOptions } : {};
    parts.push({ type, mediaType, ...named, url, ...signed });
  } else if (isUiPart(data)) {
    parts.push(data as UiPart);
  } else return false;
  return true;
}

function providerResult({ type, value }: Record<string, unknown>): Record<string, unknown> {
  const isError = typeof type === "string" && type.startsWith("error");
  if (!isError) return { state: "output-available", output: value };
  return { state: "output-error", errorText: typeof value === "string" ? value : JSON.stringify(value) };
}

/** Whether data is a part that `validateUIMessages` knows, and that no block of a session represents. */
export function isUiPart(data: Readonly<Record<string, unknown>>): boolean {
  const { type } = data;
  if (typeof type !== "string") return false;
  if (/^data-./s.test(type)) return "data" in data;
  if (type === "dynamic-tool" || type.startsWith("tool-"))
    return typeof data.state === "string" && typeof data.toolCallId === "string";
  switch (type) {
    case "source-url":
    case "reasoning-file":
    case "file":
      return typeof data.url === "string";
    case "source-document":
      return typeof data.sourceId === "string";
    case "custom":
      return typeof data.kind === "string";
    case "steering-message":
      return Array.isArray(data.parts);
    default:
      return false;
  }
}

/** The fields that the result of a call adds to its part. */
export async function resultFields(
  message: ToolResultMessage,
  options: ToUIMessagesOptions,
): Promise<Record<string, unknown>> {
  const { content, details, isError } = message;
  const texts = content.flatMap((block) =>
    block.type === "text" && blockResource(block) === undefined ? [block.text] : [],
  );
  const text = texts.join("\n");
  if (isError) return { state: "output-error", errorText: messageText(message, { attachments: true }) };
  if (texts.length < content.length) {
    const parts = await Promise.all(content.map((block) => visiblePart(block, options)));
    const files = parts.filter(({ type }) => type === "file").map(({ type: _, ...file }) => file);
    if (files.length > 0) return { state: "output-available", output: { text, files } };
    return { state: "output-available", output: messageText(message, { attachments: true }) };
  }
  const isJson = isRecord(details) && details.uiOutput === "json";
  return { state: "output-available", output: isJson ? parsed(text) : text };
}

function parsed(text: string): unknown {
  const value = parseJson(text);
  return value === undefined ? text : value;
}
