/** Messages of `useChat` as entries of a session, for a loop of one's own and for any provider. */

import { type IngestOptions, ingest } from "../../attachments/index.js";
import {
  type AssistantMessage,
  assistantMessage,
  type Message,
  type Resource,
  type TextBlock,
  type ToolResultMessage,
  toolResult,
  userMessage,
} from "../../content/index.js";
import { SessileError } from "../../errors/index.js";
import { describe } from "../../internal/arguments.js";
import { isName, randomHex8 } from "../../internal/ids.js";
import { isRecord } from "../../internal/shape.js";
import type { EntryDraft, SessionEntry } from "../../session/index.js";
import { isUiPart, toUIMessages } from "./to-ui-messages.js";
import { dataUrlHead, isFilePart, type UiMessage, type UiPart } from "./ui-message.js";
import { changesBetween, signatureOf, type UiNote, uiNote } from "./ui-note.js";

/** Options of {@link fromUIMessages}: where files go, and their limits, as `ingest` has them. */
export interface FromUIMessagesOptions
  extends Partial<Pick<IngestOptions, "blobs" | "limits" | "maxBytes" | "mismatch" | "signal">> {
  /** The attachment that an address of `fileUrl` names. @default the address is a link */
  readonly resource?: (url: string) => Resource | undefined | Promise<Resource | undefined>;
  /** The model whose replies these are; reasoning is sent back to it alone. @default unknown */
  readonly model?: { readonly provider: string; readonly modelId: string };
  /** Whether a session has an entry with this id. @default no id is taken */
  readonly has?: (id: string) => boolean;
}

/**
 * Makes drafts of messages of a page. Text, reasoning, calls with results and files become messages that
 * `project` sends to any provider; data URLs become attachments in the blob store. Fields and parts without
 * such a meaning stay in a note, so that {@link toUIMessages} gives the messages back as they were, with the
 * same ids.
 *
 * @throws SessileError INVALID_MESSAGE for a value that is no message, with its path; errors of `ingest` for
 *   a file, such as LINK_REFUSED, MEDIA_TYPE_MISMATCH or LIMIT_EXCEEDED
 * @example
 * ```ts
 * const message = { id: "m1", role: "user" as const, parts: [{ type: "text", text: "Hi" }] };
 * await session.append(await fromUIMessages([message], { blobs }));
 * ```
 */
export async function fromUIMessages(
  messages: readonly UiMessage[],
  options: FromUIMessagesOptions = {},
): Promise<readonly EntryDraft[]> {
  const used = new Set<string>();
  const isTaken = (id: string) => used.has(id) || options.has?.(id) === true;
  const drafts: EntryDraft[] = [];
  for (const [at, message] of messages.entries()) {
    const path = `messages[${at}]`;
    const valid = checkedMessage(message, path);
    const { id } = valid;
    const entryId = isName(id) && !isTaken(id) ? id : freshId(isTaken);
    used.add(entryId);
    // After another reply it would be a step of that one.
    const isOwnMessage = valid.role === "assistant" && messages[at - 1]?.role !== "user";
    for (const draft of await draftsOf(valid, entryId, { ...options, path, isOwnMessage }))
      drafts.push(draft);
  }
  return drafts;
}

function freshId(isTaken: (id: string) => boolean): string {
  for (;;) {
    const id = `ui-${randomHex8()}${randomHex8()}`;
    if (!isTaken(id)) return id;
  }
}

interface Place extends FromUIMessagesOptions {
  readonly path: string;
  /** Whether the message needs a note to be one of its own. */
  readonly isOwnMessage: boolean;
}

/** A message as JSON has it. */
interface PlainMessage {
  readonly id: string;
  readonly role: UiMessage["role"];
  readonly metadata?: unknown;
  readonly parts: readonly UiPart[];
}

function checkedMessage(message: unknown, path: string): PlainMessage {
  const value: unknown = message === undefined ? undefined : JSON.parse(JSON.stringify(message));
  if (!isRecord(value)) throw invalid(path, "a message", message);
  const { id, role, parts } = value;
  if (typeof id !== "string") throw invalid(`${path}.id`, "a string", id);
  if (role !== "system" && role !== "user" && role !== "assistant")
    throw invalid(`${path}.role`, "system, user or assistant", role);
  if (!Array.isArray(parts)) throw invalid(`${path}.parts`, "an array", parts);
  for (const [at, part] of parts.entries())
    if (!isRecord(part) || typeof part.type !== "string")
      throw invalid(`${path}.parts[${at}]`, "a part", part);
  return value as unknown as PlainMessage;
}

/** One message: its note, if it needs one, and its entries. */
async function draftsOf(
  message: PlainMessage,
  entryId: string,
  place: Place,
): Promise<readonly EntryDraft[]> {
  const { id, role, metadata, parts } = message;
  const files = await storedFiles(parts, place);
  const writer = new MessageWriter(parts, files, place);
  const messages = role === "assistant" ? writer.reply() : [writer.said(role)];
  const [first, ...rest] = messages;
  const drafts: EntryDraft[] = [
    { type: "message", id: entryId, message: first as Message },
    ...rest.map((one): EntryDraft => ({ type: "message", message: one })),
  ];
  const bare: UiNote = { messageId: id, entryId, ...(writer.noStep ? { noStep: true } : {}) };
  const shown = await shownAs(drafts, bare, files);
  const changes = changesBetween(
    shown,
    parts,
    (at) => writer.put.has(at),
    (at) => writer.open.has(at),
  );
  const note: UiNote = {
    ...bare,
    ...(metadata === undefined ? {} : { metadata }),
    ...(changes.length === 0 ? {} : { parts: changes }),
  };
  const isPlain =
    id === entryId && Object.keys(note).length === 2 && role !== "system" && !place.isOwnMessage;
  return isPlain ? drafts : [uiNote.draft(note), ...drafts];
}

/** The parts that the session shows without changes. */
async function shownAs(
  drafts: readonly EntryDraft[],
  note: UiNote,
  files: ReadonlyMap<number, { readonly resource: Resource; readonly url: string }>,
): Promise<readonly UiPart[]> {
  const urls = new Map([...files.values()].map(({ resource, url }) => [resource.resourceId, url]));
  const entries = [uiNote.draft(note), ...drafts].map(
    (draft, at) => ({ parentId: null, timestamp: "", ...draft, id: draft.id ?? `:${at}` }) as SessionEntry,
  );
  const fileUrl = ({ resourceId }: Resource) => urls.get(resourceId) ?? "";
  const [shown] = await toUIMessages(entries, { fileUrl });
  return (shown?.parts ?? []) as UiPart[];
}

/** The attachments of a message by the indexes of their parts; data URLs are stored together. */
async function storedFiles(
  parts: readonly UiPart[],
  { resource, model: _, has: __, isOwnMessage: ___, path, ...options }: Place,
): Promise<ReadonlyMap<number, { readonly resource: Resource; readonly url: string }>> {
  const found = new Map<number, { readonly resource: Resource; readonly url: string }>();
  const added: { at: number; url: string; name?: string }[] = [];
  for (const [at, part] of parts.entries()) {
    if (!isFilePart(part)) continue;
    const { url, filename } = part;
    if (url.startsWith("data:")) {
      if (dataUrlHead(url) === undefined)
        throw invalid(`${path}.parts[${at}].url`, "base64 in a data URL", "text");
      added.push({ at, url, ...(typeof filename === "string" ? { name: filename } : {}) });
      continue;
    }
    const known = await resource?.(url);
    const name = typeof filename === "string" ? { name: filename } : {};
    found.set(at, { resource: known ?? ingest({ link: url, ...name }), url });
  }
  if (added.length === 0) return found;
  const sources = added.map(({ url, name }) => ({ dataUrl: url, ...(name === undefined ? {} : { name }) }));
  const stored = await ingest(sources, options as IngestOptions);
  for (const [at, one] of added.entries())
    found.set(one.at, { resource: stored[at] as Resource, url: one.url });
  return found;
}

/** The messages of a session for the parts of one message. */
class MessageWriter {
  /** Indexes of parts that have no place in the messages. */
  readonly put = new Set<number>();
  /** Indexes of calls without a result. */
  readonly open = new Set<number>();
  noStep = false;
  readonly #parts: readonly UiPart[];
  readonly #files: ReadonlyMap<number, { readonly resource: Resource }>;
  readonly #model: { readonly provider: string; readonly model: string; readonly api: string };
  readonly #path: string;

  constructor(
    parts: readonly UiPart[],
    files: ReadonlyMap<number, { readonly resource: Resource }>,
    { model = { provider: "unknown", modelId: "unknown" }, path }: Place,
  ) {
    this.#parts = parts;
    this.#files = files;
    this.#path = path;
    const { provider, modelId } = model;
    // As `readAiSdkReply` names them.
    this.#model = { provider: provider.split(".")[0] ?? provider, model: modelId, api: `ai-sdk/${provider}` };
  }

  /** The content of a message of the user or the application. */
  said(role: "system" | "user"): Message {
    const blocks = this.#parts.flatMap((part, at): TextBlock[] => {
      const resource = role === "user" ? this.#files.get(at)?.resource : undefined;
      if (resource !== undefined) return userMessage(resource).content as TextBlock[];
      if (part.type === "text" && typeof part.text === "string") return [{ type: "text", text: part.text }];
      this.put.add(at);
      return [];
    });
    const [only] = blocks;
    const isText = blocks.length === 1 && only?.resource === undefined;
    const content = isText ? (only?.text ?? "") : blocks;
    return { role, content, timestamp: Date.now() };
  }

  /** A message for each step, and its results. */
  reply(): Message[] {
    const messages: Message[] = [];
    let content: AssistantMessage["content"][number][] = [];
    let results: ToolResultMessage[] = [];
    const end = () => {
      const stopReason = content.some(({ type }) => type === "toolCall") ? "toolUse" : "stop";
      messages.push({ ...assistantMessage({ ...this.#model, stopReason }), content });
      for (const result of results) messages.push(result);
      [content, results] = [[], []];
    };
    this.noStep = this.#parts[0]?.type !== "step-start";
    for (const [at, part] of this.#parts.entries()) {
      if (part.type !== "step-start") this.#add(part, at, content, results);
      else if (at > 0) end();
    }
    end();
    return messages;
  }

  #add(
    part: UiPart,
    at: number,
    content: AssistantMessage["content"][number][],
    results: ToolResultMessage[],
  ): void {
    const resource = this.#files.get(at)?.resource;
    const signature = signatureOf(part.providerMetadata);
    const { text } = part;
    if (resource !== undefined) {
      content.push(userMessage(resource).content[0] as TextBlock);
    } else if (part.type === "text" && typeof text === "string") {
      content.push({ type: "text", text, ...(signature === undefined ? {} : { textSignature: signature }) });
    } else if (part.type === "reasoning" && typeof text === "string") {
      const signed = signature === undefined ? {} : { thinkingSignature: signature };
      content.push({ type: "thinking", thinking: text, ...signed });
    } else if (isFinishedInput(part)) {
      this.#addCall(part, at, content, results);
    } else if (isUiPart(part)) {
      content.push({ type: "opaque", data: part });
    } else {
      throw invalid(`${this.#path}.parts[${at}].type`, "a part of a UI message", part.type);
    }
  }

  #addCall(
    part: UiPart & { readonly toolCallId: string },
    at: number,
    content: AssistantMessage["content"][number][],
    results: ToolResultMessage[],
  ): void {
    const { toolCallId, state, input = part.rawInput ?? null, output = null, errorText } = part;
    const toolName = part.type === "dynamic-tool" ? String(part.toolName) : part.type.slice("tool-".length);
    const isDone = state === "output-available" || state === "output-error" || state === "output-denied";
    const isError = state !== "output-available";
    const said = isError ? (typeof errorText === "string" ? errorText : denialOf(part)) : output;
    if (!isDone) this.open.add(at);
    if (part.providerExecuted === true) {
      const options = part.callProviderMetadata;
      const signed = isRecord(options) ? { providerOptions: options } : {};
      const call = { type: "tool-call", toolCallId, toolName, input, providerExecuted: true, ...signed };
      content.push({ type: "opaque", data: call });
      if (!isDone) return;
      const type = typeof said === "string" ? "text" : "json";
      const result = { type: isError ? "error-text" : type, value: said };
      content.push({ type: "opaque", data: { type: "tool-result", toolCallId, toolName, output: result } });
      return;
    }
    const signature = signatureOf(part.callProviderMetadata);
    const signed = signature === undefined ? {} : { thoughtSignature: signature };
    content.push({ type: "toolCall", id: toolCallId, name: toolName, arguments: input, ...signed });
    if (!isDone) return;
    const isText = typeof said === "string";
    results.push({
      ...toolResult({ id: toolCallId, name: toolName }, isText ? said : JSON.stringify(said)),
      ...(isText ? {} : { details: { uiOutput: "json" } }),
      isError,
    });
  }
}

/** Whether a part is a call whose input is complete. */
function isFinishedInput(part: UiPart): part is UiPart & { readonly toolCallId: string } {
  const isTool = part.type === "dynamic-tool" || part.type.startsWith("tool-");
  return (
    isTool &&
    typeof part.toolCallId === "string" &&
    typeof part.state === "string" &&
    part.state !== "input-streaming" &&
    (part.type !== "dynamic-tool" || typeof part.toolName === "string")
  );
}

/** As `convertToModelMessages` tells a model. */
function denialOf({ approval }: UiPart): string {
  return isRecord(approval) && typeof approval.reason === "string"
    ? approval.reason
    : "Tool call execution denied.";
}

function invalid(path: string, expected: string, got: unknown): SessileError<"INVALID_MESSAGE"> {
  return new SessileError("INVALID_MESSAGE", `${path}: expected ${expected}, got ${describe(got)}`, {
    details: { path, expected },
  });
}
